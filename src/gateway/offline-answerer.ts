import { createHash } from 'node:crypto';
import { answerContent } from './content/exchange.ts';
import type { Visit } from './faults/fault.ts';
import { Violation } from './fields/violation.ts';
import { parseBody } from './http/body.ts';
import { answerMessages } from './messages/exchange.ts';
import type { Surroundings } from './surroundings.ts';
import type { Answerer, Call } from './types.ts';

/** How the offline models answer. */
export interface OfflineOptions {
  /** Only what spec.md says is accepted. */
  specOnly: boolean;
  /** Wait before each delta of a stream, ms. */
  pace?: number | undefined;
  /** Equal requests without a seed get different pictures, as from a real model: for `image gen -n 4 --offline`. */
  varied?: boolean | undefined;
  /** Wait of the slow faults, ms. */
  faultDelay?: number | undefined;
}

const defaultFaultDelay = 10_000;

/** Visits are counted for so many different requests; the oldest are forgotten. */
const countedRequests = 10_000;

/** Answers by the offline models: local-text, local-chat, local-image, local-edit and the fault models. */
export function createOfflineAnswerer({
  specOnly,
  pace = 0,
  varied = false,
  faultDelay = defaultFaultDelay,
}: OfflineOptions): Answerer {
  const visits = new Map<string, number>();
  const countVisit = (id: string): number => {
    const count = visits.get(id) ?? 0;
    visits.delete(id);
    visits.set(id, count + 1);
    if (visits.size > countedRequests) visits.delete(visits.keys().next().value ?? '');
    return count;
  };
  return async (call: Call) => {
    const bytes = await call.readBody();
    const body = parseBody(bytes);
    const { format, left } = call;
    const id = idOf(call, bytes);
    const visit = (stream: boolean): Visit => ({ count: countVisit(id), format, stream, delay: faultDelay, left });
    const variant = varied ? countVisit(`picture ${id}`) : 0;
    const surroundings: Surroundings = { lenient: !specOnly, pace, id, variant, visit };
    try {
      return await (format === 'content' ? answerContent : answerMessages)(call, body, surroundings);
    } catch (error) {
      throw error instanceof Violation ? error.toProblem(format) : error;
    }
  };
}

function idOf({ target }: Call, bytes: Buffer): string {
  const path = target.split('?')[0] ?? '';
  return createHash('sha256').update(path).update('\n').update(bytes).digest('hex').slice(0, 24);
}
