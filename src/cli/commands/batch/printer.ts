import type { ResultPrinter } from '../../../batch/index.ts';
import { chooseHint, GatewayError } from '../../../library/index.ts';
import type { Context } from '../../context.ts';

/** Prints the result of each job as a line of JSON, as soon as it came. */
export function openPrinter(hasFolder: boolean, { io: { stdout }, ui }: Pick<Context, 'io' | 'ui'>): ResultPrinter {
  return async (job, { document, saveReply }) => {
    try {
      await stdout.write(`${JSON.stringify({ id: job.job.id, ...document })}\n`);
      if (stdout.failure !== undefined) throw stdout.failure;
    } catch (error) {
      // A result that a folder has is not lost.
      const saved = hasFolder ? undefined : await saveReply?.(unprinted);
      if (saved?.path) await ui.warn(`${unprinted.message}; ${chooseHint(saved.failure as GatewayError) ?? ''}`);
      throw error;
    }
  };
}

const unprinted = new GatewayError('not-written', 'a result could not be printed', { retryable: false });
