import assert from 'node:assert/strict';
import { join } from 'node:path';
import { removeFolder, scratchFolder } from '../../helpers/scratch.ts';
import { choose, type EngineEnd, hasBatch, report, type ReportedRow, runEngine, type RunPolicy } from './engine-run.ts';
import { WatchedFolder } from './folder.ts';
import { askWith, type Behaviour, CountingGateway, type Payment } from './gateway.ts';
import type { History, HistoryStep } from './history.ts';
import { changeTable, type EditableTable, expandTable, newTable, type TableRow, writeTable } from './table.ts';

interface Redo {
  /** The rows that it named, with what they ask; and those that are left, with the answers that they had. */
  named: string;
  isFinished: boolean;
  rows: { id: string; base: string; text: string | undefined }[];
  /** All answers that rows showed when it was typed. */
  shown: ReadonlySet<string | undefined>;
}

/** A folder, and what the oracle remembers of it. */
interface Folder {
  files: WatchedFolder;
  shard: number;
  lastRedo: Redo | undefined;
  /** A run in the lane `batch` was here. */
  hadBatches: boolean;
  /** The table as of the last run that passed its check, by id; and its rows. */
  before: Map<string, string>;
  rows: readonly TableRow[];
  /** The same, but for rows that were edited and that no run may pay for yet: these are as they were. */
  accepted: Map<string, string>;
  manifest: string;
}

/** What a history has come to. It knows no key, slot or journal: it counts what the gateway was asked. */
interface Oracle {
  /** Where the table is, and the folders. */
  cwd: string;
  table: EditableTable;
  folders: Folder[];
  gateway: CountingGateway;
  replies: Behaviour[];
  runs: number;
  /** Payments that the user asked for beside one a row, and the most rows that asked it at once; by what is asked without other answers. */
  extra: Map<string, number>;
  mostWanted: Map<string, number>;
  shownBefore: Map<string, { base: string; text: string }>;
  /** The last report that was read, and the files that it was read from. */
  lastReport: { of: string; rows: readonly ReportedRow[] };
}

type RunStep = Pick<HistoryStep, 'kill' | 'losesPower' | 'tear' | 'random'> & {
  policy: Omit<RunPolicy, 'redo' | 'shard'> & { redo?: readonly number[] | undefined };
};

/** How a run ended that was not killed. `asked`: before it paid. `refused`: for the words of its `--redo`, before anything. */
type RunEnd = 'done' | 'open' | 'asked' | 'refused';

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

/** The ends of the lines of the results, in bytes, by the texts of their answers. */
function findResults(files: WatchedFolder): Map<string, number> {
  const ends = new Map<string, number>();
  let end = 0;
  for (const line of files
    .read('results.jsonl')
    .toString()
    .split(/(?<=\n)/)) {
    end += Buffer.byteLength(line);
    // A power cut can leave a hole in place of the beginning of a line: the rest is no answer.
    const text = /(?:^|\0)\{"slot":.*"text":"(answer \d+)"/.exec(line)?.[1];
    if (line.endsWith('\n') && text !== undefined) ends.set(text, end);
  }
  return ends;
}

/** Whether a row asks what was paid for, with answers to what its parents ask. `isDeep`: with what these were made of, and so on. */
function isWantedBy(
  row: TableRow,
  payment: Payment,
  rows: readonly TableRow[],
  oracle: Oracle,
  isDeep = false,
): boolean {
  const start = askWith(row.base, []);
  if (!payment.asked.startsWith(start)) return false;
  const texts = payment.asked.slice(start.length).split('|').filter(Boolean);
  return (
    texts.length === row.parents.length &&
    texts.every((text, at) => {
      const parent = rows.find(({ id }) => id === row.parents[at]);
      const made = oracle.gateway.payments.find((one) => one.text === text);
      if (!made || !parent || !made.asked.startsWith(askWith(parent.base, []))) return false;
      return !isDeep || isWantedBy(parent, made, rows, oracle, true);
    })
  );
}

/** Plays a history, and holds each of its steps against what users are promised. */
export async function playHistory({ isNumbered, shards, rows, kinds, links, steps }: History): Promise<void> {
  const hasLinks = !isNumbered && shards === 1;
  const table = newTable({ isNumbered, rows, kinds });
  if (hasLinks) linkAtFirst(table, links);
  const oracle = openOracle(table, shards);
  let last: HistoryStep | undefined;
  for (const next of steps) {
    const isSame = next.isAgain && last !== undefined;
    const step = isSame ? { ...(last as HistoryStep), kill: next.kill, random: next.random } : next;
    for (const edit of isSame ? [] : next.edits) changeTable(table, edit, hasLinks);
    last = step;
    const expanded = expandTable(table);
    if (step.choice && shards === 1) await chooseAnswer(step.choice, oracle);
    let end: RunEnd | undefined;
    for (const folder of oracle.folders) {
      oracle.replies = [...step.replies];
      end = await runOnce(folder, expanded, step, oracle);
      if (end === undefined) break;
    }
    await checkReport(expanded, { isFinal: false, wasKilled: end === undefined, isNumbered }, oracle);
    if (hasLinks) await checkLinked(expanded, oracle);
  }
  await finish(expandTable(table), isNumbered, oracle);
  removeFolder(oracle.cwd);
}

/**
 * A choice pays nothing, and allows no payment: what counts again takes the place of what was paid for it last. It ends what was to be made again:
 * the same `--redo` after it is another one.
 */
async function chooseAnswer(
  choice: { place: number; answer: number },
  { folders, gateway, shownBefore }: Oracle,
): Promise<void> {
  const [folder] = folders as [Folder];
  const found = await choose(folder.files, choice);
  if (found === undefined) return;
  const payments = gateway.payments.filter(({ text }) => found.paid.includes(text));
  const counting = payments.find(({ text }) => text === found.chosen);
  assert.ok(counting, 'an answer that can be chosen is not there');
  shownBefore.clear();
  // A try to replace it can have got no answer.
  const tried = gateway.payments.filter(
    (one) => one.asked === counting.asked && one.folder === folder.files && one.fate === 'lost',
  );
  const last = [...tried, ...payments].findLast((one) => one !== counting && !one.isRetired);
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

function openOracle(table: EditableTable, shards: number): Oracle {
  const cwd = scratchFolder();
  return {
    cwd,
    table,
    folders: Array.from({ length: shards }, (_, shard) => ({
      files: new WatchedFolder(join(cwd, `out-${shard + 1}`)),
      shard,
      lastRedo: undefined,
      hadBatches: false,
      before: new Map(),
      rows: [],
      accepted: new Map(),
      manifest: '',
    })),
    gateway: new CountingGateway(),
    replies: [],
    runs: 0,
    extra: new Map(),
    mostWanted: new Map(),
    shownBefore: new Map(),
    lastReport: { of: '', rows: [] },
  };
}

/** A run that is not disturbed makes all there is to make, and the next one pays nothing. */
async function finish(rows: readonly TableRow[], isNumbered: boolean, oracle: Oracle): Promise<void> {
  oracle.replies = [];
  const undisturbed = { kill: undefined, losesPower: false, tear: 0, random: 7 };
  const all = { acceptChanges: true, retry: ['failed', 'unknown'] } as const;
  for (const folder of oracle.folders)
    // What the service holds is collected first.
    for (const lane of ['batch', 'live', 'live', 'live'] as const)
      if ((await runOnce(folder, rows, { ...undisturbed, policy: { ...all, lane } }, oracle)) === 'done') break;
  const paid = oracle.gateway.payments.length;
  for (const folder of oracle.folders) {
    const end = await runOnce(folder, rows, { ...undisturbed, policy: { lane: 'live' } }, oracle);
    assert.equal(end, 'done', 'the batch does not come to its end');
  }
  assert.equal(oracle.gateway.payments.length, paid, 'the same command again paid');
  await checkReport(rows, { isFinal: true, wasKilled: false, isNumbered }, oracle);
}

async function runOnce(
  folder: Folder,
  rows: readonly TableRow[],
  step: RunStep,
  oracle: Oracle,
): Promise<RunEnd | undefined> {
  const { cwd, gateway, folders, table } = oracle;
  const { files, shard } = folder;
  const random = createRandom(step.random + oracle.runs);
  const { redo, ...asked } = step.policy;
  const ids = rows.map(({ id }) => id);
  const policy: RunPolicy = {
    ...asked,
    onlyNamed: asked.onlyNamed && (redo !== undefined || (asked.retry ?? []).length > 0),
    shard: folders.length > 1 ? `${shard + 1}/${folders.length}` : undefined,
    redo: redo && [...new Set(redo.map((at) => ids[at % ids.length] as string))],
  };
  const run = ++oracle.runs;
  const first = gateway.payments.length;
  const [lastRedo, extra] = [folder.lastRedo, new Map(oracle.extra)];
  const retired = new Set(gateway.payments.filter(({ isRetired }) => isRetired));
  retirePaid(policy, folder, gateway);
  const isNew = policy.redo !== undefined && (await enterRedo(policy.redo, rows, folder, oracle));
  const isUndisturbed = isNew && policy.limit === undefined && oracle.replies.every((reply) => reply === 'ok');
  folder.hadBatches ||= policy.lane === 'batch';
  writeTable(table, cwd);
  const had = rows.some(({ parents }) => parents.length > 0) ? await mapShown(folder, oracle) : new Map();
  const next = (): Behaviour => oracle.replies.shift() ?? 'ok';
  const ended = await runEngine({ cwd, folder: files, gateway, table, policy, kill: step.kill, run, random, next });
  if (ended.left) files.restore(ended.left, { ...step, random });
  const end = judgeEnd(ended, policy);
  if (end === 'refused') {
    const named = policy.redo ?? [];
    // It uses a row that is not made, or the service makes it.
    const isWaiting = ({ id, parents }: TableRow): boolean =>
      named.includes(id) && parents.some((parent) => !named.includes(parent));
    const isHeld = folder.hadBatches && /(is|are) at the service$/.test(ended.error?.message ?? '');
    const isKnown = folders.length > 1 || rows[0]?.isNumbered || isHeld || rows.some(isWaiting);
    assert.ok(isKnown, 'the words of --redo are refused');
    assert.equal(gateway.payments.length, first, 'paid, and refused');
    // The user said nothing.
    Object.assign(oracle, { extra });
    folder.lastRedo = lastRedo;
    for (const payment of gateway.payments) payment.isRetired = retired.has(payment);
    return end;
  }
  checkPaid({ rows, policy, first, run }, folder, oracle);
  if (end === 'asked') checkAsked(rows, first, oracle);
  keepFates(folder, gateway);
  await endRedo(end, rows, folder, oracle);
  if (isUndisturbed && (end === 'done' || end === 'open')) await checkRedone(rows, folder, oracle);
  if (end !== 'asked') await checkKept({ rows, run, policy, had }, folder, oracle);
  const manifest = files.read('jobs.jsonl').toString();
  const isTaken = end !== 'asked' && (end !== undefined || manifest !== folder.manifest);
  if (isTaken) {
    folder.accepted = listAccepted(rows, { policy, run }, folder, oracle);
    folder.before = new Map(rows.map(({ id, base }) => [id, base]));
    folder.rows = rows;
  }
  folder.manifest = manifest;
  return end;
}

/** Throws what no run should end with. */
function judgeEnd({ left, error, isRefused, isWhole }: EngineEnd, { redo }: RunPolicy): RunEnd | undefined {
  if (left) return undefined;
  // A number that is another row by now, a row of another shard, or one that waits for others.
  if (isRefused && redo !== undefined && error?.class === 'usage') return 'refused';
  if (isRefused && error?.class === 'batch-edited') return 'asked';
  if (error && (isRefused || !expectedEnds.has(error.class))) throw error;
  return isWhole ? 'done' : 'open';
}

/** Rows failed or were left; the service does not list a batch, or it is one of another address. */
const expectedEnds = new Set<string>(['batch-failed', 'no-reply', 'batch-locked']);

/** The user's words allow to pay again for what these flags send. */
function retirePaid(policy: RunPolicy, { files }: Folder, { payments }: CountingGateway): void {
  for (const payment of payments) {
    if (payment.isRetired || payment.folder !== files) continue;
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

/** Notes what `--redo` names. Returns whether it names other rows than the last one, or that is finished. */
async function enterRedo(
  ids: readonly string[],
  rows: readonly TableRow[],
  folder: Folder,
  oracle: Oracle,
): Promise<boolean> {
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
    return false;
  }
  const shown = await mapShown(folder, oracle);
  // What the service holds is being made: such a row is not sent again, and the same words may mean it once more.
  const isHeld = redone.some(({ base }) =>
    payments.some((one) => one.fate === 'held' && one.asked.startsWith(askWith(base, []))),
  );
  const left = redone.map(({ id, base }) => ({ id, base, text: shown.get(id) }));
  folder.lastRedo = { named, isFinished: isHeld, rows: left, shown: new Set(shown.values()) };
  const wanted = countEach(rows.map(({ base }) => base));
  for (const row of redone) {
    // Who makes a row again that may have been billed gives that up, as with `--retry unknown`. Of equal rows, another one can have it.
    const own = payments.filter((one) => one.folder === folder.files && isWantedBy(row, one, rows, oracle));
    const lost = own.find(({ fate, isRetired }) => fate === 'lost' && !isRetired);
    if (lost && wanted.get(row.base) === 1) lost.isRetired = true;
    else extra.set(row.base, (extra.get(row.base) ?? 0) + 1);
  }
  return true;
}

/** The report of folders. The same files are read once. */
async function readReport(folders: readonly WatchedFolder[], oracle: Oracle): Promise<readonly ReportedRow[]> {
  const of = JSON.stringify(folders.map(({ path }) => path)) + folders.map((files) => files.readAll()).join('\0');
  if (oracle.lastReport.of !== of) oracle.lastReport = { of, rows: await report(folders) };
  return oracle.lastReport.rows;
}

/** The answers that rows show in a folder, by their ids: undefined for a row without one. */
async function mapShown({ files }: Folder, oracle: Oracle): Promise<Map<string, string | undefined>> {
  const { gateway } = oracle;
  const all = hasBatch(files) ? await readReport([files], oracle) : [];
  const isGoodText = (text: string): boolean => gateway.payments.find((one) => one.text === text)?.how !== 'broken';
  return new Map(all.map(({ id, text }) => [id, text !== undefined && isGoodText(text) ? text : undefined]));
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
  for (const payment of paid) {
    const row = rows.find((one) => isWantedBy(one, payment, rows, oracle));
    if (row === undefined) throw new Error(`paid for what no row asks: ${payment.asked}`);
    const alive = gateway.payments.filter((one) => one.asked === payment.asked && !one.isRetired).length;
    const most = (mostWanted.get(row.base) ?? 0) + (extra.get(row.base) ?? 0);
    assert.ok(alive <= most, `paid twice: ${payment.asked}`);
  }
  if (policy.limit !== undefined) assert.ok(paid.length <= policy.limit, 'more than the limit');
  if (!policy.acceptChanges && !policy.redo) checkEdits({ rows, paid, run }, folder, oracle);
  if (policy.onlyNamed && !policy.acceptChanges) checkNamed({ rows, paid, policy, run }, folder, oracle);
}

/** `batch redo` and `batch retry` pay for no row that nobody named: it was never asked before. */
function checkNamed(
  { rows, paid, policy, run }: { rows: readonly TableRow[]; paid: readonly Payment[]; policy: RunPolicy; run: number },
  { before }: Folder,
  oracle: Oracle,
): void {
  const { retry = [], redo = [] } = policy;
  // What may have been billed was perhaps never there.
  if (retry.includes('unknown')) return;
  const isMended = ({ id, base }: TableRow): boolean =>
    retry.includes('failed') && before.has(id) && before.get(id) !== base;
  const { mostWanted, gateway } = oracle;
  const { askedBy, payments } = gateway;
  // A row that uses what is made again asks something new in place of what was cut, or failed.
  const wasCut = ({ base }: TableRow): boolean =>
    retry.includes('incomplete') &&
    payments.some((one) => one.run < run && one.how === 'cut' && one.asked.startsWith(askWith(base, [])));
  // Of rows that are equal, or once were, one can have failed, and another one have an answer.
  const hasFailed = ({ base }: TableRow): boolean =>
    retry.includes('failed') &&
    [...askedBy].some(
      ([asked, at]) =>
        at < run && asked.startsWith(askWith(base, [])) && (!isAnswered(asked) || (mostWanted.get(base) ?? 0) > 1),
    );
  // What hung, and was given up by the user's word, is no answer.
  const isAnswered = (asked: string): boolean =>
    payments.some((one) => one.asked === asked && one.how !== 'broken' && !(one.fate === 'lost' && one.isRetired));
  for (const payment of paid) {
    const wanting = rows.filter((row) => isWantedBy(row, payment, rows, oracle));
    const isNamed = wanting.some((row) => redo.includes(row.id) || isMended(row) || wasCut(row) || hasFailed(row));
    const isOld = retry.length > 0 && (askedBy.get(payment.asked) ?? run) < run;
    assert.ok(isNamed || isOld, `sent what nobody named: ${payment.asked}`);
  }
}

/** Finds what one row asked, has an answer, and is asked by no row now. */
function openLost(
  { rows, run }: { rows: readonly TableRow[]; run: number },
  { accepted, files }: Folder,
  { gateway }: Oracle,
): (base: string) => boolean {
  const wasWanted = countEach(accepted.values());
  const isWanted = new Set(rows.map(({ base }) => base));
  const hasAnswer = (base: string): boolean =>
    gateway.payments.some(
      (one) =>
        one.run < run &&
        one.folder === files &&
        one.asked === askWith(base, []) &&
        (one.fate === 'recorded' ? one.how !== 'broken' : !one.isRetired),
    );
  return (base) => hasAnswer(base) && !isWanted.has(base) && wasWanted.get(base) === 1;
}

/** A run that sends only what was named takes no edit of another row. Numbers do not tell which row was edited. */
function listAccepted(
  rows: readonly TableRow[],
  { policy, run }: { policy: RunPolicy; run: number },
  folder: Folder,
  oracle: Oracle,
): Map<string, string> {
  const isLost = openLost({ rows, run }, folder, oracle);
  const isLeft = ({ id, isNumbered }: TableRow): boolean =>
    policy.onlyNamed === true && !policy.acceptChanges && !isNumbered && !policy.redo?.includes(id);
  return new Map(
    rows.map((row) => {
      const was = folder.accepted.get(row.id);
      return [row.id, was !== undefined && isLeft(row) && isLost(was) ? was : row.base];
    }),
  );
}

/** A row whose earlier version has an answer is not paid for without a word. */
function checkEdits(
  { rows, paid, run }: { rows: readonly TableRow[]; paid: readonly Payment[]; run: number },
  folder: Folder,
  oracle: Oracle,
): void {
  const { payments } = oracle.gateway;
  const { accepted } = folder;
  const [was, now] = [[...accepted.values()], rows.map(({ base }) => base)];
  const isWanted = new Set(now);
  const isLost = openLost({ rows, run }, folder, oracle);
  for (const payment of paid) {
    const wanting = rows.filter((row) => row.parents.length === 0 && isWantedBy(row, payment, rows, oracle));
    const isNew = !payments.some((one) => one.run < run && one.asked === payment.asked);
    if (wanting.length === 0 || !isNew) continue;
    if (rows[0]?.isNumbered) {
      const ids = [...accepted.keys()];
      const isInPlace =
        was.length === now.length &&
        rows.every(({ id }, at) => id === ids[at]) &&
        now.every((base, at) => base === was[at] || (!was.includes(base) && !isWanted.has(was[at] as string)));
      const isOfLost = now.some((base, at) => askWith(base, []) === payment.asked && isLost(was[at] as string));
      assert.ok(!(isInPlace && isOfLost), 'a numbered row was replaced, and paid for without a word');
      continue;
    }
    const isEdited = ({ id, base }: TableRow): boolean =>
      accepted.has(id) && accepted.get(id) !== base && isLost(accepted.get(id) as string);
    assert.ok(!wanting.every(isEdited), 'an edited row was paid for without a word');
  }
}

/** Nobody is asked where nothing is to be paid: rows that moved, got other ids, left, or whose unused columns were edited. */
function checkAsked(rows: readonly TableRow[], first: number, { gateway, extra }: Oracle): void {
  assert.equal(gateway.payments.length, first, 'paid, and asked');
  const isMissing = ([base, count]: [string, number]): boolean => {
    const good = gateway.payments.filter((one) => one.asked === askWith(base, []) && isGood(one) && !one.isRetired);
    return good.length - (extra.get(base) ?? 0) < count;
  };
  assert.ok([...countEach(rows.map(({ base }) => base))].some(isMissing), 'asked for nothing');
}

/** What is on the disk stays there; what is not may have been billed. */
function keepFates({ files }: Folder, { payments, batches }: CountingGateway): void {
  const results = findResults(files);
  for (const payment of payments) {
    if (payment.folder !== files) continue;
    const end = results.get(payment.text);
    // A kill can leave a line that only a power cut after it takes.
    if (payment.isSafe) assert.ok(end !== undefined, 'a recorded answer went away');
    if (end !== undefined) payment.isSafe = end <= files.syncedResults;
    const isHeld = batches.some((batch) => batch.payments.includes(payment));
    payment.fate = end !== undefined ? 'recorded' : isHeld && payment.how !== 'silent' ? 'held' : 'lost';
  }
}

/** Each row that was named has an answer that it had not, whether it was paid for or was free; or it left, or asks something else. */
async function endRedo(
  end: RunEnd | undefined,
  rows: readonly TableRow[],
  folder: Folder,
  oracle: Oracle,
): Promise<void> {
  const { lastRedo, files } = folder;
  const { gateway, folders } = oracle;
  // Who is killed after its very last record has come to its end.
  const hasEnded = end !== undefined || files.read('journal.jsonl').toString().trimEnd().endsWith('{"t":"end"}');
  if (!hasEnded || end === 'asked' || !lastRedo || lastRedo.isFinished) return;
  const shown = await mapShown(folder, oracle);
  const isHere = (base: string): boolean =>
    folders.length === 1 ||
    gateway.payments.some((one) => one.folder === files && one.asked.startsWith(askWith(base, [])));
  const isMade = ({ id, base, text }: Redo['rows'][number]): boolean =>
    !rows.some((row) => row.id === id && row.base === base) || (shown.get(id) !== undefined && shown.get(id) !== text);
  if (lastRedo.rows.filter(({ base }) => isHere(base)).every(isMade)) lastRedo.isFinished = true;
}

/** A row that `--redo` names anew is made at once, if nothing disturbs that, whatever the last `--redo` has left. */
async function checkRedone(rows: readonly TableRow[], folder: Folder, oracle: Oracle): Promise<void> {
  const { lastRedo } = folder;
  // Other shards have their own rows.
  if (oracle.folders.length > 1 || lastRedo === undefined) return;
  // A row that the service holds, or may hold, is not sent; and meanwhile the same words go on with the others.
  if (folder.hadBatches) return;
  const wanted = countEach(rows.map(({ base }) => base));
  const shown = await mapShown(folder, oracle);
  for (const { id, base } of lastRedo.rows) {
    const row = rows.find((one) => one.id === id);
    // Equal rows can change their answers, and a row that uses others may wait.
    if (row === undefined || row.parents.length > 0 || wanted.get(base) !== 1) continue;
    assert.ok(!lastRedo.shown.has(shown.get(id)), `a row that was named is not made again: ${id}`);
  }
}

interface Checking {
  /** All has ended, and all of it is to be seen. */
  isFinal: boolean;
  wasKilled: boolean;
  isNumbered: boolean;
}

/** Whether the last run read the same rows. */
function isOfTable(rows: readonly TableRow[], { before }: Folder): boolean {
  return (
    [...before.keys()].join() === rows.map(({ id }) => id).join() &&
    rows.every(({ id, base }) => before.get(id) === base)
  );
}

/** The report is the table: its rows, in its order, each with an answer to what it asks; and no answer is there twice. */
async function checkReport(rows: readonly TableRow[], checking: Checking, oracle: Oracle): Promise<void> {
  const { folders, gateway, shownBefore } = oracle;
  if (!folders.every(({ files }) => hasBatch(files))) return;
  const shown = await readReport(
    folders.map(({ files }) => files),
    oracle,
  );
  const texts = shown.flatMap(({ text }) => text ?? []);
  assert.equal(new Set(texts).size, texts.length, 'one answer in two rows');
  if (!folders.every((folder) => isOfTable(rows, folder))) return shownBefore.clear();
  if (!checking.isNumbered && folders.length === 1) checkGoingBack(rows, shown, oracle);
  assert.deepEqual(
    shown.map(({ id }) => id),
    rows.map(({ id }) => id),
  );
  const askedFor = ({ text }: ReportedRow): string | undefined =>
    gateway.payments.find((one) => one.text === text)?.asked;
  for (const [at, one] of shown.entries())
    if (one.text !== undefined)
      assert.ok(askedFor(one)?.startsWith(askWith(rows[at]?.base ?? '', [])), 'an answer to something else');
  // After a kill, of equal rows one may wait while the answer of another is free: the next run sees to that.
  if (!checking.wasKilled) checkShown(rows, shown, oracle);
  if (!checking.isFinal) return;
  assert.deepEqual(
    shown.map(({ vars }) => vars),
    rows.map(({ vars }) => vars),
  );
  const byId = new Map(shown.map((one) => [one.id, one]));
  for (const [at, one] of shown.entries()) {
    assert.equal(one.state, 'done', one.id);
    assert.ok(one.text !== undefined, `${one.id} is done, and its answer is not there`);
    for (const parent of rows[at]?.parents ?? [])
      assert.ok(askedFor(one)?.endsWith(byId.get(parent)?.text ?? ''), 'made of an older answer');
  }
}

/** A row that asks the same shows the same answer, or one that was paid later. Equal rows that come back may have each other's. */
function checkGoingBack(
  rows: readonly TableRow[],
  shown: readonly ReportedRow[],
  { gateway: { payments }, shownBefore }: Oracle,
): void {
  const numberOf = (text: string): number => payments.findIndex((one) => one.text === text);
  for (const id of shownBefore.keys()) if (!shown.some((one) => one.id === id)) shownBefore.delete(id);
  for (const [at, { id, text }] of shown.entries()) {
    const row = rows[at] as TableRow;
    const had = shownBefore.get(id);
    if (had?.base === row.base && row.parents.length === 0)
      assert.ok(text !== undefined && numberOf(text) >= numberOf(had.text), `the answer of ${id} went back`);
    const payment = text === undefined ? undefined : payments[numberOf(text)];
    if (payment && payment.how !== 'broken' && payment.isSafe)
      shownBefore.set(id, { base: row.base, text: payment.text });
    // A kill can leave a line that only a power cut takes: the one before it is shown again then.
    else if (had?.base !== row.base || payment?.isSafe !== false) shownBefore.delete(id);
  }
}

/** A row that uses others shows its answer, whatever becomes of these and of the run, until it is asked for another, or edited. */
async function checkKept(
  {
    rows,
    run,
    policy,
    had,
  }: { rows: readonly TableRow[]; run: number; policy: RunPolicy; had: ReadonlyMap<string, string | undefined> },
  folder: Folder,
  oracle: Oracle,
): Promise<void> {
  const { payments, askedLast } = oracle.gateway;
  const shown = await mapShown(folder, oracle);
  const told = hasBatch(folder.files) ? await readReport([folder.files], oracle) : [];
  const wanted = countEach(rows.map(({ base }) => base));
  for (const row of rows) {
    const { id, base } = row;
    const paid = payments.find(({ text, how, fate }) => text === had.get(id) && how === 'ok' && fate === 'recorded');
    if (row.parents.length === 0 || wanted.get(base) !== 1 || !paid || !isWantedBy(row, paid, rows, oracle, true))
      continue;
    const wasAsked = [...askedLast].some(([asked, at]) => at === run && asked.startsWith(askWith(base, [])));
    // The service can have answered what an earlier run asked; and what is accepted can have failed before.
    const canFail = folder.hadBatches || policy.acceptChanges === true;
    const isAsked = wasAsked || (canFail && told.find((one) => one.id === id)?.state === 'failed');
    assert.ok(isAsked || shown.get(id) !== undefined, `a row lost its answer, and nobody said so: ${id}`);
  }
}

/** No row is bare whose answer was made of the answers that the rows that it uses show. */
async function checkLinked(rows: readonly TableRow[], oracle: Oracle): Promise<void> {
  const [folder] = oracle.folders as [Folder];
  if (!isOfTable(rows, folder)) return;
  const shown = await mapShown(folder, oracle);
  const wanted = countEach(rows.map(({ base }) => base));
  for (const { id, base, parents } of rows) {
    // Of equal rows, another one can have it.
    if (parents.length === 0 || wanted.get(base) !== 1) continue;
    const texts = parents.map((parent) => shown.get(parent));
    const asked = askWith(base, texts as string[]);
    const isPaid = oracle.gateway.payments.some((one) => one.asked === asked && isGood(one) && !one.isRetired);
    assert.ok(!isPaid || shown.get(id) !== undefined, `an answer that was paid for is not shown: ${asked}`);
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
      ({ text }, at) => rows[at]?.base === base && rows[at]?.parents.length === 0 && isGoodText(text),
    );
    assert.ok(
      seen.length >= Math.min(count, good.length - replaced),
      `an answer that was paid for is not shown: ${base}`,
    );
  }
}
