/** Names of characters that roff would read, or print as others. */
const names: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/** Text that a man page shows as it stands. It must not begin its line where it can begin with a dot: see `line`. */
export function plain(text: string): string {
  return text.replaceAll(/[\\'`^~"-]|[^\n\x20-\x7e]/gu, (character) => names[character] ?? `\\[u${hex(character)}]`);
}

export function bold(text: string): string {
  return `\\fB${plain(text)}\\fR`;
}

export function italic(text: string): string {
  return `\\fI${plain(text)}\\fR`;
}

/** A line of the page, of text that has its marks. A dot in front would make it a request. */
export function line(marked: string): string {
  return marked.replace(/^(?=\.)/, '\\&');
}

export function section(title: string): string {
  return `.SH ${plain(title.toUpperCase())}`;
}

export function subsection(title: string): string {
  return `.SS ${plain(title)}`;
}

export function paragraph(marked: string): string[] {
  return ['.PP', line(marked)];
}

/** A term, and what it means behind it. Further lines stand below each other. */
export function term(marked: string, [first = '', ...others]: readonly string[]): string[] {
  return ['.TP', line(marked), line(first), ...others.flatMap((text) => ['.br', line(text)])];
}

/** Lines that are copied as they stand. */
export function verbatim(lines: readonly string[]): string[] {
  return ['.PP', '.RS 2', '.EX', ...lines.map((text) => line(plain(text))), '.EE', '.RE'];
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}
