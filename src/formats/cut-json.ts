/**
 * Closes JSON text that lacks its end, so that what came can be kept: cut back to the last whole value, open brackets
 * closed. Undefined when the text is whole, or when it is not the beginning of a JSON object or array at all.
 */
export function closeCutJson(text: string): string | undefined {
  const cut = findCut(text);
  if (!cut || cut.closers.length === 0) return undefined;
  const closed = cut.text + cut.closers.toReversed().join('');
  return parses(closed) ? closed : undefined;
}

interface Cut {
  /** The text up to the last whole value, or up to the last character of a text that was cut. */
  text: string;
  /** What closes the brackets that are open there. */
  closers: string[];
}

/** The stack of open brackets changes only where a whole value is noted, so what is open at the end is open there too. */
function findCut(text: string): Cut | undefined {
  const start = text.search(/\S/);
  if (start < 0 || (text[start] !== '{' && text[start] !== '[')) return undefined;
  const closers: string[] = [];
  let wholeEnd = start;
  let before = '';
  for (let i = start; i < text.length; i++) {
    const char = text[i] as string;
    if (char === '"') {
      const end = stringEnd(text, i);
      if (end < 0) return cutProse(text, i, closers) ?? { text: text.slice(0, wholeEnd), closers };
      i = end;
      // A key is no value: without one it says nothing.
      if (before === ':' || closers.at(-1) === ']') wholeEnd = end + 1;
    } else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']');
      wholeEnd = i + 1;
    } else if (char === '}' || char === ']') {
      if (closers.pop() !== char) return undefined;
      wholeEnd = i + 1;
    } else if (char === ',') {
      wholeEnd = i;
    }
    if (char > ' ') before = char;
  }
  return { text: text.slice(0, wholeEnd), closers };
}

/** Prose is kept as far as it came; any other string, Base64 above all, only whole. */
function cutProse(text: string, start: number, closers: string[]): Cut | undefined {
  if (!/"(text|thinking)"\s*:\s*$/.test(text.slice(Math.max(0, start - 40), start))) return undefined;
  const prose = withoutCutEscape(withoutCutImage(text.slice(start + 1)));
  return { text: `${text.slice(0, start + 1)}${prose}"`, closers };
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
  return isEscaped(prose, cut) ? prose : prose.slice(0, cut);
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  for (let i = at - 1; i >= 0 && text[i] === '\\'; i--) backslashes++;
  return backslashes % 2 === 1;
}

function stringEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i;
  }
  return -1;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
