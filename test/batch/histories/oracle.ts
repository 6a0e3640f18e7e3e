import { expect } from 'vitest';
import { SimulatedDisk } from './disk.ts';
import { type Behaviour, CountingGateway, type Payment } from './gateway.ts';
import type { History, HistoryStep } from './history.ts';
import {
  Asked,
  askWith,
  choose,
  report,
  type ReportedRow,
  runBatch,
  type RunPolicy,
  type TableRow,
} from './simulated-run.ts';
import { changeTable, type EditableTable, expandTable, newTable } from './table.ts';

interface Redo {
  /** The rows that it named, with what they ask; and those that are left, with the answers that they had. */
  named: string;
  isFinished: boolean;
  rows: { id: string; base: string; text: string | undefined }[];
}

/** A folder, and what the oracle remembers of it. */
interface Folder {
  disk: SimulatedDisk;
  shard: number;
  lastRedo: Redo | undefined;
  /** The table as of the last run that passed its check, by id. */
  before: Map<string, string>;
  manifest: string;
}

/** What a history has come to. It knows no key, slot or journal: it counts what the gateway was asked. */
interface Oracle {
  folders: Folder[];
  gateway: CountingGateway;
  replies: Behaviour[];
  boot: number;
  runs: number;
  /** Payments that the user asked for beside one a row, and the most rows that asked it at once; by what is asked without other answers. */
  extra: Map<string, number>;
  mostWanted: Map<string, number>;
  shownBefore: Map<string, { base: string; text: string }>;
}

type RunStep = Pick<HistoryStep, 'kill' | 'losesPower' | 'tear' | 'random'> & {
  policy: Omit<RunPolicy, 'redo' | 'shard'> & { redo?: readonly number[] | undefined };
};

interface Outcome {
  /** Undefined: the run was killed. `asked`: it ended before it paid. */
  end: 'done' | 'open' | 'asked' | undefined;
}

const isGood = ({ fate, how }: Payment): boolean => fate === 'recorded' && how !== 'broken';

function countEach(texts: Iterable<string>): Map<string, number> {
  const found = new Map<string, number>();
  for (const text of texts) found.set(text, (found.get(text) ?? 0) + 1);
  return found;
}

function createRandom(seed: number): () => number {
  let x = Math.trunc(seed) | 0 || 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}

function isRecorded({ result, disk, text }: Payment): boolean {
  const line = result && disk ? disk.read('results.jsonl', result.off, result.len) : '';
  return line.endsWith('\n') && line.includes(`"${text}"`);
}

/** Whether a row asks what was paid for, with answers to what its parents ask. */
function isWantedBy(row: TableRow, payment: Payment, rows: readonly TableRow[], { gateway }: Oracle): boolean {
  const start = askWith(row.base, []);
  if (!payment.asked.startsWith(start)) return false;
  const texts = payment.asked.slice(start.length).split('|').filter(Boolean);
  return (
    texts.length === row.parents.length &&
    texts.every((text, at) => {
      const parent = rows.find(({ id }) => id === row.parents[at]);
      const made = gateway.payments.find((one) => one.text === text);
      return made && parent && made.asked.startsWith(askWith(parent.base, []));
    })
  );
}

/** Plays a history, and holds each of its steps against what users are promised. */
export async function playHistory({ isNumbered, shards, rows, links, steps }: History): Promise<void> {
  const hasLinks = !isNumbered && shards === 1;
  const table = newTable({ isNumbered, rows });
  if (hasLinks) linkAtFirst(table, links);
  const oracle = openOracle(shards);
  let last: HistoryStep | undefined;
  for (const next of steps) {
    const isSame = next.isAgain && last !== undefined;
    const step = isSame ? { ...(last as HistoryStep), kill: next.kill, random: next.random } : next;
    for (const edit of isSame ? [] : next.edits) changeTable(table, edit, hasLinks);
    last = step;
    const expanded = await expandTable(table);
    if (step.choice && shards === 1) {
      chooseAnswer(step.choice, oracle);
    }
    let wasKilled = false;
    for (const folder of oracle.folders) {
      oracle.replies = [...step.replies];
      wasKilled = runOnce(folder, expanded, step, oracle).end === undefined;
      if (wasKilled) break;
    }
    checkReport(expanded, { isFinal: false, wasKilled, isNumbered }, oracle);
  }
  await finish(await expandTable(table), isNumbered, oracle);
}

/**
 * A choice pays nothing, and allows no payment: what counts again takes the place of what was paid for it last. It ends what was to be made again:
 * the same `--redo` after it is another one.
 */
function chooseAnswer(
  choice: { place: number; answer: number },
  { folders, gateway, boot, shownBefore }: Oracle,
): void {
  const [folder] = folders as [Folder];
  const found = choose(folder.disk, String(boot), choice);
  if (found === undefined) return;
  const payments = gateway.payments.filter(({ text }) => found.paid.includes(text));
  const counting = payments.find(({ text }) => text === found.chosen) as Payment;
  shownBefore.clear();
  const last = payments.findLast((one) => one !== counting && !one.isRetired);
  if (counting.isRetired && last) last.isRetired = true;
  counting.isRetired = false;
  folder.lastRedo = undefined;
}

/** All use the first row; or each the one before it; or every second one does. */
function linkAtFirst({ rows }: EditableTable, links: number): void {
  for (const [at, row] of rows.entries()) {
    const isLinked = at > 0 && (links === 2 || links === 3 || (links === 4 && at % 2 === 1));
    if (isLinked) row.uses = rows[links === 2 ? 0 : at - 1]?.id;
  }
}

function openOracle(shards: number): Oracle {
  const oracle: Oracle = {
    folders: Array.from({ length: shards }, (_, shard) => ({
      disk: new SimulatedDisk(),
      shard,
      lastRedo: undefined,
      before: new Map(),
      manifest: '',
    })),
    gateway: new CountingGateway(() => oracle.replies.shift() ?? 'ok'),
    replies: [],
    boot: 1,
    runs: 0,
    extra: new Map(),
    mostWanted: new Map(),
    shownBefore: new Map(),
  };
  return oracle;
}

/** A run that is not disturbed makes all there is to make, and the next one pays nothing. */
async function finish(rows: readonly TableRow[], isNumbered: boolean, oracle: Oracle): Promise<void> {
  oracle.replies = [];
  const undisturbed = { kill: undefined, losesPower: false, tear: 0, random: 7 };
  const all = { acceptChanges: true, retry: ['failed', 'unknown'], lane: 'live' } as const;
  for (let tries = 0; tries < 4; tries++)
    for (const folder of oracle.folders) runOnce(folder, rows, { ...undisturbed, policy: all }, oracle);
  const paid = oracle.gateway.payments.length;
  for (const folder of oracle.folders) {
    const { end } = runOnce(folder, rows, { ...undisturbed, policy: { lane: 'live' } }, oracle);
    expect(end, 'the batch does not come to its end').toBe('done');
  }
  expect(oracle.gateway.payments.length, 'the same command again paid').toBe(paid);
  checkReport(rows, { isFinal: true, wasKilled: false, isNumbered }, oracle);
}

function runOnce(folder: Folder, rows: readonly TableRow[], step: RunStep, oracle: Oracle): Outcome {
  const { gateway, folders } = oracle;
  const { disk, shard } = folder;
  const random = createRandom(step.random + oracle.runs);
  const { redo, ...asked } = step.policy;
  const ids = rows.map(({ id }) => id);
  const policy: RunPolicy = {
    ...asked,
    shard: folders.length > 1 ? { index: shard, total: folders.length } : undefined,
    redo: redo && ids.length > 0 ? [...new Set(redo.map((at) => ids[at % ids.length] as string))] : undefined,
  };
  const run = ++oracle.runs;
  const first = gateway.payments.length;
  retirePaid(policy, folder, gateway);
  if (policy.redo) enterRedo(policy.redo, rows, folder, oracle);
  const running = runBatch({ disk, gateway, rows, boot: String(oracle.boot), policy, random, run });
  const end = killAt(running, step, { disk, random, oracle });
  checkPaid({ rows, policy, first, run }, folder, oracle);
  if (end === 'asked') checkAsked(rows, first, oracle);
  keepFates(folder, gateway);
  endRedo(end, folder, oracle);
  const manifest = disk.read('jobs.jsonl');
  const isTaken = end !== 'asked' && (end !== undefined || manifest !== folder.manifest);
  if (isTaken) folder.before = new Map(rows.map(({ id, base }) => [id, base]));
  folder.manifest = manifest;
  return { end };
}

/** Goes on with a run up to the step at which it is killed. */
function killAt(
  running: Generator<string, boolean>,
  { kill, losesPower, tear }: RunStep,
  { disk, random, oracle }: { disk: SimulatedDisk; random: () => number; oracle: Oracle },
): Outcome['end'] {
  try {
    for (let steps = 1; ; steps++) {
      const next = running.next();
      if (next.done) return next.value ? 'done' : 'open';
      if (steps !== kill) continue;
      const torn = /^written (.*)/.exec(next.value)?.[1];
      if (torn !== undefined && tear % 2 === 1) disk.tear(torn, tear);
      if (!losesPower) return undefined;
      disk.losePower(random);
      oracle.boot++;
      return undefined;
    }
  } catch (error) {
    if (error instanceof Asked) return 'asked';
    throw error;
  }
}

/** The user's words allow to pay again for what these flags send. */
function retirePaid(policy: RunPolicy, { disk }: Folder, { payments }: CountingGateway): void {
  for (const payment of payments) {
    if (payment.isRetired || payment.disk !== disk) continue;
    const { fate, how, asked } = payment;
    // A try to replace it that failed leaves it as it is: cut.
    const isCut =
      how === 'cut' || (how === 'broken' && payments.some((one) => one.asked === asked && one.how === 'cut'));
    payment.isRetired =
      (policy.retry?.includes('unknown') === true && fate === 'lost') ||
      (policy.retry?.includes('failed') === true && fate === 'recorded' && how === 'broken') ||
      (policy.retry?.includes('incomplete') === true && fate === 'recorded' && isCut);
  }
}

function enterRedo(ids: readonly string[], rows: readonly TableRow[], folder: Folder, oracle: Oracle): void {
  const { gateway, extra } = oracle;
  const { payments } = gateway;
  const redone = rows.filter(({ id }) => ids.includes(id));
  const named = redone
    .map(({ id, base }) => id + base)
    .sort()
    .join();
  if (folder.lastRedo?.named === named && !folder.lastRedo.isFinished) {
    for (const payment of payments)
      if (payment.how === 'broken' && payment.fate === 'recorded') payment.isRetired = true;
    return;
  }
  const shown = mapShown(folder, oracle);
  // What the service holds is being made: such a row is not sent again, and the same words may mean it once more.
  const isHeld = redone.some(({ base }) =>
    payments.some((one) => one.fate === 'held' && one.asked.startsWith(askWith(base, []))),
  );
  const left = redone.map(({ id, base }) => ({ id, base, text: shown.get(id) }));
  folder.lastRedo = { named, isFinished: isHeld, rows: left };
  for (const { base } of redone) extra.set(base, (extra.get(base) ?? 0) + 1);
}

/** The answers that rows show in a folder, by their ids: undefined for a row without one. */
function mapShown({ disk }: Folder, { boot, gateway }: Oracle): Map<string, string | undefined> {
  const all = report([disk], String(boot));
  const isGoodText = (text: string): boolean => gateway.payments.find((one) => one.text === text)?.how !== 'broken';
  return new Map(
    all.map(({ id, document }) => [id, document?.text && isGoodText(document.text) ? document.text : undefined]),
  );
}

/** Each payment is one that a row wants, and none that a row has already, but by the user's word. */
function checkPaid(
  { rows, policy, first, run }: { rows: readonly TableRow[]; policy: RunPolicy; first: number; run: number },
  folder: Folder,
  oracle: Oracle,
): void {
  const { gateway, extra, mostWanted } = oracle;
  const paid = gateway.payments.slice(first);
  for (const [base, count] of countEach(rows.map((row) => row.base)))
    mostWanted.set(base, Math.max(count, mostWanted.get(base) ?? 0));
  for (const payment of paid) payment.disk = folder.disk;
  for (const payment of paid) {
    const row = rows.find((one) => isWantedBy(one, payment, rows, oracle));
    if (row === undefined) throw new Error(`paid for what no row asks: ${payment.asked}`);
    const alive = gateway.payments.filter((one) => one.asked === payment.asked && !one.isRetired).length;
    const most = (mostWanted.get(row.base) ?? 0) + (extra.get(row.base) ?? 0);
    expect(alive, `paid twice: ${payment.asked}`).toBeLessThanOrEqual(most);
  }
  if (policy.limit !== undefined) expect(paid.length, 'more than the limit').toBeLessThanOrEqual(policy.limit);
  if (!policy.acceptChanges && !policy.redo) checkEdits({ rows, paid, run }, folder, oracle);
}

/** A row whose earlier version has an answer is not paid for without a word. */
function checkEdits(
  { rows, paid, run }: { rows: readonly TableRow[]; paid: readonly Payment[]; run: number },
  { before, disk }: Folder,
  oracle: Oracle,
): void {
  const { payments } = oracle.gateway;
  const [was, now] = [[...before.values()], rows.map(({ base }) => base)];
  const [wasWanted, isWanted] = [countEach(was), countEach(now)];
  const hasAnswer = (base: string): boolean =>
    payments.some(
      (one) =>
        one.run < run &&
        one.disk === disk &&
        one.asked === askWith(base, []) &&
        (one.fate === 'recorded' ? one.how !== 'broken' : !one.isRetired),
    );
  const isLost = (base: string): boolean => hasAnswer(base) && !isWanted.has(base) && wasWanted.get(base) === 1;
  for (const payment of paid) {
    const wanting = rows.filter((row) => row.parents.length === 0 && isWantedBy(row, payment, rows, oracle));
    const isNew = !payments.some((one) => one.run < run && one.asked === payment.asked);
    if (wanting.length === 0 || !isNew) continue;
    if (rows[0]?.isNumbered) {
      const ids = [...before.keys()];
      const isInPlace =
        was.length === now.length &&
        rows.every(({ id }, at) => id === ids[at]) &&
        now.every((base, at) => base === was[at] || (!was.includes(base) && !isWanted.has(was[at] as string)));
      const isOfLost = now.some((base, at) => askWith(base, []) === payment.asked && isLost(was[at] as string));
      expect(isInPlace && isOfLost, 'a numbered row was replaced, and paid for without a word').toBe(false);
      continue;
    }
    const isEdited = ({ id, base }: TableRow): boolean =>
      before.has(id) && before.get(id) !== base && isLost(before.get(id) as string);
    expect(wanting.every(isEdited), 'an edited row was paid for without a word').toBe(false);
  }
}

/** Nobody is asked where nothing is to be paid: rows that moved, got other ids, left, or whose unused columns were edited. */
function checkAsked(rows: readonly TableRow[], first: number, { gateway, extra }: Oracle): void {
  expect(gateway.payments.length, 'paid, and asked').toBe(first);
  const isMissing = ([base, count]: [string, number]): boolean => {
    const good = gateway.payments.filter((one) => one.asked === askWith(base, []) && isGood(one) && !one.isRetired);
    return good.length - (extra.get(base) ?? 0) < count;
  };
  expect([...countEach(rows.map(({ base }) => base))].some(isMissing), 'asked for nothing').toBe(true);
}

/** What is on the disk stays there; what is not may have been billed. */
function keepFates({ disk }: Folder, { payments, batches }: CountingGateway): void {
  for (const payment of payments) {
    if (payment.disk !== disk) continue;
    const is = isRecorded(payment);
    // A kill can leave a line that only a power cut after it takes.
    if (payment.isSafe) expect(is, 'a recorded answer went away').toBe(true);
    const { result } = payment;
    if (is && result) payment.isSafe = result.off + result.len <= disk.syncedBytes('results.jsonl');
    const isHeld = batches.some(({ results }) => results.some((one) => one.payment === payment));
    payment.fate = is ? 'recorded' : isHeld ? 'held' : 'lost';
  }
}

/** Each row that was named has an answer that it had not, whether it was paid for or was free; or it left. */
function endRedo(end: Outcome['end'], folder: Folder, oracle: Oracle): void {
  const { lastRedo, disk } = folder;
  const { gateway, folders } = oracle;
  // Who is killed after its very last record has come to its end.
  const hasEnded = end !== undefined || disk.read('journal.jsonl').trimEnd().endsWith('{"t":"end"}');
  if (!hasEnded || end === 'asked' || !lastRedo) return;
  const shown = mapShown(folder, oracle);
  const isHere = (base: string): boolean =>
    folders.length === 1 ||
    gateway.payments.some((one) => one.disk === disk && one.asked.startsWith(askWith(base, [])));
  const isMade = ({ id, text }: Redo['rows'][number]): boolean =>
    !shown.has(id) || (shown.get(id) !== undefined && shown.get(id) !== text);
  if (lastRedo.rows.filter(({ base }) => isHere(base)).every(isMade)) lastRedo.isFinished = true;
}

interface Checking {
  /** All has ended, and all of it is to be seen. */
  isFinal: boolean;
  wasKilled: boolean;
  isNumbered: boolean;
}

/** The report is the table: its rows, in its order, each with an answer to what it asks; and no answer is there twice. */
function checkReport(rows: readonly TableRow[], checking: Checking, oracle: Oracle): void {
  const { folders, boot, gateway, shownBefore } = oracle;
  if (folders.some(({ manifest }) => manifest === '')) return;
  const shown = report(
    folders.map(({ disk }) => disk),
    String(boot),
  );
  const texts = shown.flatMap(({ document }) => document?.text ?? []);
  expect(new Set(texts).size, 'one answer in two rows').toBe(texts.length);
  const isOfTable = ({ before }: Folder): boolean =>
    [...before.keys()].join() === rows.map(({ id }) => id).join() &&
    rows.every(({ id, base }) => before.get(id) === base);
  if (!folders.every(isOfTable)) return shownBefore.clear();
  if (!checking.isNumbered && folders.length === 1) checkGoingBack(rows, shown, oracle);
  expect(shown.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  for (const [at, { document }] of shown.entries())
    if (document?.asked !== undefined)
      expect(document.asked.startsWith(askWith(rows[at]?.base ?? '', [])), 'an answer to something else').toBe(true);
  // After a kill, of equal rows one may wait while the answer of another is free: the next run sees to that.
  if (!checking.wasKilled) checkShown(rows, shown, oracle);
  if (!checking.isFinal) return;
  expect(shown.map(({ vars }) => vars)).toEqual(rows.map(({ vars }) => vars));
  const byId = new Map(shown.map((one) => [one.id, one]));
  for (const [at, { id, state, document }] of shown.entries()) {
    expect(['done', 'incomplete'], `${id} is ${state}`).toContain(state);
    for (const parent of rows[at]?.parents ?? [])
      expect(document?.asked, 'made of an older answer').toMatch(new RegExp(`${byId.get(parent)?.document?.text}$`));
  }
  void gateway;
}

/** A row that asks the same shows the same answer, or one that was paid later. Equal rows that come back may have each other's. */
function checkGoingBack(
  rows: readonly TableRow[],
  shown: readonly ReportedRow[],
  { gateway: { payments }, shownBefore }: Oracle,
): void {
  const numberOf = (text: string): number => payments.findIndex((one) => one.text === text);
  for (const id of shownBefore.keys()) if (!shown.some((one) => one.id === id)) shownBefore.delete(id);
  for (const [at, { id, document }] of shown.entries()) {
    const row = rows[at] as TableRow;
    const text = document?.text;
    const had = shownBefore.get(id);
    if (had?.base === row.base && row.parents.length === 0)
      expect(text !== undefined && numberOf(text) >= numberOf(had.text), `the answer of ${id} went back`).toBe(true);
    const payment = text === undefined ? undefined : payments[numberOf(text)];
    if (payment && payment.how !== 'broken' && payment.isSafe)
      shownBefore.set(id, { base: row.base, text: payment.text });
    // A kill can leave a line that only a power cut takes: the one before it is shown again then.
    else if (had?.base !== row.base || payment?.isSafe !== false) shownBefore.delete(id);
  }
}

/** As many rows show an answer as there are, but for those that the user had replaced. */
function checkShown(
  rows: readonly TableRow[],
  shown: readonly ReportedRow[],
  { gateway: { payments }, extra }: Oracle,
): void {
  const isGoodText = (text: string | undefined): boolean =>
    text !== undefined && payments.find((one) => one.text === text)?.how !== 'broken';
  for (const [base, count] of countEach(rows.filter(({ parents }) => parents.length === 0).map((row) => row.base))) {
    const good = payments.filter((one) => one.asked === askWith(base, []) && isGood(one));
    const replaced = (extra.get(base) ?? 0) + good.filter(({ isRetired }) => isRetired).length;
    const seen = shown.filter(
      ({ document }, at) => rows[at]?.base === base && rows[at]?.parents.length === 0 && isGoodText(document?.text),
    );
    expect(seen.length, `an answer that was paid for is not shown: ${base}`).toBeGreaterThanOrEqual(
      Math.min(count, good.length - replaced),
    );
  }
}
