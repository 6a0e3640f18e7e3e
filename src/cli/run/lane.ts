import { GatewayError, type RetryNotice } from '../../errors.ts';
import { formatFacts, type PostOrGet } from '../../formats/format.ts';
import type { RetryPolicy } from '../../transport/retry.ts';
import type { Context } from '../context.ts';
import type { Connection } from './connection.ts';
import type { ConnectionFlags } from './settings.ts';

/** The service refuses requests of the flex lane while it is busy: they are retried for long. */
export function flexPolicy({ retries = 60, retryMaxTime = 900_000 }: ConnectionFlags): Partial<RetryPolicy> {
  return { busyRetries: retries, maxWaitMs: retryMaxTime };
}

/** `--lane-fallback live` of a command: all of its connections are counted together. */
export function openFallback({ ui }: Pick<Context, 'ui'>) {
  let count = 0;
  return {
    /** Sends requests at full price if the flex lane stays too busy for them. */
    wrap(send: Connection['send']): Connection['send'] {
      return async (post, own = {}) => {
        const { onRetry } = own;
        let failed = 0;
        const counted = onRetry && { onRetry: (notice: RetryNotice) => void (failed++, onRetry(notice)) };
        try {
          return await send(post, { ...own, ...counted });
        } catch (error) {
          const live = withoutTier(post);
          if (live === undefined || !isBusy(error) || own.deadline?.signal.aborted) throw error;
          count++;
          onRetry?.({ attempt: ++failed, retries: failed, waitMs: 0, error });
          const answered = await send(live, own);
          return { ...answered, attempts: answered.attempts + failed };
        }
      };
    },
    async note() {
      const requests = count === 1 ? '1 request was' : `${count} requests were`;
      if (count > 0) await ui.note(`${requests} sent at full price: the flex lane stayed busy`);
    },
  };
}

/** Whether the lane was too busy: nothing was billed. With a spent quota the live lane would refuse the request, too. */
function isBusy(error: unknown): error is GatewayError {
  if (!(error instanceof GatewayError)) return false;
  const { reason, status = 0 } = error.details;
  return reason !== 'quota-spent' && [429, 503, 529].includes(status);
}

/** Undefined if the request asks for no tier. */
function withoutTier(post: PostOrGet): PostOrGet | undefined {
  const { tierField } = formatFacts[post.format];
  if (tierField === undefined || post.body?.[tierField] !== 'flex') return undefined;
  const { [tierField]: _, ...body } = post.body;
  return { ...post, body };
}
