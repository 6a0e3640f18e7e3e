import { createHash } from 'node:crypto';
import { answerContent, countContent } from './content/exchange.ts';
import type { Visit } from './faults/fault.ts';
import { listIgnored } from './fields/ignored.ts';
import { type Path, Violation } from './fields/violation.ts';
import { parseBody } from './http/body.ts';
import { answerMessages, countMessage } from './messages/exchange.ts';
import { answerModels } from './models/list.ts';
import type { Surroundings } from './surroundings.ts';
import type { Answerer, Call, Operation } from './types.ts';

/** How the offline models answer. */
export interface OfflineOptions {
  /** Only what spec.md says is accepted. */
  specOnly: boolean;
  /** Fields and models that are not known are refused, as the services do it: for callers that see no log. */
  refuseUnknown?: boolean | undefined;
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

const exchanges = {
  generate: answerContent,
  'stream-generate': answerContent,
  'count-content': countContent,
  messages: answerMessages,
  'count-message': countMessage,
};

/** Answers by the offline models: local-text, local-chat, local-image, local-edit and the fault models. */
export function createOfflineAnswerer({
  specOnly,
  refuseUnknown = specOnly,
  pace = 0,
  varied = false,
  faultDelay = defaultFaultDelay,
}: OfflineOptions): Answerer {
  const countVisit = createVisitCounter();
  return async (call: Call) => {
    const { format, left, operation } = call;
    if (!isExchange(operation)) return answerModels(call);
    const bytes = await call.readBody();
    const body = parseBody(bytes);
    const id = idOf(call, bytes);
    const visit = (stream: boolean): Visit => ({ count: countVisit(id), format, stream, delay: faultDelay, left });
    const variant = varied ? countVisit(`picture ${id}`) : 0;
    const ignored: Path[] = [];
    const notes: string[] = [];
    const ignore = (path: Path): void => void ignored.push(path);
    const surroundings: Surroundings = {
      reading: { lenient: !specOnly, ...(!refuseUnknown && { ignore }) },
      standsIn: !refuseUnknown,
      tell: (note) => void notes.push(note),
      pace,
      id,
      variant,
      visit,
    };
    try {
      const reply = await exchanges[operation](call, body, surroundings);
      return { ...reply, note: [...notes, ...listIgnored(ignored)].join('; ') || undefined };
    } catch (error) {
      throw error instanceof Violation ? error.toProblem(format) : error;
    }
  };
}

function isExchange(operation: Operation): operation is keyof typeof exchanges {
  return Object.hasOwn(exchanges, operation);
}

/** Counts how often an id came before. */
function createVisitCounter(): (id: string) => number {
  const visits = new Map<string, number>();
  return (id) => {
    const count = visits.get(id) ?? 0;
    visits.delete(id);
    visits.set(id, count + 1);
    if (visits.size > countedRequests) visits.delete(visits.keys().next().value ?? '');
    return count;
  };
}

function idOf({ target }: Call, bytes: Buffer): string {
  const path = target.split('?')[0] ?? '';
  return createHash('sha256').update(path).update('\n').update(bytes).digest('hex').slice(0, 24);
}
