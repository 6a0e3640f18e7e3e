import { expect, test } from 'vitest';
import { stripVTControlCharacters } from 'node:util';
import { type MarkdownPlace, renderMarkdown } from '../../../src/cli/terminal/markdown.ts';

const bold = (text: string): string => `\x1b[1m${text}\x1b[22m`;
const cyan = (text: string): string => `\x1b[36m${text}\x1b[39m`;

const render = (text: string, place: Partial<MarkdownPlace> = {}): string =>
  renderMarkdown(text, { width: 40, colored: false, ...place });

test('shows headings, emphasis and code as type', () => {
  const text = '# One *two*\n\nSetext\n---\n\na **b** _c_ ~~d~~ `e`\n';
  const shown = `${bold('One \x1b[3mtwo\x1b[23m')}\n\n${bold('Setext')}\n\na ${bold('b')} \x1b[3mc\x1b[23m \x1b[9md\x1b[29m ${cyan('e')}\n`;
  expect(render(text, { colored: true })).toBe(shown);
});

test('without colour, keeps the marks that colour would replace', () => {
  expect(render('# One\n\n`code` **bold** ~~gone~~')).toBe('# One\n\n`code` bold ~~gone~~\n');
});

test.each<[name: string, text: string, shown: string, place?: Partial<MarkdownPlace>]>([
  ['wraps at words', 'a line of words that is wider than the forty', 'a line of words that is wider than the\nforty\n'],
  ['leaves a word that is wider to the terminal', `a ${'x'.repeat(50)} b`, `a\n${'x'.repeat(50)}\nb\n`],
  ['counts wide characters as two', '日'.repeat(21), `${'日'.repeat(20)}\n日\n`],
  ['joins the lines of a document', 'one\ntwo  \nthree', 'one two\nthree\n'],
  ['keeps the lines of a chat', 'one\ntwo', 'one\ntwo\n', { breaks: true }],
  ['puts one empty line between blocks', 'a\n- b\n# c', 'a\n\n• b\n\n# c\n'],
  ['hangs the lines of an item', '- one two three', '• one two\n  three\n', { width: 10 }],
  ['nests lists', '1. a\n   - b\n     - c\n2. d', '1. a\n   • b\n     • c\n2. d\n'],
  ['counts a list from where it starts', '0. a\n1. b', '0. a\n1. b\n'],
  ['shows empty lines between items where they are', '- a\n- b\n\n- c\n\n  d', '• a\n• b\n\n• c\n\n  d\n'],
  ['shows tasks', '- [ ] a\n\n- [x] b', '• [ ] a\n\n• [x] b\n'],
  ['shows code as it is', '```js\n*a*  &lt;\n\n\tb\n```', '  *a*  &lt;\n\n      b\n'],
  ['leaves long lines of code to the terminal', `    ${'x '.repeat(30)}y`, `  ${'x '.repeat(30)}y\n`],
  ['shows code that has no end yet', '```\na', '  a\n'],
  ['shows code in a list', '- a\n  ```\n  b\n  ```\n- c', '• a\n    b\n• c\n'],
  ['marks quotations', '> a\n>\n> - b\n> > c', '│ a\n│\n│ • b\n│\n│ │ c\n'],
  [
    'tells the address of a link',
    '[a](http://b) <http://c> <d@e.f> ![g](h.png)',
    'a (http://b) http://c d@e.f g (h.png)\n',
  ],
  ['resolves references and keeps them', '[a][1]\n\n[1]: http://b', 'a (http://b)\n\n[1]: http://b\n'],
  ['shows HTML as it is, but line breaks', '<b>a</b><br>c\n\n<p>\nd', '<b>a</b>\nc\n\n<p>\nd\n'],
  ['reads escapes and entities', String.raw`\*a\* &lt;b&gt; &amp;amp;`, '*a* <b> &amp;\n'],
  ['draws a rule', 'a\n\n***', `a\n\n${'─'.repeat(40)}\n`],
  ['shows nothing for nothing', '\n\n', ''],
])('%s', (_, text, shown, place) => {
  expect(render(text, place)).toBe(shown);
});

test('puts a table in columns, aligned, and wraps the cells that are too wide', () => {
  const text =
    '| Name | Age | Remark |\n|:-|-:|:-:|\n| Ada | 36 | the first of all the programmers |\n| 日本 | 7 | ok |\n';
  expect(render(text)).toBe(
    [
      'Name  Age             Remark',
      '────  ───  ─────────────────────────────',
      'Ada    36      the first of all the',
      '                    programmers',
      '日本    7               ok',
      '',
    ].join('\n'),
  );
});

test('shows a table as lists of its cells where the columns would be too narrow', () => {
  const words = 'many words in a cell';
  const text = `| A | B | C |\n|-|-|-|\n| ${words} | ${words} | x |\n| 1 | 2 | |\n`;
  expect(render(text, { width: 24 })).toBe('A: many words in a cell\nB: many words in a cell\nC: x\n\nA: 1\nB: 2\n');
});

test.each([
  'a \x1b[2Jb',
  'a &#27;[2J &#x9b;',
  '`\x1b]0;x\x07`',
  '    \x1b[2J',
  '[a](\x1b[2J)',
  '| \x1b[31m |\n|-|\n',
  '<b \x9b>',
  '```\x1b\n\x1b',
])('leaves nothing that a terminal obeys: %j', (text) => {
  for (const colored of [false, true]) {
    const shown = stripVTControlCharacters(render(text, { colored })).replaceAll('\n', '');
    expect(shown).not.toMatch(/\p{Cc}/u);
    expect(render(text, { colored: false })).not.toContain('\x1b');
  }
});

test.each(['>'.repeat(20_000), '['.repeat(20_000), '* '.repeat(3000) + 'x', '**a'.repeat(5000)])(
  'shows text that nests without end: %.4s',
  (text) => {
    expect(render(text).length).toBeGreaterThan(0);
  },
);

test('splits no word of a table in a document, whatever its row', () => {
  const rows = Array.from(
    { length: 14 },
    (_, index) => `| ${index} | ${index === 13 ? 'a-long-name' : 'name'} | a b c d |`,
  );
  const table = ['| n | name | text |', '|-|-|-|', ...rows].join('\n');
  expect(render(table)).toContain('\n13  a-long-name  a b c d\n');
  expect(render(table, { width: 18 })).toContain('\nn: 13\nname: a-long-name\n');
});

test.each([
  ['60,000 marks', 'a_'.repeat(60_000), 'a_a_a_'],
  ['1,000 lists in each other', `${'- '.repeat(1000)}deep`, 'deep'],
  ['2,000 quotes in each other', `${'> '.repeat(2000)}deep`, 'deep'],
])('%s are shown, as they are', (_, text, part) => {
  expect(renderMarkdown(`# Title\n\n${text}`, { width: 80, colored: false })).toContain(part);
});
