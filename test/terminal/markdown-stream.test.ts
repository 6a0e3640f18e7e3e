import { expect, test } from 'vitest';
import { startMarkdown } from '../../src/terminal/markdown-stream.ts';

/** Writes the pieces; gives what was printed after each of them, and at the end. */
async function stream(pieces: readonly string[], columns = 40): Promise<string[]> {
  const printed: string[] = [];
  let now = '';
  const stdout = { isTTY: true, columns, write: async (chunk: unknown) => void (now += String(chunk)) };
  const markdown = startMarkdown(stdout, false);
  const take = (): void => {
    printed.push(now);
    now = '';
  };
  for (const piece of pieces) {
    await markdown.write(piece);
    take();
  }
  await markdown.end();
  take();
  return printed;
}

const whole = async (text: string, columns?: number): Promise<string> => (await stream([text], columns)).join('');

test.each([
  ['a paragraph, when the next line is empty', ['one *two*\n', 'three\n', '\n'], ['', '', 'one two\nthree\n', '']],
  ['a heading at once', ['# Ti', 'tle\n', 'text'], ['', '# Title\n', '', '\ntext\n']],
  ['code line by line', ['```sh\nls', ' -l\n', '```\n'], ['', '  ls -l\n', '', '']],
  ['code behind a paragraph', ['see:\n```\na\n', '```\nend'], ['see:\n\n  a\n', '', '\nend\n']],
  [
    'a list, when what follows is no part of it',
    ['- a\n\n', '  more\n\n', 'text\n'],
    ['', '', '• a\n\n  more\n', '\ntext\n'],
  ],
  ['a table whole', ['| a | b |\n|---|--:|\n', '| 1 | 22 |\n', '\n'], ['', '', 'a   b\n─  ──\n1  22\n', '']],
])('prints %s', async (_name, pieces, expected) => {
  expect((await stream([...pieces])).map((text) => text.trimEnd())).toEqual(
    [...expected, ...(expected.length > pieces.length ? [] : [''])].map((text) => text.trimEnd()),
  );
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

test('prints the same, wherever the text is cut', async () => {
  const expected = await whole(document);
  for (let cut = 0; cut <= document.length; cut++)
    expect((await stream([document.slice(0, cut), document.slice(cut)])).join('')).toBe(expected);
  expect((await stream([...document.replaceAll('\n', '\r\n')])).join('')).toBe(expected);
});

test('puts an empty line between blocks, and none at the beginning', async () => {
  expect(await whole('\n\na\n\n\nb\n')).toBe('a\n\nb\n');
});

test('shows a block that is longer than 32 KiB as it is, and formats the next', async () => {
  const long = '**a** '.repeat(8000);
  const pieces = [long.slice(0, 40_000), long.slice(40_000)];
  expect(await stream([...pieces, '\n\n*b*\n'])).toEqual([...pieces, '\n', '\nb\n']);
  expect(await whole(long)).toBe(`${long}\n`);
});

test.each([
  ['60 KB of marks', '*a_'.repeat(20_000)],
  ['30 KB of marks', '*a_'.repeat(10_000)],
  ['2,000 quotes', `${'> '.repeat(2000)}deep`],
  ['1,000 lists', `${'- '.repeat(1000)}deep`],
  [
    '1,100 nested items',
    Array.from({ length: 1100 }, (_, at) => `${' '.repeat(at)}- x`)
      .join('\n')
      .slice(0, 600_000),
  ],
  ['2,000 open brackets', '['.repeat(2000)],
])('shows %s without loss', async (_name, text) => {
  const shown = await whole(text, 200);
  const letters = (words: string): string => words.replaceAll(/[^a-z]/g, '');
  expect(letters(shown)).toBe(letters(text));
});

test('nothing in a text is obeyed by the terminal', async () => {
  expect(await whole('a\x1b[2Jb `\x1b[31m`\n\n```\n\x1b[3m\n```\n')).not.toContain('\x1b');
});
