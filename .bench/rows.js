// The rows of the table: what is read from the experiments, and how much of it is allowed.

/** The version of Node that is measured. */
const major = process.versions.node.split('.')[0] ?? '';

/** @typedef {'x' | 'MiB' | 'ms' | 'kB' | 'packages'} Unit */
/** @typedef {import('./measure.js').Medians} Medians */
/**
 * @typedef {object} Figures
 * @property {number} value what is held against the target
 * @property {number} product the product's own number
 * @property {number} rival the number that it is compared with
 * @property {string} [also] what else was measured
 *
 * @typedef {object} Row
 * @property {string} id
 * @property {string} what
 * @property {string} against
 * @property {Unit} unit of `value`
 * @property {Unit} raw unit of `product` and `rival`
 * @property {(figures: Figures) => number} atMost
 * @property {string[]} needs names of experiments
 * @property {(medians: Medians) => Figures} read
 */

/** @typedef {'wallMs' | 'firstMs' | 'cpuMs' | 'peakMiB' | 'p99Ms' | 'bytes' | 'packages'} Metric */

/** @param {Medians} medians @param {string} experiment @param {string} side @param {Metric} metric */
function pick(medians, experiment, side, metric) {
  return medians[experiment]?.[side]?.[metric] ?? Number.NaN;
}

/**
 * A row that is the quotient of two sides of one experiment.
 * @param {Pick<Row, 'id' | 'what' | 'against'> & { atMost: number, from?: string, metric?: Metric, side?: string }} row
 * @returns {Row}
 */
function ratio({ from, metric = 'wallMs', side = 'product', atMost, ...row }) {
  const experiment = from ?? row.id;
  return {
    ...row,
    unit: 'x',
    raw: 'ms',
    atMost: () => atMost,
    needs: [experiment],
    read: (medians) => {
      const product = pick(medians, experiment, side, metric);
      const rival = pick(medians, experiment, 'rival', metric);
      return { value: product / rival, product, rival };
    },
  };
}

/** @param {number} perSecond @returns {Row} */
function delay(perSecond) {
  const id = `delay-${perSecond}`;
  return {
    id,
    what: `delay of a delta at ${perSecond.toLocaleString('en')} a second, p99`,
    against: 'SDK script',
    unit: 'ms',
    raw: 'ms',
    atMost: ({ rival }) => Math.max(2, rival),
    needs: [id],
    read: (medians) => {
      const product = pick(medians, id, 'product', 'p99Ms');
      return { value: product, product, rival: pick(medians, id, 'rival', 'p99Ms') };
    },
  };
}

/**
 * Peak memory above an empty Node process.
 * @param {Pick<Row, 'id' | 'what'> & { from: string, atMost: number }} row
 * @returns {Row}
 */
function peak({ id, what, from, atMost }) {
  return {
    id,
    what,
    against: 'bare node',
    unit: 'MiB',
    raw: 'MiB',
    atMost: () => atMost,
    needs: [from],
    read: (medians) => {
      const product = pick(medians, from, 'product', 'peakMiB');
      const rival = pick(medians, from, 'bare', 'peakMiB');
      return { value: product - rival, product, rival };
    },
  };
}

/**
 * How much more memory the greater of two experiments takes.
 * @param {Pick<Row, 'id' | 'what'> & { atMost: number, small: string, big: string }} row
 * @returns {Row}
 */
function growth({ small, big, atMost, ...row }) {
  const grown = (/** @type {Medians} */ medians, /** @type {string} */ side) =>
    pick(medians, big, side, 'peakMiB') - pick(medians, small, side, 'peakMiB');
  return {
    ...row,
    against: 'SDK script',
    unit: 'MiB',
    raw: 'MiB',
    atMost: () => atMost,
    needs: [small, big],
    read: (medians) => ({
      value: grown(medians, 'product'),
      product: grown(medians, 'product'),
      rival: grown(medians, 'sdk'),
    }),
  };
}

/** 2,000 jobs at 32 at once and 20 ms each, less what one job costs beside its 20 ms. @type {Row} */
const batch = {
  id: 'batch-2000',
  what: 'batch of 2,000 texts, 20 ms server, 32 at once, less its start',
  against: 'node:http without a journal',
  unit: 'x',
  raw: 'ms',
  atMost: () => (major === '20' ? 1.8 : 1.5),
  needs: ['batch-2000'],
  read: (medians) => {
    const start = pick(medians, 'batch-2000', 'start', 'wallMs') - 20;
    const product = pick(medians, 'batch-2000', 'product', 'wallMs');
    const rival = pick(medians, 'batch-2000', 'rival', 'wallMs');
    const sdk = pick(medians, 'batch-2000', 'sdk', 'wallMs');
    const also = `start ${start.toFixed(0)}, ideal ${(2000 / 32) * 20}, SDK ${sdk.toFixed(0)} ms`;
    return { value: (product - start) / rival, product, rival, also };
  },
};

/**
 * What grows with its work and no faster: the quotient of two sides at each of three sizes, of which the greatest counts.
 * @param {Pick<Row, 'id' | 'what' | 'against'> & { atMost: number, sizes: [string, string, string], metric?: Metric }} row names of experiments
 * @returns {Row}
 */
function atEachSize({ sizes, metric = 'wallMs', atMost, ...row }) {
  return {
    ...row,
    unit: 'x',
    raw: 'ms',
    atMost: () => atMost,
    needs: sizes,
    read: (medians) => {
      const times = (/** @type {string} */ side) => sizes.map((size) => pick(medians, size, side, metric));
      const [products, rivals] = [times('product'), times('rival')];
      const quotients = products.map((product, at) => product / (rivals[at] ?? Number.NaN));
      const also = listed(sizes, quotients, 2);
      return {
        value: Math.max(...quotients),
        product: products[2] ?? Number.NaN,
        rival: rivals[2] ?? Number.NaN,
        also,
      };
    },
  };
}

const endedSizes = [1000, 10_000, 100_000].map((size) => `ended-${size}`);

/**
 * A command on a folder whose jobs have ended, beside one pass over its lines: at the greatest of three sizes, for the start of a
 * program is most of a small one.
 * @param {string} side @param {string} what @returns {Row}
 */
function endedRows(side, what) {
  return {
    id: `ended-${side === 'product' ? 'again' : side}`,
    what: `${what} of 100,000 jobs that have ended, processor time`,
    against: 'a JSON.parse of each line',
    unit: 'x',
    raw: 'ms',
    atMost: () => 3,
    needs: endedSizes,
    read: (medians) => {
      const quotients = endedSizes.map(
        (size) => pick(medians, size, side, 'cpuMs') / pick(medians, size, 'rival', 'cpuMs'),
      );
      const last = endedSizes.at(-1) ?? '';
      const peaks = endedSizes.map((size) => pick(medians, size, side, 'peakMiB').toFixed(0));
      const also = `${endedSizes.map((size, at) => `${size} ${quotients[at]?.toFixed(2)}`).join(', ')}; ${peaks.join(', ')} MiB`;
      const [product, rival] = [pick(medians, last, side, 'cpuMs'), pick(medians, last, 'rival', 'cpuMs')];
      return { value: product / rival, product, rival, also };
    },
  };
}

/** @type {Row} */
const endedMemory = {
  id: 'ended-peak',
  what: 'the greatest of the five on 1,000,000 jobs, peak memory',
  against: '-',
  unit: 'MiB',
  raw: 'MiB',
  atMost: () => 300,
  needs: ['ended-1000000'],
  read: (medians) => {
    const sides = ['status', 'export', 'product', 'edited', 'deleted'];
    const peaks = sides.map((side) => pick(medians, 'ended-1000000', side, 'peakMiB'));
    const value = Math.max(...peaks);
    return { value, product: value, rival: Number.NaN, also: peaks.map((peak) => peak.toFixed(0)).join(', ') };
  },
};

/** @type {Row} */
const longBatch = {
  id: 'batch-20000',
  what: 'batch of 20,000',
  against: 'ten times that',
  unit: 'x',
  raw: 'ms',
  atMost: () => 1.1,
  needs: ['batch-2000', 'batch-20000'],
  read: (medians) => {
    const product = pick(medians, 'batch-20000', 'product', 'wallMs');
    const rival = 10 * pick(medians, 'batch-2000', 'product', 'wallMs');
    return { value: product / rival, product, rival };
  },
};

/** No more than the script, or 50 MiB more than a tenth of the jobs. @type {Row} */
const batchMemory = {
  id: 'batch-peak',
  what: 'the same, peak memory',
  against: 'SDK script',
  unit: 'MiB',
  raw: 'MiB',
  atMost: ({ rival }) => rival,
  needs: ['batch-2000', 'batch-20000'],
  read: (medians) => {
    const product = pick(medians, 'batch-20000', 'product', 'peakMiB');
    const small = pick(medians, 'batch-2000', 'product', 'peakMiB');
    const script = pick(medians, 'batch-20000', 'sdk', 'peakMiB');
    const also = `SDK ${script.toFixed(0)}, of 2,000 ${small.toFixed(0)} MiB`;
    return { value: product, product, rival: Math.max(script, small + 50), also };
  },
};

/**
 * What one costs at the last of several sizes, against one at the first.
 * @param {Pick<Row, 'id' | 'what' | 'against'> & { atMost: number, sizes: string[], metric?: Metric, side?: string }} row
 * @returns {Row}
 */
function costGrowth({ sizes, metric = 'wallMs', side = 'product', atMost, ...row }) {
  return {
    ...row,
    unit: 'x',
    raw: 'ms',
    atMost: () => atMost,
    needs: sizes,
    read: (medians) => {
      const costs = sizes.map((size) => pick(medians, size, side, metric));
      const [product = Number.NaN, rival = Number.NaN] = [costs.at(-1), costs[0]];
      return { value: product / rival, product, rival, also: listed(sizes, costs, 1) };
    },
  };
}

/**
 * What a request costs where there are ten times as many recordings, and a hundred times.
 * @param {number} count @param {'found' | 'missed'} kind
 */
function recordedGrowth(count, kind) {
  return costGrowth({
    id: `recorded-${kind}-${count}`,
    what: `a recorded request ${kind} among ${count.toLocaleString('en')}, processor time`,
    against: 'among 200',
    atMost: kind === 'found' ? 1.5 : 3,
    sizes: ['recorded-200', `recorded-${count}`],
    side: kind === 'found' ? kind : 'product',
  });
}

/**
 * How far the greatest peak of several sizes is above another one at the first of them.
 * @param {Pick<Row, 'id' | 'what' | 'against'> & { atMost: number, sizes: string[], side: string }} row
 * @returns {Row}
 */
function greatestPeak({ sizes, side, atMost, ...row }) {
  return {
    ...row,
    unit: 'MiB',
    raw: 'MiB',
    atMost: () => atMost,
    needs: sizes,
    read: (medians) => {
      const peaks = sizes.map((size) => pick(medians, size, 'product', 'peakMiB'));
      const [product, rival] = [Math.max(...peaks), pick(medians, sizes[0] ?? '', side, 'peakMiB')];
      return { value: product - rival, product, rival, also: listed(sizes, peaks, 0) };
    },
  };
}

/** @param {string[]} sizes @param {number[]} values @param {number} digits */
function listed(sizes, values, digits) {
  return sizes.map((size, at) => `${size} ${values[at]?.toFixed(digits)}`).join(', ');
}

/** Wall time by itself. @param {Pick<Row, 'id' | 'what'> & { atMost: number }} row @returns {Row} */
function wall({ atMost, ...row }) {
  return {
    ...row,
    against: '-',
    unit: 'ms',
    raw: 'ms',
    atMost: () => atMost,
    needs: [row.id],
    read: (medians) => {
      const product = pick(medians, row.id, 'product', 'wallMs');
      return { value: product, product, rival: Number.NaN };
    },
  };
}

/**
 * @param {Pick<Row, 'id' | 'what' | 'against'> & { atMost: number, unit: Unit, rival: number, value: (medians: Medians) => number }} row
 * @returns {Row}
 */
function packed({ value, rival, atMost, ...row }) {
  return {
    ...row,
    raw: row.unit,
    atMost: () => atMost,
    needs: ['tarball'],
    read: (medians) => ({ value: value(medians), product: value(medians), rival }),
  };
}

/** @type {Row} */
const sessionsGrowth = {
  id: 'sessions-list',
  what: '`sessions list` of 5,000 of one turn, processor time',
  against: 'ten times that of 500',
  unit: 'x',
  raw: 'ms',
  atMost: () => 1,
  needs: ['sessions-50', 'sessions-500', 'sessions-5000'],
  read: (medians) => {
    const costs = sessionsGrowth.needs.map((size) => pick(medians, size, 'product', 'cpuMs'));
    const [product = Number.NaN, rival = Number.NaN] = [costs[2], 10 * (costs[1] ?? Number.NaN)];
    return { value: product / rival, product, rival, also: listed(sessionsGrowth.needs, costs, 0) };
  },
};

const calls = ['called-50', 'called-200', 'called-500'];

/** @type {Row[]} */
export const rows = [
  ratio({ id: 'version', what: '`--version`, wall', against: 'node -e 0', atMost: 2 }),
  ratio({ id: 'help', what: '`--help`, wall', against: 'node -e 0', atMost: 2 }),
  ratio({ id: 'text', what: '`text`, whole process', against: 'fetch script', atMost: major === '20' ? 1 : 1.3 }),
  ratio({
    id: 'first',
    what: '`chat`, start to first delta on stdout',
    against: 'SDK script',
    atMost: 0.6,
    metric: 'firstMs',
  }),
  ratio({ id: 'deltas', what: '100,000 deltas streamed to a pipe', against: 'SDK script', atMost: 0.5 }),
  delay(2000),
  delay(10_000),
  ratio({
    id: 'images',
    what: 'reply of 4 x 20 MiB, wall',
    against: 'curl | jq | base64',
    atMost: 0.5,
    from: 'images-4',
  }),
  peak({ id: 'images-peak', what: 'the same, peak memory', from: 'images-4', atMost: 50 }),
  growth({
    id: 'images-growth',
    what: 'the same, 1 x 20 to 8 x 20 MiB',
    atMost: 10,
    small: 'images-1',
    big: 'images-8',
  }),
  ratio({ id: 'edit', what: 'edit with a 64 MiB input, wall', against: 'base64 | jq | curl', atMost: 0.25 }),
  peak({ id: 'edit-peak', what: 'the same, peak memory', from: 'edit', atMost: 45 }),
  batch,
  longBatch,
  batchMemory,
  peak({
    id: 'batch-images',
    what: 'batch of 64 x 20 MiB pictures, 16 at once, peak memory',
    from: 'batch-images',
    atMost: 150,
  }),
  atEachSize({
    id: 'batch-collected',
    what: "results of a service's batch of 20,000 texts, processor time",
    against: 'the same sent live',
    atMost: 1,
    sizes: ['collected-1000', 'collected-5000', 'collected-20000'],
    metric: 'cpuMs',
  }),
  atEachSize({
    id: 'batch-replayed',
    what: 'batch of 20,000 texts from recordings, processor time',
    against: 'the same sent live',
    atMost: 1,
    sizes: ['replayed-200', 'replayed-2000', 'replayed-20000'],
    metric: 'cpuMs',
  }),
  ...[1, 8, 30].map((processes) =>
    ratio({
      id: `budget-${processes}`,
      what: `batches of ${processes} process${processes === 1 ? '' : 'es'} with one budget`,
      against: 'without',
      atMost: 2,
      from: `shared-${processes}`,
    }),
  ),
  ratio({
    id: 'rate-group-30',
    what: 'the same of 30 with one rate group',
    against: 'without',
    atMost: 2,
    from: 'shared-30',
    side: 'group',
  }),
  atEachSize({
    id: 'budget-ledger',
    what: '`text` with a budget that has paid for 400 requests, processor time',
    against: 'a new budget',
    atMost: 1.25,
    sizes: ['ledger-100', 'ledger-200', 'ledger-400'],
    metric: 'cpuMs',
  }),
  recordedGrowth(2000, 'found'),
  recordedGrowth(20_000, 'found'),
  recordedGrowth(2000, 'missed'),
  recordedGrowth(20_000, 'missed'),
  atEachSize({
    id: 'batch-shared',
    what: 'dry run of 20,000 rows that share a schema, 8 MiB and a picture',
    against: 'rows without files',
    atMost: 3,
    sizes: ['files-200', 'files-2000', 'files-20000'],
  }),
  endedRows('status', '`batch status`'),
  endedRows('export', '`batch export`'),
  endedRows('product', 'the same `batch` again'),
  endedRows('edited', '`batch` with one row edited'),
  endedRows('deleted', '`batch` with its first row deleted'),
  endedMemory,
  ...['whole', 'streamed'].map((kind) =>
    atEachSize({
      id: `serve-${kind}`,
      what: `16,000 ${kind} replies of \`serve\` in all formats, 64 connections, processor time`,
      against: 'aimock',
      atMost: 1.5,
      sizes: [`${kind}-1000`, `${kind}-4000`, `${kind}-16000`],
      metric: 'cpuMs',
    }),
  ),
  costGrowth({
    id: 'mcp',
    what: 'a call of a tool of `mcp` in 500 of one process, processor time',
    against: 'in 50',
    atMost: 1.1,
    sizes: calls,
    metric: 'cpuMs',
  }),
  greatestPeak({
    id: 'mcp-peak',
    what: 'the same, peak memory',
    against: 'bare node',
    atMost: 75,
    sizes: calls,
    side: 'bare',
  }),
  costGrowth({
    id: 'tab-sessions',
    what: 'a TAB for the name of one of 5,000 sessions, processor time',
    against: 'of 50',
    atMost: 1.5,
    sizes: ['sessions-50', 'sessions-500', 'sessions-5000'],
    metric: 'cpuMs',
    side: 'tab',
  }),
  sessionsGrowth,
  // 150 MiB in all.
  peak({ id: 'sessions-peak', what: '`sessions list`, 20 of 20 MB, peak memory', from: 'sessions', atMost: 110 }),
  wall({ id: 'gallery', what: 'gallery of 150 pictures of 1 MiB', atMost: 1500 }),
  packed({
    id: 'tarball',
    what: 'packed tarball',
    against: '-',
    unit: 'kB',
    rival: Number.NaN,
    atMost: 1500,
    value: (medians) => pick(medians, 'tarball', 'product', 'bytes') / 1000,
  }),
  packed({
    id: 'packages',
    what: 'packages installed',
    against: 'mmx-cli',
    unit: 'packages',
    rival: 33,
    atMost: 1,
    value: (medians) => pick(medians, 'tarball', 'product', 'packages'),
  }),
];
