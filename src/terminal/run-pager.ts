import { spawn } from 'node:child_process';

/** Exit codes of a shell that cannot start a command. */
const notStarted = new Set<unknown>([126, 127]);

/** Shows a text in a pager until the user quits it. False if it cannot be started. */
export async function runPager(pager: string, text: string, process: NodeJS.Process): Promise<boolean> {
  // Git's options of less: quit if the text fits, keep colours, leave the text on the screen.
  const env = { LESS: 'FRX', LV: '-c', ...process.env };
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

const ignore = (): void => undefined;

/** Both processes receive Ctrl-C, and only the pager handles it. Returns the undo function. */
function ignoreInterrupts(process: NodeJS.Process): () => void {
  const listeners = process.listeners('SIGINT');
  process.on('SIGINT', ignore);
  for (const listener of listeners) process.off('SIGINT', listener);
  return () => {
    for (const listener of listeners) process.on('SIGINT', listener);
    process.off('SIGINT', ignore);
  };
}
