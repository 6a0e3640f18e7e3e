import { decodeCompletionsRequest } from '../library/formats/completions/decode.ts';
import { decodeContentRequest } from '../library/formats/content/decode.ts';
import type { DecodedRequest } from '../library/formats/decoded-request.ts';
import { decodeMessagesRequest } from '../library/formats/messages/decode.ts';
import { decodeResponsesRequest } from '../library/formats/responses/decode.ts';
import type { FormatName } from '../library/formats/types.ts';
import type { JsonObject } from '../library/index.ts';
import { contentCount, contentFormat, contentOperation } from './content/format.ts';
import { completionsFormat, completionsOperation } from './completions/format.ts';
import { editsOperation, imagesOperation, referencesOperation } from './completions/images.ts';
import type { BodyHandler, GatewayFormat, GatewayFormatName, GatewayOperation } from './types.ts';
import { responsesCount, responsesOperation } from './responses/format.ts';
import { keptResponsePaths } from './responses/store.ts';
import { messagesCount, messagesFormat, messagesOperation } from './messages/format.ts';
import { completionsBatchPaths } from './batches/completions.ts';
import { contentBatchPaths } from './batches/content.ts';
import { contentFilePaths } from './batches/content-files.ts';
import { messagesBatchPaths } from './batches/messages.ts';
import type { StoreActions, StorePaths } from './batches/store.ts';
import { answerOperation, answerCount } from './operation.ts';
import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from './problem.ts';
import type { AppOptions } from './app.ts';

/** Every format of the gateway. A path belongs to the first format that claims it. */
const formats: readonly GatewayFormat[] = [completionsFormat, messagesFormat, contentFormat];

/** The format of the gateway for the errors and lists of a wire format: OpenAI's two formats share them. */
export function findGatewayFormat(name: FormatName): GatewayFormat {
  return formats.find((format) => format.name === name) ?? completionsFormat;
}

/** A path of the gateway. A path without a handler for a body and without an action lists models. */
interface RouteRow {
  /** A pattern, in which `{model}` and `{id}` match a segment, and `{version}` one of Google's. */
  path: string;
  /** Answers the body. */
  handle?: BodyHandler;
  /** Texts on this path can be requested from a service of another format. */
  wire?: Wire;
  /** Acts on batches, files and responses that are kept. */
  kept?: StoreActions;
  /** The only format of the path: vendors have files, batches and lists of models at the same paths. */
  format?: GatewayFormatName;
  /** Whether the body can be a form in place of JSON. */
  form?: true;
  /** Whether the reply is a stream, whatever the body says. */
  streams?: true;
}

/** A path of the gateway, ready to be compared. */
export interface Route extends RouteRow {
  methods: readonly string[];
  pattern: RegExp;
}

const contentModel = '/{version}/models/{model}';

/** An operation in the form of the wire: the reader of its requests with the writer of its replies. */
export interface Wire {
  format: FormatName;
  operation: GatewayOperation;
  decode(body: JsonObject): DecodedRequest;
}

function wireRow(wire: Wire): Omit<RouteRow, 'path'> {
  return { wire, handle: answerOperation(wire.operation) };
}

const contentRow = wireRow({ format: 'content', operation: contentOperation, decode: decodeContentRequest });

/** Every path of the gateway. To add a format, add a folder like content and messages, name its format above, and add its paths here. */
const rows: readonly RouteRow[] = [
  ...listRows('content', {
    [`${contentModel}:generateContent`]: contentRow,
    [`${contentModel}:streamGenerateContent`]: { ...contentRow, streams: true },
    [`${contentModel}:countTokens`]: { handle: answerCount(contentOperation, contentCount) },
    ...keptRows({ ...contentBatchPaths, ...contentFilePaths }),
  }),
  ...listRows('messages', {
    '/v1/messages': wireRow({ format: 'messages', operation: messagesOperation, decode: decodeMessagesRequest }),
    '/v1/messages/count_tokens': { handle: answerCount(messagesOperation, messagesCount) },
    ...keptRows(messagesBatchPaths),
  }),
  ...listRows('completions', {
    '/v1/chat/completions': wireRow({
      format: 'completions',
      operation: completionsOperation,
      decode: decodeCompletionsRequest,
    }),
    '/v1/responses': wireRow({ format: 'responses', operation: responsesOperation, decode: decodeResponsesRequest }),
    '/v1/responses/input_tokens': { handle: answerCount(responsesOperation, responsesCount) },
    '/v1/images/generations': { handle: answerOperation(imagesOperation) },
    '/v1/images/edits': { handle: answerOperation(editsOperation), form: true },
    '/v1/images': { handle: answerOperation(referencesOperation) },
    ...keptRows({ ...keptResponsePaths, ...completionsBatchPaths }),
  }),
  { path: '/{version}/models(?:/{id})?' },
];

type RouteRows = Readonly<Record<string, Omit<RouteRow, 'path'>>>;

function listRows(format: GatewayFormatName, paths: RouteRows): RouteRow[] {
  return Object.entries(paths).map(([path, row]) => ({ path, format, ...row }));
}

function keptRows(paths: StorePaths): RouteRows {
  return Object.fromEntries(Object.entries(paths).map(([path, kept]) => [path, { kept }]));
}

const routes = rows.map((row): Route => {
  const { path, kept, handle } = row;
  const methods = kept ? Object.keys(kept) : [handle ? 'POST' : 'GET'];
  const pattern = path
    .replace('{version}', 'v1(?:alpha|beta)?')
    .replace('{model}', '([^/]+)')
    // An operation of the vendor is not an id.
    .replace('{id}', '(?!compact$)([^/:]+)');
  return { ...row, methods, pattern: new RegExp(`^${pattern}$`) };
});

/** The destination of a request; without a route it is a path that only an upstream gateway may know. */
type Destination = { route: Route | undefined; pathId: string | undefined } | 'health';

/** The format of errors on a path, also on an unknown path: the format of the service, if the gateway stands for one. */
export function chooseErrorFormat(
  path: string,
  headers: IncomingHttpHeaders,
  { rules }: Pick<AppOptions, 'rules'>,
): GatewayFormat {
  return formats.find(({ name, claims }) => (rules ? name === rules.format : claims(path, headers))) ?? contentFormat;
}

/**
 * Adds `/v1` if it is missing: some clients take a base URL for the part before `/messages` or `/chat/completions`, others for
 * the part before `/v1`.
 */
export function withVersion(path: string): string {
  const isBare =
    /^\/(?:messages|chat\/completions|responses|images\/(?:generations|edits)|files|batches|models(?:\/[^/:]+)?)(?:\/|$)/.test(
      path,
    );
  return isBare ? `/v1${path}` : path;
}

/** Finds the route of a request. Throws Problem 404 or 405. */
export function findRoute(
  method: string,
  path: string,
  format: GatewayFormatName,
  { everyPath }: Pick<AppOptions, 'everyPath'>,
): Destination {
  if (path === '/healthz') {
    requireMethod(method, ['GET', 'HEAD'], path);
    return 'health';
  }
  const route = routes.find((row) => row.pattern.test(path) && (row.format ?? format) === format);
  const fits = route?.methods.includes(method) === true;
  if (everyPath && !fits) return { route: undefined, pathId: undefined };
  if (!route) throw notFound(path);
  requireMethod(method, route.methods, path);
  const [, segment] = route.pattern.exec(path) ?? [];
  const pathId = segment === undefined ? undefined : decodeSegment(segment);
  if (segment !== undefined && pathId === undefined) throw notFound(path);
  return { route, pathId };
}

function requireMethod(method: string, methods: readonly string[], path: string): void {
  if (methods.includes(method)) return;
  throw new Problem(405, `${method} is not allowed on ${path}; use ${methods.join(' or ')}`, {
    status: 'INVALID_ARGUMENT',
    headers: { allow: methods.join(', ') },
  });
}

function notFound(path: string): Problem {
  const message = `the local gateway does not have ${path.slice(0, 200)}; its paths are in: gateway-cli help serve`;
  return new Problem(404, message);
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
