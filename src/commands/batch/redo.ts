import { type Batch, findIdNumber, findRedoLeft, type Job } from '../../batch/index.ts';
import { closest } from '../../closest.ts';
import { type GatewayError, usageError } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';
import type { BatchFlags } from './flags.ts';
import { rowId } from './jobs/data-rows.ts';
import { takesRows } from './jobs/source.ts';

interface RedoneBatch extends Pick<Batch, 'jobs' | 'state'> {
  /** The run before was killed. */
  isTakenOver: boolean;
}

/** Whether some that were to be made again may not be. Who killed a run cannot know that it had made the last of them. */
function isRedoOpen({ state, isTakenOver }: RedoneBatch): boolean {
  const { index, redo, run } = state;
  if (isTakenOver && run?.redo !== undefined) return true;
  return [...(redo?.ends ?? [])].some(([id, end]) => end !== 'done' && !index.has(index.find(id), 'removed'));
}

/** Finds the jobs of `--redo`. */
export function openRedo(named: readonly string[], flags: BatchFlags, batch: RedoneBatch) {
  const key = named.join(',');
  const words = takesRows(flags) && flags.idColumn === undefined ? readRowNumbers(named) : named;
  const wanted = new Set(words.flatMap(idsIn));
  const goesOn = batch.state.redo?.named === key && isRedoOpen(batch);
  /** Those of them that the file has. */
  const found = new Set<string>();
  return {
    named: key,
    /** The same words as before, while some of those jobs are not made again: it makes only these. */
    goesOn,
    /** The jobs are read again: their ids can be others. */
    forget: () => found.clear(),
    /**
     * Whether it names a job: by its id, or by that of the line which makes several jobs of its `count`. One that its folder knows
     * by no number has that of its row too.
     */
    names({ id, lineId, fileId }: Job): boolean {
      const names = [id, lineId, findIdNumber(id) === undefined ? fileId : undefined].filter(
        (name) => name !== undefined && wanted.has(name),
      ) as string[];
      for (const name of names) found.add(name);
      return names.length > 0;
    },
    /** Throws GatewayError usage if it names a job that the file does not have. */
    requireAll(): void {
      const ids = words.flatMap((word) => (found.has(word) ? [word] : word.split(',')));
      const unknown = ids.find((id) => !found.has(id));
      if (unknown !== undefined) throw unknownJob(unknown, batch, goesOn);
    },
  };
}

/** Rows that have no column for their ids can be named by their number. */
function readRowNumbers(named: readonly string[]): string[] {
  return named.flatMap((word) => word.split(',')).map(readRowNumber);
}

/** `7` is row 7, `7-2` the second job of its `count`; any other word is an id. */
function readRowNumber(word: string): string {
  return word.replace(/^(\d{1,9})(-\d+)?(?=\+|$)/, (_, number: string, copy = '') => `${rowId(Number(number))}${copy}`);
}

/** The ids that a value of `--redo` can mean: all of it, as an id can hold a comma, or its parts. */
function idsIn(word: string): string[] {
  return [word, ...word.split(',')];
}

function unknownJob(id: string, { state, jobs }: Pick<Batch, 'jobs' | 'state'>, goesOn: boolean): GatewayError {
  const { index } = state;
  const isInFile = (one: string): boolean => index.has(index.find(one), 'inFile');
  const ids = [...index.ids()].filter(isInFile).slice(0, 1000);
  const left = (goesOn && findRedoLeft(state)?.open.filter(isInFile)) || [];
  const near = closest(id, ids);
  const hint =
    left.length > 0 && left.length <= 50
      ? `to make what is left: --redo ${shellWord(left.join(','))}`
      : near === undefined
        ? `name the ids of jobs, such as --redo ${shellWord(ids.slice(0, 2).join(','))}`
        : `did you mean: --redo ${shellWord(near)}`;
  return usageError(`--redo: ${jobs.name} has no job ${JSON.stringify(id)}`, hint);
}
