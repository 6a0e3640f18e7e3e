/** Characters that roff reads as requests, or prints as others. */
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/** Text without markup. */
export function roffText(text: string): string {
  return text.replaceAll(/[\\'`^~"-]|[^\n\x20-\x7e]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return escapes[character] ?? `\\[u${hex}]`;
  });
}

export function bold(text: string): string {
  return `\\fB${roffText(text)}\\fR`;
}

export function italic(text: string): string {
  return `\\fI${roffText(text)}\\fR`;
}

export function section(title: string): string {
  return `.SH ${roffText(title.toUpperCase())}`;
}

/** A line of marked text. A dot at its beginning would be a request. */
function line(marked: string): string {
  return marked.replace(/^\./, '\\&.');
}

export function paragraph(marked: string): string[] {
  return ['.PP', line(marked)];
}

/** A term and its meaning. */
export function term(marked: string, meaning: string): string[] {
  return ['.TP', line(marked), line(meaning)];
}

/** Lines that stay as they are. */
export function verbatim(lines: readonly string[]): string[] {
  return ['.PP', '.RS 2', '.EX', ...lines.map((text) => line(roffText(text))), '.EE', '.RE'];
}
