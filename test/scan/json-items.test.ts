import { expect, test } from 'vitest';
import { ItemSplitter } from '../../src/scan/json-items.ts';

const place = { key: 'inlinedResponses', below: ['response', 'metadata'] };

/** The items of a text that arrives in these pieces, and what is left. */
function split(pieces: readonly Uint8Array[]): { items: unknown[]; rest: unknown } {
  const splitter = new ItemSplitter(place);
  const items = pieces.flatMap((piece) => splitter.feed(piece));
  return { items: items.map((item) => JSON.parse(item.toString()) as unknown), rest: JSON.parse(splitter.rest()) };
}

const items = [
  { key: 'plain', response: { text: 'words', list: [1, [2, []], {}] } },
  { key: 'escapes', text: String.raw`\ \\ " \" ]} \u0022` + '\n\t"' },
  { key: 'brackets', text: '],[{"inlinedResponses":[1]}', inlinedResponses: [1, 2] },
  { key: 'wide', text: 'é 猫 🐈 "é"' },
  'a string, with "commas"',
  7,
  [],
  null,
];
const around = {
  name: 'batches/b1',
  metadata: { state: 'x', note: '"response":{"inlinedResponses":[1]}' },
  done: true,
};
const whole = { ...around, response: { inlinedResponses: { inlinedResponses: items } } };
const left = { ...around, response: { inlinedResponses: { inlinedResponses: [] } } };

test.for([
  ['without spaces', JSON.stringify(whole)],
  ['with spaces and line breaks', JSON.stringify(whole, undefined, 2)],
  ['with every other character escaped', JSON.stringify(whole).replaceAll(/[^\0-\x7f]/g, escapeWide)],
])('items of JSON %s are the same wherever a chunk ends', ([, text]) => {
  const bytes = Buffer.from(text as string);
  for (let at = 0; at <= bytes.length; at++)
    expect(split([bytes.subarray(0, at), bytes.subarray(at)])).toEqual({ items, rest: left });
  expect(split([...bytes].map((byte) => Buffer.of(byte)))).toEqual({ items, rest: left });
});

function escapeWide(char: string): string {
  return String.raw`\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

test('an item is found behind a string that is longer than a chunk, with an escape at every place of it', () => {
  for (let lead = 0; lead < 5000; lead += 61) {
    const long = { data: `${'x'.repeat(lead)}\\${'y'.repeat(5000)}"`, more: [lead] };
    const bytes = Buffer.from(JSON.stringify({ response: { inlinedResponses: [long, { last: true }] } }));
    expect(split([bytes.subarray(0, 4500), bytes.subarray(4500)]).items).toEqual([long, { last: true }]);
  }
});

test('a list of the same name elsewhere stays where it is', () => {
  const other = { else: { inlinedResponses: [{ a: 1 }] }, response: { others: [1] } };
  expect(split([Buffer.from(JSON.stringify(other))])).toEqual({ items: [], rest: other });
});
