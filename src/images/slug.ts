/** Names that Windows gives to devices, with whatever extension. */
const reserved = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;
const mostBytes = 60;
/** Longer prompts are cut before they are looked at. */
const longestPrompt = 400;

/** A prompt as part of a file name: letters and digits of any script, joined by `-`, at most 60 bytes. */
export function slugOf(prompt: string): string {
  const words = prompt
    .slice(0, longestPrompt)
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-');
  return nameable(cutToBytes(trimDashes(words), mostBytes)) || 'image';
}

/** A model's or a reply's id as part of a file name: ASCII letters, digits, `.`, `_` and `-` only. */
export function fileWord(text: string): string {
  const word = text.slice(0, longestPrompt).replace(/[^A-Za-z0-9._-]+/g, '-');
  return nameable(trimDashes(cutToBytes(word, mostBytes))) || 'unknown';
}

/** Cuts a text to so many bytes of UTF-8 without cutting a character. */
function cutToBytes(text: string, bytes: number): string {
  let size = 0;
  let cut = '';
  for (const char of text) {
    size += Buffer.byteLength(char);
    if (size > bytes) break;
    cut += char;
  }
  return trimDashes(cut);
}

/** No leading dot (hidden), no trailing dot and no device name (Windows). */
function nameable(word: string): string {
  return reserved.test(word.split('.', 1)[0] ?? '') ? `_${word}` : word;
}

function trimDashes(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && '-.'.includes(text[start] as string)) start++;
  while (end > start && '-.'.includes(text[end - 1] as string)) end--;
  return text.slice(start, end);
}
