import { findJsonStop } from '../json-position.ts';

/** JSON text without its end, closed so that its values can be kept. */
interface ClosedJson {
  /** Cut back to the last whole value, open brackets closed. */
  json: string;
  /** The text is not the beginning of JSON: `json` holds the part before its first wrong character. */
  isWrong: boolean;
}

/** Undefined when the text is whole, or when it does not begin as a JSON object or array. */
export function closeCutJson(text: string): ClosedJson | undefined {
  const { isCut, at, wholeEnd, closers } = findJsonStop(text);
  if (closers.length === 0) return undefined;
  const kept = (isCut && text[at] === '"' ? cutProse(text, at) : undefined) ?? text.slice(0, wholeEnd);
  return { json: kept + closers.toReversed().join(''), isWrong: !isCut };
}

/** Prose is kept up to the cut; any other string, Base64 above all, only if it is whole. */
function cutProse(text: string, start: number): string | undefined {
  if (!/"(text|thinking)"\s*:\s*$/.test(text.slice(Math.max(0, start - 40), start))) return undefined;
  // The first bytes of a character that was cut become U+FFFD, which is removed.
  const prose = withoutCutEscape(withoutCutImage(text.slice(start + 1))).replace(/\uFFFD$/, '');
  return `${text.slice(0, start + 1)}${prose}"`;
}

function withoutCutImage(prose: string): string {
  const url = prose.lastIndexOf('data:');
  if (url < 0 || prose.indexOf(')', url) >= 0) return prose;
  const opening = prose.lastIndexOf('![', url);
  return prose.slice(0, opening < 0 ? url : opening);
}

function withoutCutEscape(prose: string): string {
  const at = prose.slice(-6).search(/\\(u[0-9a-fA-F]{0,3})?$/);
  if (at < 0) return prose;
  const cut = prose.length - Math.min(6, prose.length) + at;
  return isAfterBackslash(prose, cut) ? prose : prose.slice(0, cut);
}

function isAfterBackslash(text: string, at: number): boolean {
  let backslashes = 0;
  for (let i = at - 1; i >= 0 && text[i] === '\\'; i--) backslashes++;
  return backslashes % 2 === 1;
}
