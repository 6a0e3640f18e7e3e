import { Problem } from '../problem.ts';
import type { Format, Operation } from '../types.ts';

/** Where a request leads. */
export type Route =
  | { kind: 'health' }
  | { kind: 'call'; format: Format; operation: Operation; model: string | undefined };

const contentPath = /^\/(v1|v1beta)\/models\/([^/]+):(generateContent|streamGenerateContent)$/;

/** The format whose error shape a path gets, also when it leads nowhere. */
export function formatOf(path: string): Format {
  return path === '/v1/messages' || path.startsWith('/v1/messages/') ? 'messages' : 'content';
}

/**
 * Finds the operation of spec.md 4. `/v1/models/…` and `:streamGenerateContent`, which real clients call, exist unless
 * `specOnly`. Throws Problem 404 or 405.
 */
export function findRoute(method: string, path: string, specOnly: boolean): Route {
  if (path === '/healthz') {
    allow(method, ['GET', 'HEAD'], path);
    return { kind: 'health' };
  }
  if (path === '/v1/messages') {
    allow(method, ['POST'], path);
    return { kind: 'call', format: 'messages', operation: 'messages', model: undefined };
  }
  const [, version, segment, action] = contentPath.exec(path) ?? [];
  const model = segment === undefined ? undefined : decodeSegment(segment);
  const foreign = version === 'v1' || action === 'streamGenerateContent';
  if (model === undefined || (specOnly && foreign)) throw notFound(path);
  allow(method, ['POST'], path);
  const operation = action === 'streamGenerateContent' ? 'stream-generate' : 'generate';
  return { kind: 'call', format: 'content', operation, model };
}

function allow(method: string, methods: readonly string[], path: string): void {
  if (methods.includes(method)) return;
  throw new Problem(405, `${method} is not allowed on ${path}; use ${methods.join(' or ')}`, {
    status: 'INVALID_ARGUMENT',
    headers: { allow: methods.join(', ') },
  });
}

function notFound(path: string): Problem {
  const paths = 'POST /v1beta/models/{model}:generateContent, POST /v1/messages, GET /healthz';
  return new Problem(404, `nothing is served at ${path.slice(0, 200)}; this gateway has ${paths}`);
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
