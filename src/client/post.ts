import { usageError } from '../errors.ts';
import type { Ask, Encoded } from '../formats/ask.ts';
import { type AuthUse, authUseOf, type Format, formatFacts, type FormatName, type Quirks } from '../formats/format.ts';
import type { JsonObject } from '../json.ts';
import { segmentForm } from '../transport/form.ts';
import {
  authHeaders,
  describeBody,
  type HeaderNames,
  joinUrl,
  parseBaseUrl,
  requireSafeUrl,
  segmentBody,
  versionHeaders,
  withLength,
} from '../transport/request.ts';
import type { HttpRequest, RequestBody } from '../transport/types.ts';
import { version } from '../version.ts';
import type { AuthForm } from '../services.ts';

/** A gateway and how to speak to it. */
export interface Target {
  baseUrl: URL;
  /** Absent: requests go out without a key. */
  key: string | undefined;
  auth: Readonly<Record<AuthUse, AuthForm>>;
  headerNames: HeaderNames;
  /** Further headers of every request, lower-case names. */
  headers: Readonly<Record<string, string>>;
  allowHttp: boolean;
}

/** A request before it is addressed. */
export interface Post extends Encoded {
  format: FormatName;
  /** Decides how the key is carried. */
  use: AuthUse;
}

/** The request of an ask in a format. Throws GatewayError usage, also for a field that the format lacks. */
export function postOf(ask: Ask, format: Format, quirks: Quirks): Post {
  const { lacks, title } = formatFacts[format.name];
  const lacking = lacks.find((field) => isGiven(ask[field]));
  if (lacking !== undefined) throw usageError(`${title} does not have ${lacking}`, 'leave it out');
  return { ...format.encode(ask, quirks), format: format.name, use: authUseOf(format.name, ask.use) };
}

function isGiven(value: Ask[keyof Ask]): boolean {
  return value !== undefined && !(Array.isArray(value) && value.length === 0);
}

/** A post, or without a body a GET. */
export type PostOrGet = Omit<Post, 'body'> & Partial<Pick<Post, 'body'>>;

/** Reads the base URL. Throws GatewayError usage; oddities that were mended are warnings. */
export function createTarget(options: Omit<Target, 'baseUrl'> & { baseUrl: string }): {
  target: Target;
  warnings: string[];
} {
  const { url, warnings } = parseBaseUrl(options.baseUrl);
  return { target: { ...options, baseUrl: url }, warnings };
}

/** The HTTP request of a post or a GET: what `--dry-run` shows and what is sent. Throws GatewayError usage for an unsafe URL. */
export function addressPost(target: Target, post: Omit<PostOrGet, 'format'>): HttpRequest {
  requireSafeUrl(target.baseUrl, { allowHttp: target.allowHttp, hasKey: target.key !== undefined });
  const body = bodyOf(post);
  const headers = {
    ...(body && { 'content-type': body.contentType ?? 'application/json' }),
    accept: post.accept ?? 'application/json',
    'user-agent': `gateway-cli/${version}`,
  };
  const url = joinUrl(target.baseUrl, post.path);
  url.search = post.query ?? '';
  return {
    method: body ? 'POST' : 'GET',
    url,
    ownHeaders: target.headers,
    headers: Object.assign(headers, post.headers, target.headers, keyHeaders(target, post.use)),
    body: body ?? { segments: [], bytes: 0 },
  };
}

function bodyOf({ body, form, file }: Omit<PostOrGet, 'format'>): RequestBody | undefined {
  if (file !== undefined) return { ...withLength([file]), contentType: file.file?.mimeType };
  return body && (form ? segmentForm(body) : segmentBody(body));
}

/** The headers that authenticate, and that of the version; without a key the latter alone. */
export function keyHeaders(target: Target, use: AuthUse): Record<string, string> {
  if (target.key === undefined) return versionHeaders(use, target.headerNames);
  return authHeaders({ use, form: target.auth[use], names: target.headerNames, key: target.key });
}

/** The body as a person may read it: Base64 shortened to its length. */
export function describePost(post: Pick<Post, 'body'>): JsonObject {
  return describeBody(post.body);
}
