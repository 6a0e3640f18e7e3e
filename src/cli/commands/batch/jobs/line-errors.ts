import type { Job } from '../../../../batch/index.ts';
import { chooseHint, GatewayError, usageError } from '../../../../library/index.ts';
import { placeOf } from './job-line.ts';
import type { JobSource } from './source.ts';

/** The mistakes in the lines of a job file, reported together and not one line a run. */
export type LineErrors = ReturnType<typeof collectLineErrors>;

/** At most this many mistakes are reported one by one. */
const maxShown = 10;

/**
 * Collects mistakes whose messages begin with the file's name and a line number. A mistake of a template is the same in every row
 * and is reported once.
 */
export function collectLineErrors({ name: file, adviseVariable }: JobSource) {
  const named = new Map<string, { error: GatewayError; times: number }>();
  let [count, others] = [0, 0];
  let last: string | undefined;
  return {
    /** Takes the mistake of one line; anything else is thrown. */
    add(error: unknown): void {
      if (!(error instanceof GatewayError) || error.class !== 'usage' || !error.message.startsWith(`${file}:`))
        throw error;
      // The jobs of one line with a count have the same mistake.
      if (error.message === last) return;
      last = error.message;
      count++;
      const mistake = adviseVariable
        ? error.message.slice(file.length).replace(/^:(?:\d+| row \d+)/, '')
        : error.message;
      const same = named.get(mistake);
      if (same) same.times++;
      else if (named.size < maxShown) named.set(mistake, { error, times: 1 });
      else others++;
    },
    /** Enough mistakes are known: another one is only counted. */
    get isFull(): boolean {
      return count >= maxShown;
    },
    countAnother(): void {
      count++;
      others++;
    },
    /** Throws GatewayError usage if a mistake was added. */
    throwIfAny(): void {
      const [first] = named.values();
      if (first === undefined) return;
      if (count === 1) throw first.error;
      const lines = [...named.values()].map(
        ({ error, times }) => `${error.message}${times === 1 ? '' : ` (the same in ${times - 1} more)`}`,
      );
      const hint = chooseHint(first.error);
      const isCommon = [...named.values()].every(({ error }) => chooseHint(error) === hint);
      if (isCommon && hint !== undefined) lines.push(hint);
      if (others > 0) lines.push(`and ${others} more`);
      throw usageError(`${count} lines of ${file} are not valid jobs; nothing was sent`, lines.join('\n'));
    },
  };
}

/** The error for an id that an earlier line has. */
export async function duplicateError({ id, ...where }: Job, source: JobSource): Promise<Error> {
  for await (const job of source.jobs(() => undefined)) {
    if (job.id !== id) continue;
    const shown = JSON.stringify(id.length > 60 ? `${id.slice(0, 60)}…` : id);
    const other = job.place ?? `line ${job.line}`;
    return usageError(`${placeOf(source.name, where)}: the id ${shown} is already used in ${other}`, 'ids are unique');
  }
  return usageError(`${placeOf(source.name, where)}: the file changed while it was read`);
}
