import type { Command } from 'commander';
import {
  batchFiles,
  type BatchState,
  chooseAnswers,
  formatCount,
  isLeftToRedo,
  nameSome,
} from '../../../batch/index.ts';
import type { Action, AnswerContext, CommandEnd } from '../../context.ts';
import { setExamples } from '../../flags/flag.ts';
import { type GatewayError, shellWord, usageError } from '../../../library/index.ts';
import { createHost } from './host.ts';
import { countFolder, readOneFolder } from './folders.ts';
import { renewGallery } from './gallery.ts';
import { readBatchHeader, toTypedFolder } from './kept-command.ts';
import {
  chooseCommand,
  collectCommand,
  exportCommand,
  nextCommand,
  toOperands,
  type TypedFolder,
} from './next-command.ts';
import { openOutdir } from './outdir.ts';
import { type FoundRow, listManifestRows, noRowError, readIds, readRowNames, type RowNames } from './row-names.ts';
import { renewSummary } from './status.ts';
import { readSummary } from './summary.ts';

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
  const { lock, state, ...ends } = await openOutdir(folder, { host, context });
  const names = await readRowNames(
    choices.map(({ word }) => word),
    listManifestRows(folder),
  );
  const rows = await findRows(choices, names, { folder, outdir });
  const chosen = choices.map((choice, at) => findChosen(choice, rows[at] as FoundRow, { typed, state }));
  const changed = chosen.filter(({ isSame }) => !isSame);
  const last = await readSummary(folder, countFolder({ state }));
  if (changed.length > 0) {
    await chooseAnswers(folder, changed, { ...ends, state, lock });
    if (Object.keys(last).length > 0) await renewSummary(await readOneFolder(outdir, context), last, lock);
    await renewGallery(outdir, context);
  }
  const now = await readOneFolder(outdir, context);
  const remade = new Set([...now.notes.outdated].filter((slot) => now.state.slots.answersOf(slot) > 0));
  const outdated = [...(await readIds(remade, now)).values()];
  const document = {
    schema: 'gateway-cli/batch-choose@1',
    chosen: chosen.map(({ id, answer, answers }) => ({ id, answer, answers })),
    outdated,
  };
  if (context.root.json) return { document };
  await context.io.stdout.write(chosen.map((row) => `${describeChosen(row)}\n`).join(''));
  const [use, them] = outdated.length === 1 ? ['uses', 'it'] : ['use', 'them'];
  const next =
    outdated.length > 0
      ? `${formatCount(outdated.length, 'job')} ${use} another answer: ${nameSome(outdated)}; to make ${them} again: ${nextCommand(typed, 'again', { flags: '--accept-changes' })}`
      : `the reports have it: ${exportCommand([outdir])}`;
  await context.ui.note(next);
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
  names: RowNames,
  { folder, outdir }: { folder: string; outdir: string },
): Promise<FoundRow[]> {
  const found = choices.map(({ word, answer }) => ({ word, answer, rows: names.find(word) }));
  const unknown = found.find(({ rows }) => rows.length === 0);
  if (unknown) {
    throw await noRowError(unknown.word, outdir, listManifestRows(folder), (ids) =>
      ids.map((id) => `${id}=${unknown.answer}`),
    );
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
      `to collect it: ${collectCommand(typed)}`,
    );
  if (answers === 0)
    throw usageError(
      `row ${name} has no answer${manifest.earlier?.has(slot) ? ' to what it asks now' : ''}`,
      `to see what sends it: gateway-cli batch status ${shellWord(typed.outdir)}`,
    );
  if (answer > answers)
    throw usageError(
      `row ${name} has ${formatCount(answers, 'answer')}`,
      answers > 1
        ? `the last one: ${chooseCommand(typed.outdir, [`${word}=${answers}`])}`
        : `to get another one${slots.stateOf(slot) === 'sent' ? ', which may be billed twice' : ''}: ${nextCommand(typed, 'redo', { operand: word })}`,
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
