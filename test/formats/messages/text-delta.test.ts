import { assert, nat, property } from 'fast-check';
import { expect, test } from 'vitest';
import { parseTextDelta } from '../../../src/formats/messages/text-delta.ts';
import { anyText } from '../../helpers/any-text.ts';

test('reads the usual spelling as JSON.parse does, whatever the text', () => {
  assert(
    property(anyText, nat(99_999), (text, index) => {
      const data = JSON.stringify({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } });
      expect(parseTextDelta(data)).toEqual(JSON.parse(data));
    }),
  );
});

test.each([
  ['another type', '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x"}}'],
  [
    'a field beside the text',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","x":"b"}}',
  ],
  [
    'two objects in one event',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}{"a":{"b":"c"}}',
  ],
  ['padding', '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}  }'],
  ['an index that is none', '{"type":"content_block_delta","index":x,"delta":{"type":"text_delta","text":"a"}}'],
  ['a text that was cut', '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\"}}'],
])('leaves %s to JSON.parse', (_, data) => {
  expect(parseTextDelta(data)).toBeUndefined();
});
