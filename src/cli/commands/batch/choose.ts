import type { Command } from 'commander';
import {
  batchFiles,
  type BatchState,
  chooseAnswers,
  closeUnsent,
  enterOutdir,
  findOutdated,
  formatCount,
  isLeftToRedo,
  listIds,
  nameSome,
} from '../../../batch/index.ts';
import type { Action, AnswerContext, CommandEnd, Context } from '../../context.ts';
import { setExamples } from '../../flags/flag.ts';
import { GatewayError, shellWord, usageError } from '../../../library/index.ts';
import { planJobFile } from './batch.ts';
import { createHost } from './host.ts';
import { renewGallery } from './gallery.ts';
import { openJobs, requireJobs } from './jobs/source.ts';
import { type KnownFolder, toTypedFolder, readBatchHeader, recallCommand, recallTable } from './kept-command.ts';
import { chooseCommand, nextCommand, toOperands, type TypedFolder } from './next-command.ts';
import { readOutdir } from './outdir.ts';
import { listJobRows, takeTableHint } from './redo.ts';
import { type FoundRow, listManifestRows, noRowError, openRowNames, requireSameRows } from './row-names.ts';

/** `batch choose <outdir> <row=answer…>`: makes an earlier answer count again. Nothing is paid for that. */
export function batchChooseCommand(command: Command): Action {
  command
    .argument('<outdir>', 'folder of a batch')
    .argument('<row=answer...>', 'a row, by its number or id, and which of its answers counts: 3=1')
    .usage('<outdir> <row=answer…> [flags]');
  setExamples(command, [
    'gateway-cli batch choose out 3=1       # the first answer of row 3 counts again; nothing is paid',
    'gateway-cli batch choose out 3=1 9=2',
  ]);
  return (context, [outdir = '', ...words]) => runChoose(outdir, words, context);
}

/** A row as it was typed, and the number of the answer that is to count. */
interface Choice {
  word: string;
  answer: number;
}

interface ChosenRow extends Choice {
  id: string;
  slot: number;
  /** The number of answers of the row, and the number of the one that counted. */
  answers: number;
  before: number;
  /** The chosen answer counts already, and is not to be made again. */
  isSame: boolean;
  /** The service makes another answer, which will count. */
  isAtService: boolean;
}

async function runChoose(outdir: string, words: readonly string[], context: AnswerContext): Promise<CommandEnd> {
  const choices = words.map(readChoice);
  const { folder, header } = await readBatchHeader(outdir, context.io);
  const typed = toTypedFolder(outdir, header.command?.flags);
  const host = createHost(context, typed);
  const lock = await enterOutdir(folder, host);
  const { state, ...ends } = await readOutdir(folder, lock, { host, context });
  const rows = await findRows(choices, { folder, outdir });
  await requireKnownNumbers(choices, rows, { folder, typed, header }, context);
  const chosen = choices.map((choice, at) => findChosen(choice, rows[at] as FoundRow, { typed, state }));
  const changed = chosen.filter(({ isSame }) => !isSame);
  if (changed.length > 0) {
    await chooseAnswers(folder, changed, { ...ends, state, lock });
    await renewGallery(outdir, context);
  }
  const stale = header.linked ? await listStale(outdir, context) : [];
  const document = {
    schema: 'gateway-cli/batch-choose@1',
    chosen: chosen.map(({ id, answer, answers }) => ({ id, answer, answers })),
    stale,
  };
  if (context.root.json) return { document };
  await context.io.stdout.write(chosen.map((row) => `${describeChosen(row)}\n`).join(''));
  const use = stale.length === 1 ? 'uses' : 'use';
  const next =
    stale.length > 0
      ? `${formatCount(stale.length, 'job')} ${use} another answer: ${nameSome(stale)}; to make those again: ${nextCommand(typed, 'again', '--accept-changes')}`
      : `the reports have it: gateway-cli batch export ${shellWord(outdir)}`;
  await context.ui.note(next);
  // Some rows were asked before with the answer that counts now.
  const free = header.linked ? Math.max(0, findOutdated(state).size - stale.length) : 0;
  if (free > 0)
    await context.ui.note(
      `${formatCount(free, 'job')} ${free === 1 ? 'has' : 'have'} an earlier answer that fits, which is free: ${nextCommand(typed, 'again')}`,
    );
  return { document };
}

/** Reads `3=1`; an id can have the sign `=` itself. Throws GatewayError usage. */
function readChoice(text: string): Choice {
  const [, word, answer] = /^(.+)=([1-9]\d{0,8})$/s.exec(text) ?? [];
  if (word !== undefined) return { word, answer: Number(answer) };
  throw usageError(
    `batch choose takes <row>=<answer>, not ${JSON.stringify(text)}`,
    'for example: gateway-cli batch choose out 3=1',
  );
}

/** The row of each choice. Throws GatewayError usage if a word names no row, or several. */
async function findRows(
  choices: readonly Choice[],
  { folder, outdir }: { folder: string; outdir: string },
): Promise<FoundRow[]> {
  const names = openRowNames(choices.map(({ word }) => word));
  let place = 0;
  for await (const row of listManifestRows(folder)) names.see(row, place++);
  const found = choices.map(({ word, answer }) => ({ word, answer, rows: names.find(word) }));
  const unknown = found.find(({ rows }) => rows.length === 0);
  if (unknown) {
    throw await noRowError(unknown.word, outdir, listManifestRows(folder), (ids) => ({
      words: ids.map((id) => `${id}=${unknown.answer}`),
      count: ids.length,
    }));
  }
  return found.map(({ word, answer, rows: [row, ...others] }) => {
    if (others.length === 0) return row as FoundRow;
    throw severalRowsError({ word, answer }, [row as FoundRow, ...others], outdir);
  });
}

/** The error for a word that names several rows. Lines of a stream can have the same id: then their slots tell them apart. */
function severalRowsError({ word, answer }: Choice, rows: readonly FoundRow[], outdir: string): GatewayError {
  const ids = rows.map(({ id }) => id);
  const haveSameId = new Set(ids).size < ids.length;
  const names = haveSameId ? rows.map(({ id, slot }) => `${id} (slot ${slot})`) : ids;
  const name = haveSameId ? rows[0]?.slot : ids[0];
  return usageError(
    `row ${word} is ${formatCount(ids.length, 'job')}: ${nameSome(names)}`,
    `name one of them${haveSameId ? ` by its slot, which ${batchFiles.results} has, too` : ''}: ${chooseCommand(outdir, [`${name}=${answer}`])}`,
  );
}

/** Throws GatewayError usage for a number that is another row in the file now: the answers are those of the last run. */
async function requireKnownNumbers(
  choices: readonly Choice[],
  rows: readonly FoundRow[],
  known: KnownFolder,
  context: Context,
): Promise<void> {
  const byNumber = choices.filter((_, at) => rows[at]?.isByNumber);
  // Without a file, there is no other row.
  const table = byNumber.length > 0 ? await recallTable(known, context) : undefined;
  if (table === undefined) return;
  const source = await openJobs(requireJobs(table.words, table.flags), table.flags, context);
  const byIds = choices.map(({ answer }, at) => `${rows[at]?.id}=${answer}`);
  await requireSameRows(
    byNumber.map(({ word }) => word),
    { before: () => listManifestRows(known.folder), now: () => listJobRows(source), table: source.name },
    ({ isNumbered }) =>
      isNumbered
        ? takeTableHint(nextCommand(known.typed, 'again'))
        : `name it by its id: ${chooseCommand(known.typed.outdir, byIds)}`,
  );
}

/** The row with its chosen answer. Throws GatewayError usage for an answer that the row does not have. */
function findChosen(
  { word, answer }: Choice,
  { id, place }: FoundRow,
  { typed, state }: { typed: TypedFolder; state: BatchState },
): ChosenRow {
  const { manifest, slots } = state;
  const slot = manifest.rows.slots[place] as number;
  const answers = slots.answersOf(slot);
  const name = word === id ? word : `${word} (${id})`;
  const [other, total] = [manifest.rows.others[place] as number, manifest.header?.shard?.total];
  if (other > 0 && answers === 0)
    throw usageError(
      `row ${name} is of shard ${other}/${total}, and ${typed.outdir} of shard ${manifest.header?.shard?.index}/${total}`,
      `name the folder of that shard: gateway-cli batch choose <outdir> ${toOperands([`${word}=${answer}`])}`,
    );
  if (answer > answers && state.atService.has(slot))
    throw usageError(
      `row ${name} has ${answers === 0 ? 'no answer yet' : formatCount(answers, 'answer')}: the service makes ${answers === 0 ? 'it' : 'another one'}`,
      `to collect it: ${nextCommand(typed, 'again', '--lane batch')}`,
    );
  if (answer > answers)
    throw usageError(
      `row ${name} has ${answers === 0 ? 'no answer' : formatCount(answers, 'answer')}`,
      answers > 1
        ? `the last one: ${chooseCommand(typed.outdir, [`${word}=${answers}`])}`
        : `to get ${answers === 0 ? 'one' : 'another one'}: ${nextCommand(typed, 'redo', shellWord(word))}`,
    );
  const before = slots.countingOf(slot);
  const isSame = before === answer && !isLeftToRedo(slot, state);
  return { word, answer, id, slot, answers, before, isSame, isAtService: state.atService.has(slot) };
}

function describeChosen({ id, answer, answers, before, isSame, isAtService }: ChosenRow): string {
  const what = `${id}: answer ${answer} of ${answers}`;
  if (isAtService) return `${what} counts until the one that the service makes comes`;
  if (isSame) return `${what} counts already`;
  return before === answer
    ? `${what} counts, and the row is not made again`
    : `${what} counts now, in place of answer ${before}`;
}

/** The ids of rows whose answers were made of another answer than the one that counts. */
async function listStale(outdir: string, context: AnswerContext): Promise<string[]> {
  try {
    const { words, flags, root } = await recallCommand(outdir, { words: [], flags: {} }, context);
    const trial = { ...flags, output: outdir, dryRun: true, acceptChanges: true } as const;
    const { planned, checking } = await planJobFile(words, trial, { ...context, root });
    checking.stop();
    await closeUnsent(planned.plan);
    const stale = planned.plan.edited.filter(({ isStale }) => isStale);
    return await listIds(
      stale.map(({ place }) => place),
      planned.jobs,
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    await context.ui.warn(`which rows use another answer is not known: ${error.message}`);
    return [];
  }
}
