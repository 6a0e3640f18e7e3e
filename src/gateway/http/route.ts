import { Problem } from '../problem.ts';
import type { ServiceRules } from '../service.ts';
import type { Format, Operation } from '../types.ts';

/** Where a request leads. */
export type Route =
  | { kind: 'health' }
  | { kind: 'call'; format: Format; operation: Operation; model: string | undefined };

/** What is served. */
export interface Routes {
  /** Only the operations of the specification. */
  specOnly: boolean;
  /** Paths that nobody knows here lead on to who answers. */
  everyPath: boolean;
  /** The service that is played: it has no other paths. */
  rules?: ServiceRules | undefined;
}

interface Shape {
  path: RegExp;
  /** The path for people, once where several are alike. */
  shown?: string;
  methods: readonly string[];
  operation: Operation;
  specified?: true;
}

/** The operations of the specification, and what real clients ask beside them. A group in a path is its model. */
const shapes: readonly Shape[] = [
  {
    path: /^\/v1beta\/models\/([^/]+):generateContent$/,
    shown: '/v1beta/models/{model}:generateContent',
    methods: ['POST'],
    operation: 'generate',
    specified: true,
  },
  { path: /^\/v1\/models\/([^/]+):generateContent$/, methods: ['POST'], operation: 'generate' },
  {
    path: /^\/v1(?:beta)?\/models\/([^/]+):streamGenerateContent$/,
    shown: '/v1beta/models/{model}:streamGenerateContent',
    methods: ['POST'],
    operation: 'stream-generate',
  },
  {
    path: /^\/v1(?:beta)?\/models\/([^/]+):countTokens$/,
    shown: '/v1beta/models/{model}:countTokens',
    methods: ['POST'],
    operation: 'count-content',
  },
  { path: /^\/v1\/messages$/, shown: '/v1/messages', methods: ['POST'], operation: 'messages', specified: true },
  {
    path: /^\/v1\/messages\/count_tokens$/,
    shown: '/v1/messages/count_tokens',
    methods: ['POST'],
    operation: 'count-message',
  },
  { path: /^\/v1beta\/models(?:\/([^/:]+))?$/, shown: '/v1beta/models', methods: ['GET'], operation: 'models' },
  { path: /^\/v1\/models(?:\/([^/:]+))?$/, shown: '/v1/models', methods: ['GET'], operation: 'models' },
];

/** The format whose error shape a path gets, also when it leads nowhere: that of the service that is played, if any. */
export function formatOf(path: string, rules: Routes['rules']): Format {
  if (rules !== undefined) return rules.format;
  return /^\/v1\/(?:messages(?:\/|$)|models(?:\/[^:]*)?$)/.test(path) ? 'messages' : 'content';
}

/** Vercel's client takes ANTHROPIC_BASE_URL for what stands before `/messages`, the vendor's own for what stands before `/v1`. */
export function withVersion(target: string): string {
  return target.replace(/^\/messages(?=[/?]|$)/, '/v1/messages');
}

/** Finds what a request asks for. Throws Problem 404 or 405. */
export function findRoute(method: string, path: string, routes: Routes): Route {
  const { specOnly, everyPath, rules } = routes;
  if (path === '/healthz') {
    allow(method, ['GET', 'HEAD'], path);
    return { kind: 'health' };
  }
  const format = formatOf(path, rules);
  const shape = shapes.find((candidate) => candidate.path.test(path) && (candidate.specified || !specOnly));
  const fits = shape?.methods.includes(method) === true;
  if (rules && (!shape || !rules.paths.test(path) || (rules.methodsArePaths && !fits))) {
    throw !shape && rules.vendorPaths.test(path) ? notFound(path, routes) : rules.notFound(path);
  }
  if (everyPath && !specOnly && !fits) return { kind: 'call', format, operation: 'other', model: undefined };
  if (!shape) throw notFound(path, routes);
  allow(method, shape.methods, path);
  const [, segment] = shape.path.exec(path) ?? [];
  const model = segment === undefined ? undefined : decodeSegment(segment);
  if (segment !== undefined && model === undefined) throw notFound(path, routes);
  return { kind: 'call', format, operation: shape.operation, model };
}

function allow(method: string, methods: readonly string[], path: string): void {
  if (methods.includes(method)) return;
  throw new Problem(405, `${method} is not allowed on ${path}; use ${methods.join(' or ')}`, {
    status: 'INVALID_ARGUMENT',
    headers: { allow: methods.join(', ') },
  });
}

function notFound(path: string, { specOnly, rules }: Routes): Problem {
  const served = shapes.flatMap(({ shown, methods, specified }) => {
    const isServed = shown !== undefined && (specified || !specOnly) && (rules?.paths.test(shown) ?? true);
    return isServed ? `${methods.join(' or ')} ${shown}` : [];
  });
  const paths = [...served, 'GET /healthz'].join(', ');
  return new Problem(404, `the local gateway does not have ${path.slice(0, 200)}; it has ${paths}`);
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
