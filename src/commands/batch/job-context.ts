import { usageError } from '../../errors.ts';
import type { Context, Ui } from '../../cli/context.ts';
import { emptyReport } from '../../cli/output/document.ts';

/** A context for one job: its warnings and files are its own, it prints nothing and reads no stdin. */
export interface JobContext {
  /** Its paths are read against the folder of the jobs. */
  input: Context;
  /** The same, with paths against the folder of the batch. */
  output(): Context;
  /** Whether it registered anything for its end. */
  hasCleanups(): boolean;
  /** Runs what the job registered for its end. */
  end(): Promise<void>;
}

/** The folders that jobs read from and write to. */
export interface JobFolders {
  input: string;
  output: string;
}

/** Makes contexts of jobs out of the batch's. What all have in common is made once: there are thousands. */
export function createJobContexts(batch: Context, folders: JobFolders): (command: string) => JobContext {
  const root = {
    json: true,
    quiet: true,
    ...(batch.root.profile !== undefined && { profile: batch.root.profile }),
  } as const;
  const stdin = { claimedBy: 'the jobs', claim: refuseStdin, reserve: refuseStdin };
  const [input, output] = [folders.input, folders.output].map((cwd) => ({ ...batch.io, cwd })) as [
    Context['io'],
    Context['io'],
  ];
  const { signal, patience } = batch;
  return (command) => {
    const report = emptyReport(command);
    const cleanups: (() => Promise<void>)[] = [];
    const ui = silentUi(batch.ui, async (text) => void report.warnings.push(batch.ui.redact(text)));
    const atEnd = (cleanup: () => Promise<void>): void => void cleanups.unshift(cleanup);
    return {
      input: { signal, patience, root, stdin, ui, report, atEnd, io: input },
      // No getters: an object literal with one gives V8 a new hidden class each time, and with it garbage that grows old.
      output: () => ({ signal, patience, root, stdin, ui, report, atEnd, io: output }),
      hasCleanups: () => cleanups.length > 0,
      async end() {
        for (const cleanup of cleanups.splice(0)) await cleanup().catch(() => undefined);
      },
    };
  };
}

/** Of what one job says only its warnings are kept, and they stand in its result. */
function silentUi({ redact, clean }: Ui, warn: Ui['warn']): Ui {
  return {
    note: nothing,
    warn,
    detail: nothing,
    think: nothing,
    beside: ignore,
    show: nothing,
    hide: ignore,
    redact,
    clean,
    progress: noProgress,
    isVerbose: false,
  };
}

const shown = { update: ignore, clear: ignore, stop: ignore };

function noProgress(): typeof shown {
  return shown;
}

function ignore(): void {
  // There is nothing to show.
}

async function nothing(): Promise<void> {
  // What a job says is told by its result.
}

function refuseStdin(by: string): never {
  throw usageError(`${by} - cannot stand in a job`, 'put it into a file beside the jobs');
}
