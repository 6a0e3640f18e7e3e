import { quote } from './quote.ts';

/** What an error body that is no JSON says: the title of an HTML page, or its first 200 characters (deviation 39). */
export function messageOfText(text: string): string {
  if (!text.trimStart().startsWith('<')) return quote(text);
  return quote(titleOf(text) ?? withoutTags(text));
}

function titleOf(html: string): string | undefined {
  const lower = html.toLowerCase();
  const tag = lower.indexOf('<title');
  const start = tag < 0 ? -1 : lower.indexOf('>', tag);
  const end = start < 0 ? -1 : lower.indexOf('</title', start);
  const title = end < 0 ? '' : html.slice(start + 1, end).trim();
  return title === '' ? undefined : title;
}

/** The text between the tags, as far as an error message needs it. */
function withoutTags(html: string): string {
  let text = '';
  for (let at = 0; at < html.length && text.length < 2000;) {
    const open = html.indexOf('<', at);
    if (open < 0) return text + html.slice(at);
    text += `${html.slice(at, open)} `;
    const close = html.indexOf('>', open);
    if (close < 0) return text;
    at = close + 1;
  }
  return text;
}
