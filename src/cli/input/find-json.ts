import { eachMark, levelsOf, parseFlat } from '../../library/index.ts';

/**
 * The JSON documents in an answer, as their text: the whole answer, the content of its only code block, or the objects and lists
 * between its words. Services without a field that asks for JSON answer in any form.
 */
export function findJson(answer: string): string[] {
  const whole = answer.trim();
  if (isJson(whole)) return [whole];
  const fenced = /^(`{3,})[a-z]*[ \t]*\r?\n([\s\S]*)\r?\n[ \t]*\1$/i.exec(whole)?.[2]?.trim();
  if (fenced !== undefined && isJson(fenced)) return [fenced];
  return betweenWords(whole);
}

/** An answer holds few documents, and each bracket may have to be followed to its end. */
const maxTries = 64;

/** An object or list without an end was cut: the objects inside it are not the answer. */
function betweenWords(text: string): string[] {
  const found: string[] = [];
  const opening = /[{[]/g;
  for (let tries = 0; ; tries++) {
    const start = opening.exec(text)?.index;
    if (start === undefined) return found;
    const end = findValueEnd(text, start);
    if (end === undefined || tries >= maxTries) return [];
    const piece = text.slice(start, end);
    if (!isJson(piece)) continue;
    found.push(piece);
    opening.lastIndex = end;
  }
}

/** The end of the brackets that open at a position. */
function findValueEnd(text: string, start: number): number | undefined {
  let level = 0;
  let end: number | undefined;
  eachMark(
    text,
    (mark, at) => {
      level += levelsOf(mark);
      if (level === 0) end = at + 1;
      return level === 0;
    },
    start,
  );
  return end;
}

function isJson(text: string): boolean {
  try {
    parseFlat(text);
    return true;
  } catch {
    return false;
  }
}
