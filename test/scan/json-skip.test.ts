import { expect, test } from 'vitest';
import { ArraySkipper } from '../../src/scan/json-skip.ts';

const place = { key: 'inlinedResponses', below: ['response', 'metadata'] };

/** What is left of a text that arrives in these pieces. */
function skip(pieces: readonly Uint8Array[]): unknown {
  const skipper = new ArraySkipper(place);
  for (const piece of pieces) skipper.feed(piece);
  return JSON.parse(skipper.rest());
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
])('items of JSON %s are left out wherever a chunk ends', ([, text]) => {
  const bytes = Buffer.from(text as string);
  for (let at = 0; at <= bytes.length; at++) expect(skip([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(left);
  expect(skip([...bytes].map((byte) => Buffer.of(byte)))).toEqual(left);
});

function escapeWide(char: string): string {
  return String.raw`\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

test('the end of an array is found behind a string that is longer than a chunk, with an escape at every place of it', () => {
  for (let lead = 0; lead < 5000; lead += 61) {
    const long = { data: `${'x'.repeat(lead)}\\${'y'.repeat(5000)}"`, more: [lead] };
    const whole = { response: { inlinedResponses: [long, { last: true }] }, done: lead };
    const bytes = Buffer.from(JSON.stringify(whole));
    const rest = { response: { inlinedResponses: [] }, done: lead };
    expect(skip([bytes.subarray(0, 4500), bytes.subarray(4500)])).toEqual(rest);
  }
});

test('a list of the same name elsewhere stays where it is', () => {
  const other = { else: { inlinedResponses: [{ a: 1 }] }, response: { others: [1] } };
  expect(skip([Buffer.from(JSON.stringify(other))])).toEqual(other);
});
