import { usageError } from '../../errors.ts';
import type { Context } from '../../cli/context.ts';
import { emptyReport } from '../../cli/output/document.ts';

/** A context for one job: its warnings and files are its own, it prints nothing and reads no stdin. */
export interface JobContext {
  /** Its paths are read against the folder of the jobs. */
  input: Context;
  /** The same, with paths against the folder of the batch. */
  output: Context;
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
  const { signal, gracePeriod, root } = batch;
  const common = {
    signal,
    gracePeriod,
    root: { json: true, quiet: true, ...(root.profile !== undefined && { profile: root.profile }) },
    stdin: { claimedBy: 'the jobs', claim: refuseStdin, reserve: refuseStdin },
  } as const;
  const input = { ...batch.io, cwd: folders.input };
  const output = { ...batch.io, cwd: folders.output };
  return (command) => {
    const report = emptyReport(command);
    const cleanups: (() => Promise<void>)[] = [];
    const own = {
      ...common,
      report,
      // Of what a job says only its warnings are kept, and they stand in its result.
      ui: { ...batch.ui, ...silent, warn: async (text: string) => void report.warnings.push(batch.ui.redact(text)) },
      atEnd: (cleanup: () => Promise<void>) => void cleanups.unshift(cleanup),
    };
    return {
      input: { ...own, io: input },
      output: { ...own, io: output },
      async end() {
        for (const cleanup of cleanups.splice(0)) await cleanup().catch(() => undefined);
      },
    };
  };
}

const ignore = (): void => undefined;
const nothing = async (): Promise<void> => undefined;
const progress = { update: ignore, clear: ignore, stop: ignore };
const silent = {
  note: nothing,
  detail: nothing,
  think: nothing,
  show: nothing,
  hide: ignore,
  progress: () => progress,
  isVerbose: false,
};

function refuseStdin(by: string): never {
  throw usageError(`${by} - cannot stand in a job`, 'put it into a file beside the jobs');
}
