import { usageError } from '../errors.ts';
import { isOpenAiFormat } from './openai-format.ts';
import type { FormatName } from './types.ts';

/** Operations that people paste behind a base URL, in OpenAI's formats. */
const pastedOperation =
  /\/(?:(?:chat\/)?completions|responses|images\/(?:generations|edits)|embeddings|messages|models(?:\/[^/]+)?)$/;

/** The others have them behind the version, which is cut with them, or alone. */
const pastedVersion =
  /\/v1(?:alpha|beta)?\/(?:models(?:\/[^/]+)?|messages(?:\/(?:count_tokens|batches))?)$|\/v1(?:beta)?$/;

/** The version at the end of a path: `/v1`, `/v4`, and `/v1beta/openai`. */
const version = /\/v\d+[a-z\d]*(?:\/openai)?$/;

/** The wrong end of a base URL, which is cut: the paths of the operations have it already. OpenAI's formats have the version in it. */
export function findPastedEnd(basePath: string, format: FormatName): string | undefined {
  return (isOpenAiFormat(format) ? pastedOperation : pastedVersion).exec(basePath)?.[0];
}

/** Says in words which end of a URL is cut; undefined if nothing is cut. */
export function describeCut(url: URL, format: FormatName): string | undefined {
  const cut = findPastedEnd(url.pathname.replace(/\/$/, ''), format);
  return cut && `${cut} at the end of the base URL is cut: the paths of the service begin with it`;
}

const openaiOperation = /\/(?:chat\/completions|v\d+\/(?:completions|responses|images\/(?:generations|edits)))$/;

/** Throws GatewayError usage for a base URL that ends with an operation of OpenAI's, in a format that has no such operation. */
export function refuseOtherOperation({ pathname }: URL, format: FormatName): void {
  const [end] = (!isOpenAiFormat(format) && openaiOperation.exec(pathname.replace(/\/$/, ''))) || [];
  if (end === undefined) return;
  const other = end.endsWith('/responses') ? 'responses' : 'completions';
  throw usageError(
    `the base URL ends with ${end}, which the ${format} format does not have`,
    `choose the ${other} format, or leave that end out`,
  );
}

/** The facts of a base URL that decide the place of operations. */
interface BasePath {
  /** The path of the base URL, without slashes at its end. */
  path: string;
  /** The path of the service's own base URL, if this is the service's host. */
  own?: string | undefined;
  /** The path that belongs behind the base path, as the service taught. */
  behind?: string | undefined;
}

/** The place of an operation: the path in front of it, and its own path. */
export interface Placed {
  prefix: string;
  path: string;
  /** Neither the base URL nor the service says whether a version belongs between the two. */
  isGuess: boolean;
}

/**
 * Places an operation below a base URL. Content and messages have their version in the path of each operation. In completions and responses
 * a path is taken whole, also that of a pasted operation, and the operations follow it without their `/v1`; only a base URL without
 * a path gets that.
 */
export function placeOperation(base: BasePath, path: string, format: FormatName): Placed {
  const cut = base.path.slice(0, base.path.length - (findPastedEnd(base.path, format)?.length ?? 0));
  if (!isOpenAiFormat(format) || !path.startsWith('/v1/')) return { prefix: cut, path, isGuess: false };
  const { own, behind = '' } = base;
  const isOwn = own !== undefined && `${own}/`.startsWith(`${cut}/`);
  // A base URL with a whole operation of this kind has no version.
  if (cut === base.path && cut === '' && !isOwn) return { prefix: '', path, isGuess: false };
  const whole = (isOwn ? own : cut) + behind;
  const isGuess = !isOwn && behind === '' && !version.test(cut);
  // The result is the same whether or not `/v1` was typed.
  if (whole.endsWith('/v1')) return { prefix: whole.slice(0, -'/v1'.length), path, isGuess };
  return { prefix: whole, path: path.slice('/v1'.length), isGuess };
}
