import { createHash } from 'node:crypto';
import { Violation } from './fields/violation.ts';
import { parseBody, parseForm } from './http/body.ts';
import { createThreads } from './messages/threads.ts';
import { answerModels } from './models/list.ts';
import type { ServiceRules } from './service.ts';
import type { GatewayRequest, Handler, Level, Path, RequestContext } from './types.ts';

/** How the offline models answer. */
export interface OfflineOptions {
  /** Accepts the paths, headers, versions and fields of the specification alone, nothing that real clients send beyond it. */
  specOnly?: boolean | undefined;
  /** Unknown fields and models are refused, as the services do it: for callers that do not see the log. */
  refuseUnknown?: boolean | undefined;
  /** Wait before each delta of a stream, ms. */
  pace?: number | undefined;
  /** Equal requests without a seed get different pictures, as from a real model: for `image gen -n 4 --offline`. */
  varied?: boolean | undefined;
  /** How long `fault-slow` waits, ms (default 10 s). */
  faultDelay?: number | undefined;
  /** The service whose behaviour is imitated. */
  rules?: ServiceRules | undefined;
}

const defaultFaultDelay = 10_000;

/** The number of different requests whose attempts are counted; the oldest are dropped. */
const countedRequests = 10_000;

/** Answers by the offline models: local-text, local-chat, local-image, local-edit and the fault models. */
export function createOfflineHandler(options: OfflineOptions): Handler {
  const { pace = 0, varied = false, faultDelay = defaultFaultDelay, rules } = options;
  const level = levelOf(options);
  const countAttempt = createCounter();
  const threads = createThreads();
  return async (request: GatewayRequest) => {
    const { format, left, route } = request;
    if (!route?.handle) return answerModels(request, rules);
    const bytes = await request.readBody();
    const body = route.form ? await parseForm(bytes, request.headers['content-type'] ?? '') : parseBody(bytes);
    // Equal forms differ in the boundary between their fields.
    const id = idOf(request, route.form ? JSON.stringify(body) : bytes);
    const ignored: Path[] = [];
    const notes: string[] = [];
    const context: RequestContext = {
      mode: { level, leftOut: (path) => void ignored.push(path) },
      fallback: level === 'lenient' || rules !== undefined,
      rules,
      threads,
      note: (text) => void notes.push(text),
      pace,
      id,
      variant: varied ? countAttempt(`picture ${id}`) : 0,
      attempt: (stream) => ({ count: countAttempt(id), format: format.name, stream, delay: faultDelay, left }),
    };
    try {
      const reply = await route.handle(request, body, context);
      return { ...reply, note: [...notes, ...listIgnored(ignored)].join('; ') || undefined };
    } catch (error) {
      throw error instanceof Violation ? format.violation(error.path, error.breach) : error;
    }
  };
}

function levelOf({ specOnly, refuseUnknown, rules }: OfflineOptions): Level {
  if (specOnly) return 'spec';
  return rules?.level ?? (refuseUnknown ? 'strict' : 'lenient');
}

/** Returns how often an id came before. */
function createCounter(): (id: string) => number {
  const counts = new Map<string, number>();
  return (id) => {
    const count = counts.get(id) ?? 0;
    counts.delete(id);
    counts.set(id, count + 1);
    if (counts.size > countedRequests) counts.delete(counts.keys().next().value ?? '');
    return count;
  };
}

function idOf({ target }: GatewayRequest, bytes: Buffer | string): string {
  const path = target.split('?')[0] ?? '';
  return createHash('sha256').update(path).update('\n').update(bytes).digest('hex').slice(0, 24);
}

/** The number of fields that the log names. */
const named = 5;
/** Longest step of a path that the log shows, in characters. */
const stepLength = 40;

/** The ignored fields of a body, for the log. The names come from the caller, so other than plain characters are masked. */
function listIgnored(paths: readonly Path[]): string[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, named).map((path) => path.map(plainStep).join('.'));
  const more = paths.length > named ? ` and ${paths.length - named} more` : '';
  return [`ignored ${shown.join(', ')}${more}`];
}

function plainStep(step: string | number): string {
  return String(step)
    .slice(0, stepLength)
    .replaceAll(/[^\w$-]/g, '?');
}
