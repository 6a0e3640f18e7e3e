import { array, assert, nat, property, record, string } from 'fast-check';
import { expect, test } from 'vitest';
import { readTextRun } from '../../../../src/library/formats/messages/format.ts';
import { anyText } from '../../../helpers/any-text.ts';

const head = 'event: content_block_delta\ndata: ';
const usual = (text: string, index = 0) =>
  JSON.stringify({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } });

test('reads the usual spelling as JSON.parse does, whatever the text, with blanks in front of the last brace', () => {
  const texts = array(record({ text: anyText, pad: nat(9) }), { minLength: 1 });
  assert(
    property(texts, nat(99_999), string(), (list, index, rest) => {
      const events = list.map(({ text, pad }) => usual(text, index).replace(/\}$/, `${' '.repeat(pad)}}`));
      for (const start of [head, 'data: ']) {
        const stream = events.map((event) => `${start}${event}\n\n`).join('');
        const text = list.map((one) => one.text).join('');
        const whole = { value: { type: 'text', index, text }, events: list.length, end: stream.length };
        expect(readTextRun(stream, 0, Infinity)).toEqual(whole);
        expect(readTextRun(`${rest}${stream}data`, rest.length, Infinity)).toEqual({
          ...whole,
          end: rest.length + stream.length,
        });
        expect(readTextRun(stream, 0, 1)).toMatchObject({
          value: { type: 'text', index, text: list[0]?.text },
          events: 1,
        });
      }
    }),
  );
});

test.each([
  ['another block', usual('b', 1)],
  ['another type', '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x"}}'],
  [
    'a field beside the text',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","x":"b"}}',
  ],
  ['two objects in one event', `${usual('a')}{"a":{"b":"c"}}`],
  ['a text that was cut', '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\"}}'],
  ['a text without its end', '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"}}'],
  ['a tab in the text', '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\tb"}}'],
  ['data over two lines', '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ndata: b"}}'],
  ['a brace that lacks', '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}'],
  ['an index that is no number', usual('a').replace('0', 'x')],
  ['an index with a sign', usual('a').replace('0', '-0')],
  ['an index that begins with 0', usual('a').replace('0', '00')],
  ['an index that is cut', usual('a').slice(0, 44)],
])('leaves %s to the parsers, and ends the run in front of it', (name, data) => {
  const odd = `${head}${data}\n\n`;
  if (name !== 'another block') expect(readTextRun(odd, 0, Infinity)).toBeUndefined();
  const before = `${head}${usual('before')}\n\n`;
  expect(readTextRun(before + odd, 0, Infinity)).toEqual({
    value: { type: 'text', index: 0, text: 'before' },
    events: 1,
    end: before.length,
  });
});

test.each([
  ['no blank line', `${head}${usual('a')}\n`],
  ['CR LF', `${head}${usual('a')}\n\n`.replaceAll('\n', '\r\n')],
  ['another event name', `event: ping\ndata: ${usual('a')}\n\n`],
  ['a comment', `: ${usual('a')}\n\n`],
])('leaves an event with %s to the parsers', (_, stream) => {
  expect(readTextRun(stream, 0, Infinity)).toBeUndefined();
});
