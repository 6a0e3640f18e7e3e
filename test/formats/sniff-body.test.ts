import { expect, test } from 'vitest';
import { looksLikeSse } from '../../src/client/read-reply.ts';

test.each([
  ['event: message_start\n', true],
  ['data: {"candidates":[]}', true],
  ['data:{}', true],
  [': PING\n\n', true],
  ['id: 1\n', true],
  ['retry: 3000\n', true],
  ['\r\n\n  data: {}', true],
  ['\uFEFFevent: ping', true],
  ['{"type":"message"}', false],
  ['\n[{"candidates":[]}]', false],
  ['<html>data:', false],
  ['database error', false],
  ['error: upstream', false],
  ['', false],
])('looksLikeSse(%j) is %s (wire 6 #37, #38)', (body, expected) => {
  expect(looksLikeSse(new TextEncoder().encode(body))).toBe(expected);
});

test('looksLikeSse reads the beginning only', () => {
  const body = new TextEncoder().encode(`${' '.repeat(64)}data: x`);
  expect(looksLikeSse(body)).toBe(false);
});
