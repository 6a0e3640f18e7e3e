import { describe, expect, test } from 'vitest';
import { startMarkdown } from '../../../src/cli/terminal/live-markdown.ts';
import { isFull } from '../../helpers/full.ts';
import { openScreen } from '../../helpers/terminal.ts';

/** A text that arrives in pieces on a terminal; `see` is called after each. */
async function show(
  pieces: readonly string[],
  {
    columns = 40,
    rows = 24,
    see,
    resize = () => undefined,
  }: {
    columns?: number;
    rows?: number;
    see?: (lines: string[], at: number) => void;
    resize?: (at: number) => [columns: number, rows: number] | undefined;
  } = {},
): Promise<string[]> {
  const screen = openScreen(columns, rows);
  let cleared = 0;
  screen.onCleared(() => cleared++);
  const stdout = { isTTY: true, columns, rows, write: (chunk: string | Uint8Array) => screen.write(chunk) };
  const markdown = startMarkdown(stdout, false);
  for (const [at, piece] of pieces.entries()) {
    await markdown.write(piece);
    see?.(screen.wholeLines(), at);
    const size = resize(at);
    if (size === undefined) continue;
    [stdout.columns, stdout.rows] = size;
    screen.resize(...size);
  }
  await markdown.end();
  expect(cleared).toBe(0);
  return screen.wholeLines();
}

test('a line of another stream begins between the printed lines and those that are still drawn', async () => {
  const screen = openScreen(40, 24);
  const stdout = { isTTY: true, columns: 40, rows: 24, write: (chunk: string | Uint8Array) => screen.write(chunk) };
  const markdown = startMarkdown(stdout, false);
  await markdown.write('one **two');
  const printed = markdown.makeRoom(() => screen.write('warning: late\n'));
  await Promise.all([printed, markdown.write(' three** four')]);
  await markdown.end();
  expect(screen.wholeLines()).toEqual(['warning: late', 'one two three four']);
});

const words = (count: number, name = 'w'): string => Array.from({ length: count }, (_, at) => `${name}${at}`).join(' ');
const numbered = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');

const shapes: Record<string, string> = {
  'a paragraph': words(150),
  'a list of 30 items': numbered(30, (at) => `- item${at} ${words(3 + (at % 4), `i${at}x`)}`),
  'a numbered list': numbered(20, (at) => `${at + 1}. item${at} ${words(3, `i${at}x`)}`),
  'nested lists': numbered(
    6,
    (at) => `- a${at} ${words(9, `b${at}x`)}\n  - c${at}\n    1. d${at} ${words(9, `e${at}x`)}`,
  ),
  'a table': `| Name | Meaning | More |\n|---|---|---:|\n${numbered(20, (at) => `| n${at} | m${at}p | r${at} |`)}`,
  'a quote': numbered(10, (at) => `> q${at} ${words(14, `r${at}x`)}`),
  'plain lines': numbered(30, (at) => `line${at} and${at}`),
  code: `\`\`\`sh\n${numbered(30, (at) => `echo e${at} f${at}`)}\n\`\`\`\nend`,
  'code in a list': `- see:\n  \`\`\`sh\n${numbered(25, (at) => `  echo e${at} f${at}`)}\n  \`\`\`\n- end`,
  'code in a quote': `> \`\`\`\n${numbered(25, (at) => `> e${at} f${at}`)}\n> \`\`\`\n\nend`,
  headings: numbered(8, (at) => `## h${at} title${at}\n\n${words(15, `t${at}x`)}\n`),
  'emphasis and links': numbered(
    8,
    (at) => `a${at} **b${at} c${at}** _d${at}_ \`e${at} f${at}\` [g${at} h${at}](http://x.y/i${at}) j${at} * k${at}`,
  ).replaceAll('\n', ' '),
  Chinese: Array.from({ length: 90 }, (_, at) => `你好世界${at}，`).join(''),
  emoji: numbered(25, (at) => `😀 s${at} 👨‍👩‍👧 t${at} ❤️ u${at}`).replaceAll('\n', ' '),
  'long words': numbered(3, (at) => `see${at} http://host/${`part${at}x`.repeat(30)}y${at} end${at}`),
};

/** The letters of a text or a screen, in their order. The language of code is not shown. */
const letters = (text: string): string =>
  text.replaceAll('```sh', '').replaceAll(/[^\p{L}\p{N}\p{Extended_Pictographic}]/gu, '');

/** As a steady answer comes: 12 characters at a time. */
const piecesOf = (text: string): string[] => text.match(/[^]{1,12}/gu) ?? [];

describe.each(Object.entries(shapes))('%s', (_name, text) => {
  const pieces = piecesOf(text);
  const arrived = (at: number): string => letters(pieces.slice(0, at + 1).join(''));

  test.each(
    isFull
      ? [
          [40, 10],
          [80, 24],
        ]
      : [[40, 10]],
  )('is on a screen of %i × %i while it comes, each word once', async (columns, rows) => {
    const see = (lines: string[], at: number): void => expect(letters(lines.join(''))).toBe(arrived(at));
    expect(letters((await show(pieces, { columns, rows, see })).join(''))).toBe(letters(text));
  });
});

describe.each(Object.entries(shapes))('%s', (_name, text) => {
  const pieces = piecesOf(text);
  const arrived = (at: number): string => letters(pieces.slice(0, at + 1).join(''));

  test('is there, each word once, while the window is resized', async () => {
    const sizes: [number, number][] = [
      [60, 20],
      [40, 10],
      [200, 50],
      [47, 24],
      [80, 8],
    ];
    const see = (lines: string[], at: number): void => expect(letters(lines.join(''))).toBe(arrived(at));
    const resize = (at: number) => (at % 7 === 3 ? sizes[((at - 3) / 7) % sizes.length] : undefined);
    await show(pieces, { columns: 80, rows: 24, see, resize });
  });
});

test('shows half a line of a paragraph at once, and goes on in its place', async () => {
  const seen: string[][] = [];
  await show(['Fog ', 'and be', 'am, **bo', 'ld** and'], { see: (lines) => void seen.push(lines) });
  expect(seen).toEqual([['Fog'], ['Fog and be'], ['Fog and beam, **bo'], ['Fog and beam, bold and']]);
});

test('shows the rows of a table while they come, as wide as the first rows say', async () => {
  const seen: string[][] = [];
  const see = (lines: string[]): void => void seen.push(lines);
  await show(['| a | b |\n', '|---|--:|\n', '| 1 | 22', '2 |\n| x', ' | y |\n'], { see });
  expect(seen).toEqual([
    ['| a | b |'],
    ['a  b', '─  ─'],
    ['a   b', '─  ──', '1  22'],
    ['a    b', '─  ───', '1  222', 'x'],
    ['a    b', '─  ───', '1  222', 'x    y'],
  ]);
});

test('keeps the widths of the columns when the first rows of a table have left the window', async () => {
  const rows = numbered(30, (at) => `| n${at} | ${'x'.repeat(at % 5)}m${at} |`);
  const text = `| Name | Meaning |\n|---|---|\n${rows}\n`;
  const shown = await show(piecesOf(text), { rows: 8 });
  const columns = shown.slice(2).map((line) => line.search(/x*m/));
  expect(new Set(columns).size).toBe(1);
});

test('numbers a long list on, and hangs the lines of its items', async () => {
  const text = numbered(14, (at) => `1. ${words(6, `item${at}x`)}`);
  const shown = await show(piecesOf(text), { rows: 8 });
  const items = Array.from({ length: 14 }, (_, at) => shown.find((line) => line.startsWith(`${at + 1}. item${at}x0 `)));
  expect(items).not.toContain(undefined);
  expect(shown.filter((line) => /^ {3,4}item/.test(line))).toHaveLength(14);
});

test('a long address is one line for the terminal, so that it is copied whole', async () => {
  const address = `https://example.com/${'a'.repeat(60)}?b=${'c'.repeat(40)}`;
  const shown = await show(piecesOf(`See ${address} and [here](${address}).\n\n- ${address}`));
  expect(shown).toEqual(['See', address, 'and here', `(${address}).`, '', `• ${address}`]);
});

test('a long address in a cell is one line for the terminal, so that it is copied whole', async () => {
  const address = `https://example.com/${'a'.repeat(60)}?b=${'c'.repeat(40)}`;
  const row = (at: number, where: string) => `| n${at} | ${where} | ${words(6, `m${at}x`)} |\n`;
  const text = `| Name | Where | Meaning |\n|---|---|---|\n${row(1, 'here')}${row(2, address)}${row(3, 'there')}`;
  for (const pieces of [[text], piecesOf(text)]) {
    const shown = await show(pieces, { columns: 50 });
    expect(shown.filter((line) => line.includes(address))).toHaveLength(1);
    expect(letters(shown.join(''))).toContain('there');
  }
});

test('sends no sequence to a terminal for a text that comes whole', async () => {
  let written = '';
  const stdout = {
    isTTY: true,
    columns: 40,
    rows: 24,
    write: async (chunk: unknown) => void (written += String(chunk)),
  };
  const markdown = startMarkdown(stdout, false);
  await markdown.write('one *two*\n\n- three');
  await markdown.end();
  expect(written).toBe('one two\n\n• three\n');
});

test('prints only what is decided on a terminal whose height is unknown', async () => {
  let written = '';
  const stdout = { isTTY: true, columns: 10, write: async (chunk: unknown) => void (written += String(chunk)) };
  const markdown = startMarkdown(stdout, false);
  for (const piece of ['one two ', 'three four', ' five']) await markdown.write(piece);
  expect(written).toBe('one two\nthree four\n');
  await markdown.end();
  expect(written).toBe('one two\nthree four\nfive\n');
});

const document = `# Title

A paragraph with **bold words** and a [link](http://a.b) that goes over the edge.

- one
- two words that are long enough to wrap at forty
  1. nested
  2. list

- loose

  with a paragraph

1. a list

\`\`\`sh
echo 'a line of code that is wider than the screen is'

# done
\`\`\`
> quoted *text*
> - item

---
The end.`;

test('shows the same in the end, wherever the text is cut', async () => {
  const expected = await show([document]);
  for (let cut = 0; cut <= document.length; cut += isFull ? 1 : 23)
    expect(await show([document.slice(0, cut), document.slice(cut)])).toEqual(expected);
  expect(await show([...document.replaceAll('\n', '\r\n')])).toEqual(expected);
  expect(await show([...document], { rows: 5 })).toEqual(expected);
});

const crossing = `Some words and **bold words that go on for more than a line** and [a link
whose text is long too](http://a.b/c) and *more emphasis than fits in it* end.

| Short | Name | Other |
|---|---|---|
| a | b | abcdefghijk |
| abcdefghijk | abcdefghi | abcdefghijk |
| c | d | e |

After it.`;

test('shows the same in the end in narrow windows, also where emphasis, a link or a row takes several lines', async () => {
  for (const columns of isFull ? [20, 23, 26, 29, 32, 36, 41, 48] : [20, 29, 41])
    expect([columns, await show(piecesOf(crossing), { columns })]).toEqual([
      columns,
      await show([crossing], { columns }),
    ]);
});

test('formats a text of more than 32 KB that comes in one piece, but for a block that is as long', async () => {
  const paragraphs = Array.from({ length: 60 }, (_, at) => `Part **${at}** is ${'long '.repeat(120)}end.`);
  const text = ['- one', '- two', '', ...paragraphs.flatMap((paragraph) => [paragraph, ''])].join('\n');
  expect(text.length).toBeGreaterThan(32 * 1024);
  const lines = await show([text, 'The last *word*.'], { columns: 1000 });
  expect(lines.slice(0, 4)).toEqual(['• one', '• two', '', expect.stringMatching(/^Part 0 is long /)]);
  expect(lines.at(-1)).toBe('The last word.');
  expect(lines.filter((line) => /^Part \d+ is .*end\.$/.test(line))).toHaveLength(60);
  const block = '**word** '.repeat(4000);
  expect((await show([block, 'after'], { columns: 200 })).join('')).toContain('**word** **word**');
});

const long: [kind: string, text: string, shown: RegExp][] = [
  [
    'code',
    `\`\`\`sh\n${numbered(400, (at) => `  echo e${at} # *f${at}*`)}\n\`\`\`\n\nend`,
    /^    echo e\d+ # \*f\d+\*$/,
  ],
  [
    'a table',
    `| Name | Meaning |\n|---|---|\n${numbered(400, (at) => `| n${at} | m${at}p |`)}\n\nend`,
    /^n\d+ +m\d+p$/,
  ],
  ['a list', `${numbered(400, (at) => `- item${at}\n  1. *x${at}*`)}\n\nend`, /^(?:• item\d+|  1\. x\d+)$/],
  ['a paragraph', `${words(2000)}\n\nend`, /^w\d+(?: w\d+)*$/],
];

test.each(long)('a long block goes on as one: %s', async (_kind, text, line) => {
  const shown = await show(piecesOf(text));
  expect(letters(shown.join(''))).toBe(letters(text));
  expect(shown.slice(-2)).toEqual(['', 'end']);
  const others = shown.slice(0, -2).filter((one) => !line.test(one));
  expect(others).toHaveLength(text.startsWith('|') ? 2 : 0);
});

test('puts an empty line between blocks, and none at the beginning', async () => {
  expect(await show(['\n\na\n\n\nb\n'])).toEqual(['a', '', 'b']);
});

test.each([
  ['60 KB of marks', '*a_'.repeat(20_000)],
  ['a long paragraph', '**a** '.repeat(8000)],
  ['2,000 quotes', `${'> '.repeat(2000)}deep`],
  ['1,000 lists', `${'- '.repeat(1000)}deep`],
  ['200 nested items', Array.from({ length: 200 }, (_, at) => `${' '.repeat(at)}- x`).join('\n')],
  ['2,000 open brackets', '['.repeat(2000)],
])('shows %s without loss', async (_name, text) => {
  expect(letters((await show([text], { columns: 200 })).join(''))).toBe(letters(text));
});

test('nothing in a text is obeyed by the terminal', async () => {
  let written = '';
  const stdout = {
    isTTY: true,
    columns: 40,
    rows: 24,
    write: async (chunk: unknown) => void (written += String(chunk)),
  };
  const markdown = startMarkdown(stdout, false);
  await markdown.write('a\u001b[2Jb `\u001b[31m` &#27;[1m &#1; &#2; \u0001\u0002\r\n\n```\n\u001b[3m\n```\n');
  await markdown.end();
  expect(written.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

test('a window of one row gets each word once', async () => {
  const text = `# ${words(3, 'h')}\n\n${words(40)}\n\n- ${words(9, 'i')}\n\n\`\`\`\n${words(5, 'c')}\n\`\`\`\n`;
  expect(letters((await show(piecesOf(text), { columns: 40, rows: 1 })).join(''))).toBe(letters(text));
});
