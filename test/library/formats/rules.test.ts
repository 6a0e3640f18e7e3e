import { expect, test } from 'vitest';
import { closeCutJson } from '../../../src/library/formats/cut-json.ts';
import { readErrorBody, readDetails } from '../../../src/library/formats/error-body.ts';
import { findStatusByName, readFailedReply, toFailure } from '../../../src/library/formats/failure.ts';
import { messages } from '../../../src/library/formats/messages/format.ts';
import { durationMs, proseDelayMs } from '../../../src/library/formats/retry-delay.ts';
import { createUpload, getBodyObject } from '../../../src/library/body.ts';
import { foldWhole } from './accumulating.ts';
import { findErrorInReply } from '../../../src/library/formats/format.ts';

test('an overload that comes inside a begun stream may have been billed', () => {
  const error = { message: 'busy', type: 'overloaded_error' };
  expect(toFailure(error).billed).toBe('no');
  expect(toFailure(error, { billed: 'unknown' }).billed).toBe('unknown');
});

test('a name of any length is reported in short', () => {
  const body = JSON.stringify({ error: { type: 'x'.repeat(900), message: 'no' } });
  const { message } = readFailedReply({ status: 400, headers: {}, body, format: 'messages' });
  expect(message).toBe(`the gateway answered 400 (${'x'.repeat(59)}…): no`);
});

test.each([
  [{ status: 'ok' }, false],
  [{ code: 200, status: 'ok' }, false],
  [{ code: 500, status: 'failed' }, true],
  [{ success: false, code: 'no_channel' }, true],
  [{ success: true, code: 'fine' }, false],
])('whether a 200 that holds %j is an error: %s', (json, isError) => {
  expect(findErrorInReply(json) !== undefined).toBe(isError);
});

test('a request id ends somewhere', () => {
  const id = readErrorBody(`{"error":{"message":"no (request id: ${'r'.repeat(900)}"}}`)?.requestId;
  expect(id?.length).toBeLessThan(200);
});

test('the first delay that is reported counts', () => {
  expect(readDetails([{ retryDelay: '3s' }, { retryDelay: '9s' }, {}])).toMatchObject({ retryDelayMs: 3000 });
});

test.each(['constructor', 'toString', '__proto__'])('%s names no status', (name) => {
  expect(findStatusByName(name)).toBeUndefined();
});

test.each([
  [{ seconds: -5 }, undefined],
  [{ seconds: 'soon' }, undefined],
  [{ seconds: 1, nanos: 5e8 }, 1500],
  ['-1s', undefined],
])('the duration %j is %s ms', (value, ms) => {
  expect(durationMs(value)).toBe(ms);
});

test('a delay is read from its first characters only', () => {
  expect(proseDelayMs(`retry in ${'1h'.repeat(100_000)}`)).toBe(20 * 3_600_000);
  expect(durationMs('1h'.repeat(100_000))).toBe(20 * 3_600_000);
});

test.each(['{"a":[}', '{"a":[1}', '[}', '{"a":1]', '{"a":tru,', '{a:1,'])('%s is not a beginning of JSON', (text) => {
  expect(closeCutJson(text)).toMatchObject({ isWrong: true });
});

test('an upload is not an object', () => {
  expect(getBodyObject({ image: createUpload(Buffer.from('abc')) }, 'image')).toEqual({});
});

test('a call without an id gets one, and one whose input was cut is not part of a later turn', () => {
  const call = { type: 'tool_use', id: 't1', name: 'f', input: { a: 1 } };
  const content = [call, { ...call, id: undefined }, { ...call, input: '{"a":' }];
  expect(foldWhole(messages, { type: 'message', content }).result.content).toEqual([call, { ...call, id: 'call_1' }]);
});

test('a second beginning without an id is the same message, and only a named failure is one', () => {
  const decoder = messages.createDecoder({ status: 200, headers: {} });
  const start = (id?: string): string => JSON.stringify({ type: 'message_start', message: { id } });
  decoder.feed({ data: start('m1') });
  expect(decoder.feed({ data: start() })).toEqual([]);
  expect(decoder.feed({ data: '{"success":false}' })).toEqual([]);
  expect(() => decoder.feed({ data: start('m2') })).toThrow('a second message');
  expect(() => decoder.feed({ data: '{"type":"error"}' })).toThrow('the gateway reported an error');
});
