import type { QueuedJob, ResultPrinter } from '../../../batch/index.ts';
import { chooseHint, GatewayError } from '../../../library/index.ts';
import type { Context } from '../../context.ts';

/** The place of a result among the others. */
interface PrintTurn {
  /** Resolves when the turns before it are over. */
  came: Promise<void>;
  end(): void;
}

/** Prints the result of each job as a line of JSON, as soon as it came, or in the order in which the jobs were expected. */
export function openPrinter(
  { isOrdered, hasFolder }: { isOrdered: boolean; hasFolder: boolean },
  { io: { stdout }, ui }: Pick<Context, 'io' | 'ui'>,
): ResultPrinter & { expect(job: QueuedJob): void } {
  const turns = new WeakMap<QueuedJob, PrintTurn>();
  let last = Promise.resolve();
  return {
    expect(job) {
      if (!isOrdered) return;
      const turn = { came: last, end: (): void => undefined };
      last = new Promise<void>((resolve) => (turn.end = resolve));
      turns.set(job, turn);
    },
    async print(job, { document, saveReply }) {
      await turns.get(job)?.came;
      try {
        await stdout.write(`${JSON.stringify({ id: job.job.id, ...document })}\n`);
        if (stdout.failure !== undefined) throw stdout.failure;
      } catch (error) {
        // A result that a folder has is not lost.
        const saved = hasFolder ? undefined : await saveReply?.(unprinted);
        if (saved?.path) await ui.warn(`${unprinted.message}; ${chooseHint(saved.failure as GatewayError) ?? ''}`);
        throw error;
      }
    },
    release: (job) => turns.get(job)?.end(),
  };
}

const unprinted = new GatewayError('not-written', 'a result could not be printed', { retryable: false });
