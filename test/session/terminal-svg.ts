/** How a cell looks: colours as `#rrggbb`, undefined where they are the terminal's own. */
interface Style {
  foreground?: string | undefined;
  background?: string | undefined;
  bold?: boolean;
  dim?: boolean;
}

interface Cell {
  character: string;
  style: Style;
}

/** Some characters of a line that look alike. */
interface Run {
  at: number;
  text: string;
  style: Style;
}

/** Pixels. A monospaced font is about 0.6 of its size wide; `textLength` makes it exact. */
const cell = { width: 8, height: 18, font: 13.3, baseline: 13.5 };
const margin = 16;
const own = { foreground: '#d6deeb', background: '#10151f' };
const palette = ['#3b4252', '#ef6b73', '#8fd18a', '#e9c46a', '#7aa2f7', '#c792ea', '#7fdbca', '#d6deeb'];

const colors = new RegExp(String.raw`(\x1b\[[\d;]*m)`, 'u');

/** The screen of a terminal, with the escape sequences of its colours, as an SVG picture. */
export function terminalSvg(screen: string, columns: number): string {
  const lines = screen.split('\n').map(cellsOf);
  const width = columns * cell.width + 2 * margin;
  const height = lines.length * cell.height + 2 * margin;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<rect width="${width}" height="${height}" rx="10" fill="${own.background}"/>`,
    `<g transform="translate(${margin} ${margin})" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="${cell.font}" xml:space="preserve">`,
    ...blockPaths(lines),
    ...lines.flatMap((cells, row) => runsOf(cells).map((run) => textElement(run, row))),
    '</g>',
    '</svg>\n',
  ].join('\n');
}

/** The cells of a line of text and `ESC [ … m`. */
function cellsOf(line: string): Cell[] {
  let style: Style = {};
  return line.split(colors).flatMap((piece) => {
    if (!piece.startsWith('\x1b')) return [...piece].map((character) => ({ character, style }));
    style = styled(style, piece.slice(2, -1).split(';').map(Number));
    return [];
  });
}

function styled(before: Style, [code = 0, ...rest]: readonly number[]): Style {
  if (code === 38 || code === 48) {
    const [form, ...values] = rest;
    if (form !== 2) throw new Error('only 24-bit colours are drawn');
    const color = `#${values.slice(0, 3).map(coarse).join('')}`;
    return next({ ...before, [code === 38 ? 'foreground' : 'background']: color }, values.slice(3));
  }
  return next(changed(before, code), rest);
}

function next(style: Style, rest: readonly number[]): Style {
  return rest.length === 0 ? style : styled(style, rest);
}

function changed(before: Style, code: number): Style {
  if (code === 0) return {};
  if (code === 1) return { ...before, bold: true };
  if (code === 2) return { ...before, dim: true };
  if (code === 22) return { ...before, bold: false, dim: false };
  if (code === 39) return { ...before, foreground: undefined };
  if (code === 49) return { ...before, background: undefined };
  const color = palette[code % 10];
  if (color === undefined || !/^[39][0-7]$/.test(`${code}`)) throw new Error(`unexpected style ${code}`);
  return { ...before, foreground: color };
}

/** In steps of 8: shades that look the same share a path. */
function coarse(value: number): string {
  return Math.min(255, Math.round(value / 8) * 8)
    .toString(16)
    .padStart(2, '0');
}

/** Half-blocks are drawn as rectangles, one path a colour: a font leaves seams between them. */
function blockPaths(lines: readonly Cell[][]): string[] {
  const paths = new Map<string, string>();
  for (const [row, cells] of lines.entries()) {
    for (const half of [0, 1]) {
      const colors = cells.map(({ character, style }) =>
        character === '▀' ? (half === 0 ? style.foreground : (style.background ?? style.foreground)) : undefined,
      );
      for (const { at, length, value } of stretches(colors))
        paths.set(value, `${paths.get(value) ?? ''}M${at} ${2 * row + half}h${length}v1h-${length}z`);
    }
  }
  const scaled = `<g transform="scale(${cell.width} ${cell.height / 2})" shape-rendering="crispEdges">`;
  return [scaled, ...[...paths].map(([color, d]) => `<path fill="${color}" d="${d}"/>`), '</g>'];
}

/** Neighbours that are equal. */
function stretches(values: readonly (string | undefined)[]): { at: number; length: number; value: string }[] {
  const found: { at: number; length: number; value: string }[] = [];
  for (const [at, value] of values.entries()) {
    const last = found.at(-1);
    if (value === undefined) continue;
    if (last && last.value === value && last.at + last.length === at) last.length++;
    else found.push({ at, length: 1, value });
  }
  return found;
}

/** The text of a line, in pieces that look alike. */
function runsOf(cells: readonly Cell[]): Run[] {
  const runs: Run[] = [];
  for (const [at, { character, style }] of cells.entries()) {
    if (character === '▀') continue;
    const last = runs.at(-1);
    if (last && last.at + [...last.text].length === at && JSON.stringify(last.style) === JSON.stringify(style))
      last.text += character;
    else runs.push({ at, text: character, style });
  }
  return runs.filter(({ text }) => text.trim() !== '');
}

function textElement({ at, text, style }: Run, row: number): string {
  const blanks = text.length - text.trimStart().length;
  const shown = text.trim();
  const weight = style.bold ? ' font-weight="bold"' : '';
  const opacity = style.dim ? ' opacity="0.7"' : '';
  const place = `x="${(at + blanks) * cell.width}" y="${row * cell.height + cell.baseline}"`;
  const length = `textLength="${[...shown].length * cell.width}"`;
  return `<text ${place} ${length} fill="${style.foreground ?? own.foreground}"${weight}${opacity}>${escaped(shown)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
