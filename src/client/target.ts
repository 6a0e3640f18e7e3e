import { type AuthForm, authHeaders, type HeaderNames, type Use, versionHeaders } from '../transport/auth.ts';
import { describeBody, segmentBody } from '../transport/body.ts';
import type { HttpRequest } from '../transport/types.ts';
import { joinUrl, parseBaseUrl, requireSafeUrl } from '../transport/url.ts';
import type { JsonObject } from '../json.ts';
import type { Body } from '../upload.ts';
import { version } from '../version.ts';

/** A gateway and how to speak to it. */
export interface Target {
  baseUrl: URL;
  /** Absent: requests go out without a key. */
  key: string | undefined;
  auth: Readonly<Record<Use, AuthForm>>;
  headerNames: HeaderNames;
  /** Further headers of every request, lower-case names. */
  headers: Readonly<Record<string, string>>;
  allowHttp: boolean;
}

/** A request before it is addressed. */
export interface Post {
  /** Below the base URL: `/v1/messages`. */
  path: string;
  /** Behind the path, without its `?`. */
  query?: string | undefined;
  use: Use;
  body: Body;
  accept?: string | undefined;
  /** A stream of the content format, which a gateway need not have. */
  streamsContent?: true | undefined;
}

/** The format of what a use sends and gets. */
export function formatOf(use: Use): 'content' | 'messages' {
  return use === 'messages' ? 'messages' : 'content';
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
export function addressPost(target: Target, post: PostOrGet): HttpRequest {
  requireSafeUrl(target.baseUrl, { allowHttp: target.allowHttp, hasKey: target.key !== undefined });
  const headers = {
    ...(post.body && { 'content-type': 'application/json' }),
    accept: post.accept ?? 'application/json',
    'user-agent': `gateway-cli/${version}`,
  };
  const url = joinUrl(target.baseUrl, post.path);
  url.search = post.query ?? '';
  return {
    method: post.body ? 'POST' : 'GET',
    url,
    ownHeaders: target.headers,
    headers: Object.assign(headers, target.headers, keyHeaders(target, post.use)),
    body: post.body ? segmentBody(post.body) : { segments: [], bytes: 0 },
  };
}

/** The headers that authenticate, and that of the version; without a key the latter alone. */
export function keyHeaders(target: Target, use: Use): Record<string, string> {
  if (target.key === undefined) return versionHeaders(use, target.headerNames);
  return authHeaders({ use, form: target.auth[use], names: target.headerNames, key: target.key });
}

/** The body as a person may read it: Base64 shortened to its length. */
export function describePost(post: Post): JsonObject {
  return describeBody(post.body);
}
