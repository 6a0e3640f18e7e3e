import { contentCount, contentFormat, contentOperation } from './content/format.ts';
import { completionsFormat, completionsOperation } from './completions/format.ts';
import { editsOperation, imagesOperation } from './completions/images.ts';
import type { BodyHandler, Format } from './types.ts';
import { messagesCount, messagesFormat, messagesOperation } from './messages/format.ts';
import { completionsBatchPaths } from './batches/completions.ts';
import { contentBatchPaths } from './batches/content.ts';
import { contentFilePaths } from './batches/content-files.ts';
import { messagesBatchPaths } from './batches/messages.ts';
import type { BatchActions } from './batches/store.ts';
import { answer, count } from './operation.ts';
import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from './problem.ts';
import type { AppOptions } from './app.ts';

/** Every format of the gateway. A path belongs to the first that claims it. */
const formats: readonly Format[] = [completionsFormat, messagesFormat, contentFormat];

/** A path of the gateway. One that neither answers a body nor acts on batches lists models. */
interface Row {
  /** A pattern, in which `{model}` and `{id}` match a segment. */
  path: string;
  /** The path for people, if it is not the pattern with all that is optional; empty if it is like another. */
  shown?: string;
  /** Answers the body. */
  handle?: BodyHandler;
  /** Acts on batches and files. */
  batch?: BatchActions;
  /** Whether the body is a form. */
  form?: true;
  /** Whether the reply is a stream, whatever the body says. */
  streams?: true;
}

/** A path of the gateway, ready to be compared. */
export interface Route extends Row {
  shown: string;
  methods: readonly string[];
  pattern: RegExp;
}

/** Every path of the gateway. To add a format, add a folder like content and messages, name its format above, and add its paths here. */
const rows: readonly Row[] = [
  { path: '/v1beta/models/{model}:generateContent', handle: answer(contentOperation) },
  { path: '/v1/models/{model}:generateContent', shown: '', handle: answer(contentOperation) },
  { path: '/v1(?:beta)?/models/{model}:streamGenerateContent', handle: answer(contentOperation), streams: true },
  { path: '/v1(?:beta)?/models/{model}:countTokens', handle: count(contentOperation, contentCount) },
  { path: '/v1/messages', handle: answer(messagesOperation) },
  { path: '/v1/messages/count_tokens', handle: count(messagesOperation, messagesCount) },
  { path: '/v1/chat/completions', handle: answer(completionsOperation) },
  { path: '/v1/images/generations', handle: answer(imagesOperation) },
  { path: '/v1/images/edits', handle: answer(editsOperation), form: true },
  { path: '/v1beta/models(?:/{id})?', shown: '/v1beta/models' },
  { path: '/v1/models(?:/{id})?', shown: '/v1/models' },
  ...Object.entries({
    ...messagesBatchPaths,
    ...completionsBatchPaths,
    ...contentBatchPaths,
    ...contentFilePaths,
  }).map(([path, batch]) => ({ path, batch })),
];

const routes = rows.map((row): Route => {
  const { path, batch, handle, shown = path.replaceAll(/\(\?:([^)]*)\)\?/g, '$1') } = row;
  const methods = batch ? Object.keys(batch) : [handle ? 'POST' : 'GET'];
  const pattern = new RegExp(`^${path.replace('{model}', '([^/]+)').replace('{id}', '([^/:]+)')}$`);
  return { ...row, shown, methods, pattern };
});

/** Where a request leads; without a route: to a path that only an upstream gateway may know. */
export type Destination = { route: Route | undefined; model: string | undefined } | 'health';

/** What decides which paths are served. */
type RouteRules = Pick<AppOptions, 'everyPath' | 'rules'>;

/** The format whose error shape a path gets, also where it is not found: that of the service, if one is imitated. */
export function formatOf(path: string, headers: IncomingHttpHeaders, { rules }: RouteRules): Format {
  return formats.find(({ name, claims }) => (rules ? name === rules.format : claims(path, headers))) ?? contentFormat;
}

/** Some clients take a base URL for the part before `/messages` or `/chat/completions`, others for the part before `/v1`. */
export function withVersion(path: string): string {
  const isBare =
    /^\/(?:messages|chat\/completions|images\/(?:generations|edits)|files|batches|models(?:\/[^/:]+)?)(?:\/|$)/.test(
      path,
    );
  return isBare ? `/v1${path}` : path;
}

/** Finds the route of a request. Throws Problem 404 or 405. */
export function findRoute(method: string, path: string, routing: RouteRules): Destination {
  const { everyPath, rules } = routing;
  if (path === '/healthz') {
    allow(method, ['GET', 'HEAD'], path);
    return 'health';
  }
  const route = routes.find(({ pattern }) => pattern.test(path));
  const fits = route?.methods.includes(method) === true;
  const isServed = route !== undefined && rules?.paths.test(path) !== false;
  if (rules && (!isServed || (rules.methodsArePaths && !fits))) {
    throw !isServed && rules.vendorPaths.test(path) ? notFound(path, routing) : rules.notFound(path, method);
  }
  if (everyPath && !fits) return { route: undefined, model: undefined };
  if (!route) throw notFound(path, routing);
  allow(method, route.methods, path);
  const [, segment] = route.pattern.exec(path) ?? [];
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

function notFound(path: string, { rules }: RouteRules): Problem {
  const served = routes.flatMap(({ shown, methods }) => {
    const isServed = shown !== '' && (rules?.paths.test(shown) ?? true);
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
