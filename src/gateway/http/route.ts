import type { IncomingHttpHeaders } from 'node:http';
import type { Format } from '../format.ts';
import { formats, routes } from '../formats.ts';
import type { BodyHandler } from '../operation.ts';
import { Problem } from '../problem.ts';
import type { ServiceRules } from '../service.ts';

/** A path of the gateway. */
export interface Route {
  path: RegExp;
  /** The path for people, once where several are alike. */
  shown?: string;
  methods: readonly string[];
  /** Answers the body; absent where the path lists models. */
  handle?: BodyHandler;
  /** Whether the body is a form. */
  form?: true;
  /** Whether the reply is a stream, whatever the body says. */
  streams?: true;
  specified?: true;
}

/** Where a request leads; without a route: to a path that only an upstream gateway may know. */
export type Destination = { route: Route | undefined; model: string | undefined } | 'health';

/** What is served. */
export interface RouteRules {
  /** Only the operations of the specification. */
  specOnly: boolean;
  /** Unknown paths lead to the handler too. */
  everyPath: boolean;
  /** The service whose behaviour is imitated: it has no other paths. */
  rules?: ServiceRules | undefined;
}

/** The format whose error shape a path gets, also where it is not found: that of the service, if one is imitated. */
export function formatOf(path: string, headers: IncomingHttpHeaders, { rules }: RouteRules): Format {
  const found = formats.find((format) => (rules ? format.name === rules.format : format.claims(path, headers)));
  if (!found) throw new Error(`no format claims ${path}`);
  return found;
}

/** Some clients take a base URL for the part before `/messages` or `/chat/completions`, others for the part before `/v1`. */
export function withVersion(target: string): string {
  const isBare = /^\/(?:messages|chat\/completions|images\/(?:generations|edits)|models(?:\/[^/:?]+)?)(?:[/?]|$)/.test(
    target,
  );
  return isBare ? `/v1${target}` : target;
}

/** Finds the route of a request. Throws Problem 404 or 405. */
export function findRoute(method: string, path: string, routing: RouteRules): Destination {
  const { specOnly, everyPath, rules } = routing;
  if (path === '/healthz') {
    allow(method, ['GET', 'HEAD'], path);
    return 'health';
  }
  const route = routes.find((candidate) => candidate.path.test(path) && (candidate.specified || !specOnly));
  const fits = route?.methods.includes(method) === true;
  if (rules && (!route || !rules.paths.test(path) || (rules.methodsArePaths && !fits))) {
    throw !route && rules.vendorPaths.test(path) ? notFound(path, routing) : rules.notFound(path, method);
  }
  if (everyPath && !specOnly && !fits) return { route: undefined, model: undefined };
  if (!route) throw notFound(path, routing);
  allow(method, route.methods, path);
  const [, segment] = route.path.exec(path) ?? [];
  const model = segment === undefined ? undefined : decodeSegment(segment);
  if (segment !== undefined && model === undefined) throw notFound(path, routing);
  return { route, model };
}

function allow(method: string, methods: readonly string[], path: string): void {
  if (methods.includes(method)) return;
  throw new Problem(405, `${method} is not allowed on ${path}; use ${methods.join(' or ')}`, {
    status: 'INVALID_ARGUMENT',
    headers: { allow: methods.join(', ') },
  });
}

function notFound(path: string, { specOnly, rules }: RouteRules): Problem {
  const served = routes.flatMap(({ shown, methods, specified }) => {
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
