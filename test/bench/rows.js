// The table of design.md section 7: what is read from the experiments, and how much of it is allowed.

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
 * @property {number} atMost
 * @property {string[]} needs names of experiments
 * @property {(medians: Medians) => Figures} read
 */

/** @typedef {'wallMs' | 'firstMs' | 'peakMiB' | 'p99Ms' | 'bytes' | 'packages'} Metric */

/** @param {Medians} medians @param {string} experiment @param {string} side @param {Metric} metric */
function pick(medians, experiment, side, metric) {
  return medians[experiment]?.[side]?.[metric] ?? Number.NaN;
}

/**
 * A row that is the quotient of two sides of one experiment.
 * @param {Pick<Row, 'id' | 'what' | 'against' | 'atMost'> & { from?: string, metric?: Metric }} row
 * @returns {Row}
 */
function ratio({ from, metric = 'wallMs', ...row }) {
  const experiment = from ?? row.id;
  return {
    ...row,
    unit: 'x',
    raw: 'ms',
    needs: [experiment],
    read: (medians) => {
      const product = pick(medians, experiment, 'product', metric);
      const rival = pick(medians, experiment, 'rival', metric);
      const floor = pick(medians, experiment, 'floor', metric);
      return {
        value: product / rival,
        product,
        rival,
        ...(floor > 0 && { also: `floor ${(floor / rival).toFixed(2)}x` }),
      };
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
    atMost: 2,
    needs: [id],
    read: (medians) => {
      const product = pick(medians, id, 'product', 'p99Ms');
      const also = `floor ${pick(medians, id, 'floor', 'p99Ms').toFixed(2)} ms`;
      return { value: product, product, rival: pick(medians, id, 'rival', 'p99Ms'), also };
    },
  };
}

/**
 * Peak memory above an empty Node process.
 * @param {Pick<Row, 'id' | 'what'> & { from: string, atMost?: number }} row
 * @returns {Row}
 */
function peak({ id, what, from, atMost = 40 }) {
  return {
    id,
    what,
    against: 'bare node',
    unit: 'MiB',
    raw: 'MiB',
    atMost,
    needs: [from],
    read: (medians) => {
      const product = pick(medians, from, 'product', 'peakMiB');
      const rival = pick(medians, from, 'bare', 'peakMiB');
      const [sdk, shell] = [pick(medians, from, 'sdk', 'peakMiB'), pick(medians, from, 'rival', 'peakMiB')];
      const also = [sdk > 0 ? `SDK ${sdk.toFixed(0)}` : '', shell > 0 ? `shell ${shell.toFixed(0)} MiB` : '']
        .filter(Boolean)
        .join(', ');
      return { value: product - rival, product, rival, also };
    },
  };
}

/**
 * How much more memory the greater of two experiments takes.
 * @param {Pick<Row, 'id' | 'what' | 'atMost'> & { small: string, big: string }} row
 * @returns {Row}
 */
function growth({ small, big, ...row }) {
  const grown = (/** @type {Medians} */ medians, /** @type {string} */ side) =>
    pick(medians, big, side, 'peakMiB') - pick(medians, small, side, 'peakMiB');
  return {
    ...row,
    against: 'SDK script',
    unit: 'MiB',
    raw: 'MiB',
    needs: [small, big],
    read: (medians) => ({
      value: grown(medians, 'product'),
      product: grown(medians, 'product'),
      rival: grown(medians, 'sdk'),
    }),
  };
}

/** 2,000 jobs at 32 at once and 20 ms each, and what one job costs beside its 20 ms. @type {Row} */
const batch = {
  id: 'batch-2000',
  what: 'batch of 2,000 texts, 20 ms server, 32 at once',
  against: 'ideal (+ start)',
  unit: 'x',
  raw: 'ms',
  atMost: 1.15,
  needs: ['batch-2000'],
  read: (medians) => {
    const start = pick(medians, 'batch-2000', 'start', 'wallMs') - 20;
    const product = pick(medians, 'batch-2000', 'product', 'wallMs');
    const ideal = (2000 / 32) * 20;
    const sdk = pick(medians, 'batch-2000', 'sdk', 'wallMs');
    return {
      value: (product - start) / ideal,
      product,
      rival: ideal,
      also: `start ${start.toFixed(0)}, SDK ${sdk.toFixed(0)} ms`,
    };
  },
};

/** @type {Row} */
const longBatch = {
  id: 'batch-20000',
  what: 'batch of 20,000',
  against: 'ten times that',
  unit: 'x',
  raw: 'ms',
  atMost: 1.1,
  needs: ['batch-2000', 'batch-20000'],
  read: (medians) => {
    const product = pick(medians, 'batch-20000', 'product', 'wallMs');
    const rival = 10 * pick(medians, 'batch-2000', 'product', 'wallMs');
    return { value: product / rival, product, rival };
  },
};

/**
 * @param {Pick<Row, 'id' | 'what' | 'against' | 'atMost'> & { unit: Unit, rival: number, value: (medians: Medians) => number }} row
 * @returns {Row}
 */
function packed({ value, rival, ...row }) {
  return {
    ...row,
    raw: row.unit,
    needs: ['tarball'],
    read: (medians) => ({ value: value(medians), product: value(medians), rival }),
  };
}

/** @type {Row[]} */
export const rows = [
  ratio({ id: 'version', what: '`--version`, wall', against: 'node -e 0', atMost: 1.5 }),
  ratio({ id: 'help', what: '`--help`, wall', against: 'node -e 0', atMost: 1.5 }),
  ratio({ id: 'text', what: '`text`, whole process', against: 'fetch script', atMost: 0.7 }),
  ratio({
    id: 'first',
    what: '`chat`, start to first delta on stdout',
    against: 'SDK script',
    atMost: 0.5,
    metric: 'firstMs',
  }),
  ratio({ id: 'deltas', what: '100,000 deltas streamed to a pipe', against: 'SDK script', atMost: 0.4 }),
  delay(2000),
  delay(10_000),
  ratio({
    id: 'images',
    what: 'reply of 4 x 20 MiB, wall',
    against: 'curl | jq | base64',
    atMost: 0.4,
    from: 'images-4',
  }),
  peak({ id: 'images-peak', what: 'the same, peak memory', from: 'images-4' }),
  growth({
    id: 'images-growth',
    what: 'the same, 1 x 20 to 8 x 20 MiB',
    atMost: 10,
    small: 'images-1',
    big: 'images-8',
  }),
  ratio({ id: 'edit', what: 'edit with a 64 MiB input, wall', against: 'base64 | jq | curl', atMost: 0.2 }),
  peak({ id: 'edit-peak', what: 'the same, peak memory', from: 'edit' }),
  batch,
  longBatch,
  growth({
    id: 'batch-growth',
    what: 'the same, memory from 2,000 to 20,000',
    atMost: 30,
    small: 'batch-2000',
    big: 'batch-20000',
  }),
  peak({
    id: 'batch-images',
    what: 'batch of 64 x 20 MiB pictures, 16 at once, peak memory',
    from: 'batch-images',
    atMost: 150,
  }),
  packed({
    id: 'tarball',
    what: 'packed tarball',
    against: '-',
    unit: 'kB',
    rival: Number.NaN,
    atMost: 350,
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
