import { expect, test } from 'vitest';
import { digestRequest, keyFromHex, keyOf, keyToHex } from '../../../src/batch/jobs/digest.ts';
import { JobTable } from '../../../src/batch/folder/job-table.ts';
import { createUpload } from '../../../src/upload.ts';

test('keeps state, request and marks of each of many ids', () => {
  const table = new JobTable();
  const states = ['new', 'sent', 'done', 'failed', 'unknown'] as const;
  for (let i = 0; i < 20_000; i++) {
    const slot = table.add(keyOf(`id-${i}`));
    table.setState(slot, states[i % 5] as 'new');
    table.setRequest(slot, keyToHex(keyOf(`request-${i}`)));
    if (i % 2 === 0) table.mark(slot, 'seen');
    if (i % 3 === 0) table.mark(slot, 'due');
  }
  expect(table.size).toBe(20_000);
  for (let i = 0; i < 20_000; i++) {
    const slot = table.find(keyOf(`id-${i}`));
    expect(table.add(keyOf(`id-${i}`))).toBe(slot);
    expect(table.stateOf(slot)).toBe(states[i % 5]);
    expect(table.requestOf(slot)).toBe(keyToHex(keyOf(`request-${i}`)));
    expect(table.has(slot, 'seen')).toBe(i % 2 === 0);
    expect(table.has(slot, 'due')).toBe(i % 3 === 0);
    expect(table.keyAt(slot)).toEqual(keyOf(`id-${i}`));
  }
  expect([...table.slots()]).toHaveLength(20_000);
  expect(table.find(keyOf('another'))).toBe(-1);
});

test('an unset request is all zero, and a mark can be taken back', () => {
  const table = new JobTable();
  const slot = table.add(keyOf('a'));
  expect(table.requestOf(slot)).toBe('0000000000000000');
  table.mark(slot, 'due');
  table.mark(slot, 'due', false);
  expect(table.has(slot, 'due')).toBe(false);
});

test('a key is 16 hex digits there and back', () => {
  expect(keyFromHex(keyToHex(keyOf('x')))).toEqual(keyOf('x'));
  for (const wrong of ['', 'xyz', '0123456789abcdeg', 7, undefined]) expect(keyFromHex(wrong)).toBeUndefined();
});

test('the digest does not depend on the order of keys, and on nothing else', async () => {
  const digest = (body: object, path = '/p') =>
    digestRequest({ path, body: body as never }).then(({ request }) => request);
  const first = await digest({ a: 1, b: { c: [1, 2], d: 'x' } });
  expect(first).toMatch(/^[0-9a-f]{16}$/);
  expect(await digest({ b: { d: 'x', c: [1, 2] }, a: 1 })).toBe(first);
  expect(await digest({ a: 1, b: { c: [2, 1], d: 'x' } })).not.toBe(first);
  expect(await digest({ a: 1, b: { c: [1, 2], d: 'x' } }, '/q')).not.toBe(first);
});

test('the digest knows files by their content', async () => {
  const digest = (text: string) =>
    digestRequest({ path: '/p', body: { data: createUpload(Buffer.from(text)) } }).then(({ request }) => request);
  expect(await digest('one')).toBe(await digest('one'));
  expect(await digest('one')).not.toBe(await digest('two'));
});
