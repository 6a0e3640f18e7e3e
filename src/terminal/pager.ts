import { isReadByCi } from './output.ts';
import type { Io } from './io.ts';

/** Rows of a terminal without a size. */
const usualRows = 24;

/** Writes the program's own text to stdout; through `$PAGER` if stdout is a terminal with fewer rows, as git does. */
export async function writePaged(text: string, io: Pick<Io, 'stdout' | 'env' | 'runPager'>): Promise<void> {
  const { stdout, env, runPager } = io;
  const pager = env['PAGER']?.trim() ?? '';
  const isLong = text.split('\n').length > (stdout.rows ?? usualRows);
  const isPerson = !env['CI'] && env['TERM'] !== 'dumb' && !isReadByCi(env, stdout);
  if (isLong && isPerson && pager !== '' && (await runPager?.(pager, text))) return;
  await stdout.write(text);
}
