import { expect, test } from 'vitest';
import { DataUrlSplitter, type TextPiece } from '../../../src/library/client/text-files.ts';

interface Split {
  text: string;
  files: { mimeType: string; data: string; ended: boolean }[];
}

function split(pieces: readonly string[]): Split {
  const splitter = new DataUrlSplitter();
  const result: Split = { text: '', files: [] };
  const take = (piece: TextPiece): void => {
    const image = result.files.at(-1);
    if (piece.type === 'text') result.text += piece.text;
    else if (piece.type === 'file-start') result.files.push({ mimeType: piece.mimeType, data: '', ended: false });
    else if (piece.type === 'base64' && image) image.data += piece.text;
    else if (image) image.ended = true;
  };
  for (const piece of pieces) splitter.feed(piece).forEach(take);
  splitter.finish().forEach(take);
  return result;
}

const data = 'QUJDREVGR0hJSktM';
const long = data.repeat(5);
const image = (mimeType = 'image/png', base64 = data): Split['files'][number] => ({
  mimeType,
  data: base64,
  ended: true,
});

const pdf = image('application/pdf', long);

test.each<[string, string, string, Split['files']]>([
  ['plain text', 'Hello!', 'Hello!', []],
  ['Markdown', `a ![cat](data:image/png;base64,${data}) b`, 'a  b', [image()]],
  [
    'several',
    `![](data:image/png;base64,${data})![x](data:image/webp;base64,${data}==)`,
    '',
    [image(), image('image/webp', `${data}==`)],
  ],
  [
    'several, the first one padded',
    `![](data:image/png;base64,${data}==) ![x](data:image/webp;base64,${data})`,
    ' ',
    [image('image/png', `${data}==`), image('image/webp')],
  ],
  ['a bare URL', `see data:image/png;base64,${data} here`, 'see  here', [image()]],
  ['a bare URL at the end', `see data:image/png;base64,${data}`, 'see ', [image()]],
  ['a bare URL before a line', `data:image/png;base64,${data}\nHere`, '\nHere', [image()]],
  ['a bare URL before a word', `data:image/png;base64,${data}=Here`, 'Here', [image('image/png', `${data}=`)]],
  ['HTML', `<img src="data:image/png;base64,${data}">`, '<img src="">', [image()]],
  ['a link', `[x](data:image/png;base64,${data})`, '[x]', [image()]],
  [
    'parameters and capitals',
    `![a](DATA:Image/PNG;q="1";Base64,${data})`,
    `![a](DATA:Image/PNG;q="1";Base64,${data})`,
    [],
  ],
  ['capitals', `![a](DATA:Image/PNG;q=1;Base64,${data})`, '', [image()]],
  ['url-safe Base64', '![a](data:image/png;base64,_-A=)', '', [image('image/png', '_-A=')]],
  ['wrapped Base64', `![a](data:image/png;base64,QUJD\r\nREVG\nR0hJSktM)x`, 'x', [image()]],
  ['a title', `![a](data:image/png;base64,${data} "a (cat)")x`, '")x', [image()]],
  ['angle brackets', `![a](<data:image/png;base64,${data}>)x`, 'x', [image()]],
  ['brackets in the alt text', `![a [b] \\] c](data:image/png;base64,${data})`, '', [image()]],
  ['no closing parenthesis', `![a](data:image/png;base64,${data} and more`, ' and more', [image()]],
  ['an http picture', '![a](https://host/a.png) b', '![a](https://host/a.png) b', []],
  ['a file', `the [report.pdf](data:application/pdf;base64,${long}) is here`, 'the [report.pdf] is here', [pdf]],
  ['a file in angle brackets', `[a](<data:Application/PDF;name=a.pdf;base64,${long}> "a title")`, '[a]', [pdf]],
  ['a file in the form of an image', `![a](data:audio/wav;base64,${long}==)`, '', [image('audio/wav', `${long}==`)]],
  ['wrapped Base64 of a file', `[a](data:application/pdf;base64,${long.replace(/.{60}/g, '$&\r\n')})`, '[a]', [pdf]],
  ['a file after a link', `[a](http://a) [b](data:application/pdf;base64,${long})`, '[a](http://a) [b]', [pdf]],
  ['an example', `[a](data:text/plain;base64,${data})`, `[a](data:text/plain;base64,${data})`, []],
  ['an example in words', '[a](data:application/pdf;base64,...)', '[a](data:application/pdf;base64,...)', []],
  ['a bare URL of a file', `data:font/woff2;base64,${long}`, `data:font/woff2;base64,${long}`, []],
  ['a URL without Base64', '![a](data:image/png,x)', '![a](data:image/png,x)', []],
  ['code', 'vec![1, 2]; if (!x[0]) a![b] !', 'vec![1, 2]; if (!x[0]) a![b] !', []],
  ['a false start', `![x ![y](data:image/png;base64,${data}) data:image/`, '![x  data:image/', [image()]],
  ['a URL inside alt text', `![data:image/png;base64,${data}`, '![', [image()]],
  ['a paragraph inside alt text', `![a\n\nb](data:image/png;base64,${data})`, '![a\n\nb]', [image()]],
  ['an empty picture', '![a](data:image/png;base64,)x', 'x', [image('image/png', '')]],
  ['half of an opening at the end', 'a ![b](data:ima', 'a ![b](data:ima', []],
])('separates files from text: %s, cut anywhere', (_name, input, text, images) => {
  expect(split([input])).toEqual({ text, files: images });
  expect(split([...input])).toEqual({ text, files: images });
  for (let at = 1; at < input.length; at++)
    expect(split([input.slice(0, at), input.slice(at)])).toEqual({ text, files: images });
});

test.each([
  ['a picture in Markdown that was cut has no end', `x ![a](data:image/png;base64,${data}`, false],
  ['a bare URL that the text ends has one', `x data:image/png;base64,${data}`, true],
])('%s', (_name, input, ended) => {
  expect(split([input])).toMatchObject({ text: 'x ', files: [{ data, ended }] });
});

test('the filter of files in text passes text on at once, and holds back little', () => {
  const splitter = new DataUrlSplitter();
  expect(splitter.feed('Hello ')).toEqual([{ type: 'text', text: 'Hello ' }]);
  expect(splitter.feed('a!')).toEqual([{ type: 'text', text: 'a' }]);
  expect(splitter.feed(' b ![')).toEqual([{ type: 'text', text: '! b ' }]);
  expect(splitter.feed('x'.repeat(1100)).map((piece) => piece.type)).toEqual(['text']);
  expect(splitter.feed('data:image/'.padEnd(300, 'x')).map((piece) => piece.type)).toEqual(['text']);
});

test('the filter of files in text passes Base64 on while it arrives', () => {
  const splitter = new DataUrlSplitter();
  splitter.feed('![a](data:image/png;base64,');
  expect(splitter.feed('AAAA')).toEqual([{ type: 'base64', text: 'AAAA' }]);
  expect(splitter.feed('BB)')).toEqual([{ type: 'base64', text: 'BB' }, { type: 'file-end' }]);
});

test('takes a placeholder for Base64', () => {
  const text = 'a ![x](data:image/png;base64,gatewayCliBlob_0123abcd_7) b';
  expect(split([text])).toEqual({ text: 'a  b', files: [image('image/png', 'gatewayCliBlob_0123abcd_7')] });
});
