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

/** Exit codes of a shell that cannot start a command. */
const notStarted = new Set<unknown>([126, 127]);

/** Shows a text in a pager until the user quits it. False if it cannot be started. */
export async function runPager(pager: string, text: string, process: NodeJS.Process): Promise<boolean> {
  // Git's options of less: quit if the text fits, keep colours, leave the text on the screen.
  const env = { LESS: 'FRX', LV: '-c', ...process.env };
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = spawn(pager, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env });
  // A pager that quits early does not read all of the text.
  child.stdin.on('error', () => undefined);
  child.stdin.end(text);
  const restore = ignoreInterrupts(process);
  const code = await new Promise((resolve) => {
    child.on('error', () => resolve(127));
    child.on('close', resolve);
  });
  restore();
  return !notStarted.has(code);
}

const ignoreSignal = (): void => undefined;

/** Both processes receive Ctrl-C, and only the pager handles it. Returns the undo function. */
function ignoreInterrupts(process: NodeJS.Process): () => void {
  const listeners = process.listeners('SIGINT');
  process.on('SIGINT', ignoreSignal);
  for (const listener of listeners) process.off('SIGINT', listener);
  return () => {
    for (const listener of listeners) process.on('SIGINT', listener);
    process.off('SIGINT', ignoreSignal);
  };
}
