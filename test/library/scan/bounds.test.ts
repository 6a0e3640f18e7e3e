import { expect, test } from 'vitest';
import { divertBase64 } from '../../../src/library/scan/json-scan.ts';
import { divert } from './divert.ts';

const base64 = 'QUJD'.repeat(20);
const textOf = (text: string): string => JSON.stringify({ candidates: [{ content: { parts: [{ text }] } }] });

test.each([
  ['a media type without end', `data:image/${'x'.repeat(201)};base64,${base64}`],
  ['a media type with a space', `data:image/png x;base64,${base64}`],
  ['a media type with a bracket', `data:image/png);base64,${base64}`],
])('%s does not begin a data URL', async (_, text) => {
  expect(await divert([textOf(text)])).toEqual({ json: textOf(text), strings: [] });
});

test('accepts a media type of the greatest length', async () => {
  const type = 'x'.repeat(200 - ';base64'.length);
  const { strings } = await divert([textOf(`data:image/${type};base64,${base64}`)]);
  expect(strings).toEqual([base64]);
});

test.each([
  [240, 1],
  [260, 0],
])('a data-URL prefix with %i further characters is accepted: %i', async (length, diverted) => {
  const data = `data:${'x'.repeat(length)},${'QUJD'.repeat(200)}`;
  const { strings } = await divert([JSON.stringify({ inlineData: { data } })], { threshold: 400 });
  expect(strings).toHaveLength(diverted);
});

test('reused memory of the reader does not change the bytes that are held back', async () => {
  const json = JSON.stringify({ inlineData: { data: base64 }, source: { data: 'QUJDREVGR0hJSktM' } });
  async function* reused(): AsyncGenerator<Uint8Array> {
    const memory = Buffer.alloc(5);
    for (let at = 0; at < json.length; at += 5) {
      const length = memory.write(json.slice(at, at + 5), 'latin1');
      yield memory.subarray(0, length);
      memory.fill('!');
    }
  }
  const taken: string[] = [];
  const kept: string[] = [];
  const sink = { write: (bytes: Uint8Array) => void taken.push(Buffer.from(bytes).toString()), end: () => {} };
  const diversion = { open: async () => ({ sink, placeholder: '@' }) };
  for await (const part of divertBase64(reused(), diversion, { threshold: 40 }))
    kept.push(Buffer.from(part).toString());
  expect(kept.join('')).toBe(json.replace(base64, '@'));
  expect(taken.join('')).toBe(base64);
});
