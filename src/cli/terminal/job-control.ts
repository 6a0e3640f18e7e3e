import type { Interface } from 'node:readline';
import type { ReadStream } from 'node:tty';

/** Job control of a shell: Ctrl-Z stops a job, `fg` continues it. */
export interface JobControl {
  /** Stops the process until a shell continues it. */
  stop(): void;
  /** Returns a function that removes the listener. */
  onContinue(listener: () => void): () => void;
}

interface SuspendedPrompt {
  reader: Interface;
  stdin: Pick<ReadStream, 'setRawMode'>;
  jobs: JobControl;
  /** Called before the shell has the terminal. */
  leave?(): void;
  /** Called when the program has the terminal again: the earlier output is far above. */
  redraw(): void;
}

/**
 * Stops at Ctrl-Z and goes on at the same prompt, in place of readline, which stays paused afterwards. Also sets up the terminal
 * again after a stop by another process. Returns a function that ends this.
 */
export function followStops({ reader, stdin, jobs, leave, redraw }: SuspendedPrompt): () => void {
  let isStopped = false;
  const goOn = (): void => {
    isStopped = false;
    // Node sets only a mode that differs from the one it knows, and the shell may have changed the mode.
    stdin.setRawMode(false);
    stdin.setRawMode(true);
    reader.pause();
    reader.resume();
    // The rows of the line are counted from here.
    (reader as { prevRows?: number }).prevRows = 0;
    redraw();
  };
  reader.on('SIGTSTP', () => {
    leave?.();
    stdin.setRawMode(false);
    isStopped = true;
    jobs.stop();
    // The system does not stop the only program of a terminal, as no shell could continue it. SIGCONT is read between the two.
    setImmediate(() => setImmediate(() => isStopped && goOn()));
  });
  return jobs.onContinue(goOn);
}
