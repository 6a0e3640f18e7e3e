import type { Batch, Job } from '../../batch/index.ts';
import { closest } from '../../closest.ts';
import { type GatewayError, usageError } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';
import type { BatchFlags } from './flags.ts';
import { rowId } from './jobs/data-rows.ts';
import { takesRows } from './jobs/source.ts';

/** Finds the jobs of `--redo`. */
export function openRedo(named: readonly string[], flags: BatchFlags, { jobs }: Pick<Batch, 'jobs'>) {
  const words = takesRows(flags) && flags.idColumn === undefined ? readRowNumbers(named) : named;
  const wanted = new Set(words.flatMap(idsIn));
  /** Those of them that the file has. */
  const found = new Set<string>();
  return {
    /** Whether it names a job: by its id, or by that of the line which makes several jobs of its `count`. */
    names({ id, lineId }: Job): boolean {
      const names = [id, lineId].filter((name) => name !== undefined && wanted.has(name)) as string[];
      for (const name of names) found.add(name);
      return names.length > 0;
    },
    /** Throws GatewayError usage if it names a job that the file does not have. */
    async requireAll(): Promise<void> {
      const ids = words.flatMap((word) => (found.has(word) ? [word] : word.split(',')));
      const unknown = ids.find((id) => !found.has(id));
      if (unknown !== undefined) throw await unknownJob(unknown, jobs);
    },
  };
}

/** Rows that have no column for their ids can be named by their number. */
function readRowNumbers(named: readonly string[]): string[] {
  return named.flatMap((word) => word.split(',')).map(readRowNumber);
}

/** `7` is row 7, `7-2` the second job of its `count`; any other word is an id. */
export function readRowNumber(word: string): string {
  return word.replace(/^(\d{1,9})(-\d+)?(?=\+|$)/, (_, number: string, copy = '') => `${rowId(Number(number))}${copy}`);
}

/** The ids that a value of `--redo` can mean: all of it, as an id can hold a comma, or its parts. */
function idsIn(word: string): string[] {
  return [word, ...word.split(',')];
}

/** So many ids are compared with what was typed. */
const maxCompared = 1000;

async function unknownJob(id: string, jobs: Batch['jobs']): Promise<GatewayError> {
  const ids: string[] = [];
  for await (const job of jobs.read(() => undefined)) if (ids.push(job.id) === maxCompared) break;
  const near = closest(id, ids);
  const hint =
    near === undefined
      ? `name the ids of jobs, such as ${shellWord(ids.slice(0, 2).join(','))}`
      : `did you mean: ${shellWord(near)}`;
  return usageError(`${jobs.name} has no job ${JSON.stringify(id)}`, hint);
}
