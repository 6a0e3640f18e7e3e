import type { Job } from '../../../../batch/index.ts';
import { describeReadError, getErrorCode, type KnownFiles, usageError } from '../../../../library/index.ts';
import type { Context, InputContext } from '../../../context.ts';

/** The readers of the inputs of one job. */
export interface JobInputs {
  context: InputContext;
  /** The warnings of the inputs, for the job's result. */
  warnings: string[];
  /** Whether the folder of the jobs was asked for, as it is for each file. */
  hasReadFiles(): boolean;
  /** Runs the cleanups that were registered for the end. */
  close(): Promise<void>;
}

/** Opens the inputs of a job. Paths are relative to the folder of the jobs, nothing is printed, and stdin is not read. */
export function openInputs(
  { command }: Pick<Job, 'command'>,
  { context: { io, signal, ui }, folder, known }: { context: Context; folder: string; known: KnownFiles },
): JobInputs {
  const warnings: string[] = [];
  const cleanups: (() => Promise<void>)[] = [];
  let hasReadFiles = false;
  const files = {
    stdin: io.stdin,
    get cwd() {
      hasReadFiles = true;
      return folder;
    },
  };
  return {
    context: {
      io: files,
      signal,
      stdin: { claimedBy: 'the jobs', claim: refuseStdin, reserve: refuseStdin },
      command,
      known,
      ui: {
        note: ignoreWrite,
        notice: ignoreWrite,
        detail: ignoreWrite,
        warn: async (text) => void warnings.push(ui.redact(text)),
      },
      atEnd: (cleanup) => void cleanups.unshift(cleanup),
    },
    warnings,
    hasReadFiles: () => hasReadFiles,
    async close() {
      for (const cleanup of cleanups.splice(0)) await cleanup().catch(() => undefined);
    },
  };
}

const ignoreWrite = async (): Promise<void> => undefined;

function refuseStdin(by: string): never {
  throw usageError(`${by} - cannot be used in a job`, 'put it into a file beside the jobs');
}

/** The error of an input file that was removed between two reads. */
export function toReadable(error: unknown): unknown {
  const code = getErrorCode(error) ?? '';
  return /^E[A-Z]+$/.test(code) && !('class' in (error as object))
    ? usageError(
        `an input file cannot be read: ${describeReadError(error)}`,
        'check the files that the job names',
        error,
      )
    : error;
}
