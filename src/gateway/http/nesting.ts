const quote = 0x22;
const backslash = 0x5c;
const [openBracket, openBrace] = [0x5b, 0x7b];
const [closeBracket, closeBrace] = [0x5d, 0x7d];

/** Whether JSON has more levels, found before it is parsed and without a call for each level. */
export function isDeeperThan(levels: number, json: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (byte === quote) at = endOfString(json, at);
    else if (byte === closeBracket || byte === closeBrace) depth--;
    else if ((byte === openBracket || byte === openBrace) && ++depth > levels) return true;
  }
  return false;
}

/** Where the string that begins at `start` ends; strings are long, and the search for a quote is fast. */
function endOfString(json: Buffer, start: number): number {
  let end = json.indexOf(quote, start + 1);
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf(quote, end + 1);
  return end === -1 ? json.length : end;
}

function isEscaped(json: Buffer, at: number): boolean {
  let before = at - 1;
  while (json[before] === backslash) before--;
  return (at - before) % 2 === 0;
}
