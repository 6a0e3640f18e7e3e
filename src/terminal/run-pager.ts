import { spawn } from 'node:child_process';

/** What a shell ends with where it cannot start a command. */
const notStarted = new Set<unknown>([126, 127]);

/** Shows a text in a pager until the person leaves it. False where it cannot be started. */
export async function runPager(pager: string, text: string, process: NodeJS.Process): Promise<boolean> {
  // The settings that git gives less: quit where all fits, keep colours, leave the text on the screen.
  const env = { LESS: 'FRX', LV: '-c', ...process.env };
  const child = spawn(pager, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env });
  // A pager that is left early does not read to the end.
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

/** Ctrl-C goes to both processes, and the pager says what it means. Returns what undoes this. */
function ignoreInterrupts(process: NodeJS.Process): () => void {
  const listeners = process.listeners('SIGINT');
  process.on('SIGINT', ignore);
  for (const listener of listeners) process.off('SIGINT', listener);
  return () => {
    for (const listener of listeners) process.on('SIGINT', listener);
    process.off('SIGINT', ignore);
  };
}
