import { expect, test } from 'vitest';
import { chooseHint } from '../../src/library/reasons.ts';
import {
  getErrorCode,
  toGatewayError,
  GatewayError,
  getErrorMessage,
  quoteForeign,
  settingError,
  usageError,
  withoutCost,
} from '../../src/library/errors.ts';
import { isObject } from '../../src/library/json.ts';

test('known facts of a failure win over added ones, and unknown is not a known fact', () => {
  const cause = new Error('cause');
  const error = new GatewayError('quota', 'limit', { status: 429, requestId: undefined, cause });
  const more = error.withDefaults({ status: 500, requestId: 'r-1', sent: 'yes', cause: new Error('other') });
  expect(more).toMatchObject({ class: 'quota', message: 'limit', stack: error.stack });
  expect(more.details).toEqual({ status: 429, requestId: 'r-1', sent: 'yes' });
  expect(more.cause).toBe(cause);
});

test('what may have been billed is what the failure says of it, or else its class', () => {
  expect(new GatewayError('no-reply', 'lost').billed).toBe('unknown');
  expect(new GatewayError('no-reply', 'lost', { billed: 'no' }).billed).toBe('no');
});

test('a mistake of the user was not sent, and does not go away by itself', () => {
  expect(usageError('no model', 'name one').details).toEqual({ hint: 'name one', sent: 'no', retryable: false });
});

test('a hint with a flag is for the command line: callers of the library get reason and value', () => {
  const late = new GatewayError('no-reply', 'no reply within 60 s', { reason: 'timeout', value: 2 });
  const billed = 'it may have been billed: check that before you run it again';
  expect(late.details).toEqual({ reason: 'timeout', value: 2 });
  expect(chooseHint(late, 'library')).toBeUndefined();
  expect(chooseHint(late)).toBe(`${billed}\ngive it more time: --timeout 2m`);
  expect(chooseHint(late.withDetails({ value: 4 }))).toContain('--timeout 4m');
});

test('a hint of its own takes the place of the one that the reason has', () => {
  const kept = settingError('it exists', { reason: 'output-exists' }).withDetails({ hint: 'the reply is kept' });
  expect([chooseHint(kept), kept.details.hint, kept.details.reason]).toEqual([
    'the reply is kept',
    'the reply is kept',
    undefined,
  ]);
});

test('a reason can have one hint for all', () => {
  const error = new GatewayError('rejected', 'too much', { reason: 'too-large', status: 413 });
  expect(chooseHint(error)).toBe('send smaller or fewer images and files');
  expect(chooseHint(error, 'library')).toBe(chooseHint(error));
});

test('a hint or a reason that is known wins over both as defaults', () => {
  const known = settingError('it exists', { reason: 'output-exists' });
  expect(known.withDefaults({ hint: 'other', status: 1 }).details).toEqual({ ...known.details, status: 1 });
  const told = usageError('no model', 'name one');
  expect(told.withDefaults({ reason: 'model', status: 1 }).details).toEqual({ ...told.details, status: 1 });
});

test('the hint of what costs nothing takes the place of one about costs alone', () => {
  const lost = new GatewayError('no-reply', 'lost', { reason: 'maybe-billed' });
  expect(withoutCost(lost, 'again')).toMatchObject({ billed: 'no', details: { hint: 'again', reason: undefined } });
  const packed = new GatewayError('bad-reply', 'packed', { reason: 'compressed' });
  expect(withoutCost(packed, 'again')).toMatchObject({ billed: 'no', details: { reason: 'compressed' } });
});

test('callers of the library get no hint that is only for the command line', () => {
  const error = settingError('it exists', { reason: 'output-exists' });
  expect(chooseHint(error, 'library')).toBeUndefined();
  expect(chooseHint(error)).toBe('--force replaces it');
});

test.each([
  [new Error('it failed'), 'it failed'],
  [new TypeError(''), 'TypeError'],
  ['text', 'text'],
  [new AggregateError([new Error('one'), new AggregateError([new Error('two')], '')], ''), 'one; two'],
  [new AggregateError([], 'none'), 'none'],
])('the text of %s is %s', (error, text) => {
  expect(getErrorMessage(error)).toBe(text);
});

const withCode = (code: string): Error => Object.assign(new Error(code), { code });

test('the code of an error is looked for in its causes and parts, and a circle has an end', () => {
  expect(getErrorCode(withCode('ENOENT'))).toBe('ENOENT');
  expect(getErrorCode(new Error('a', { cause: new Error('b', { cause: withCode('ENOENT') }) }))).toBe('ENOENT');
  expect(getErrorCode(new AggregateError([withCode('ECONNREFUSED'), withCode('ETIMEDOUT')]))).toBe('ECONNREFUSED');
  const circle = new Error('circle');
  circle.cause = circle;
  expect(getErrorCode(circle)).toBeUndefined();
});

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ['text', false],
])('whether %j is an object: %s', (value, expected) => {
  expect(isObject(value)).toBe(expected);
});

test('without a free descriptor the error is about the limit, not a bug', () => {
  const failure = toGatewayError(
    Object.assign(new Error("EMFILE: too many open files, open '/x'"), { code: 'EMFILE' }),
  );
  expect(failure).toMatchObject({ class: 'not-written', billed: 'unknown', message: 'too many files are open' });
  expect(chooseHint(failure)).toBe('to raise the limit: ulimit -n 4096');
  expect(chooseHint(toGatewayError(new TypeError('oh')))).toContain('this is a bug');
});

test.each([
  ['keeps short text', 'a b', 5, 'a b'],
  ['makes one line of many', ' a\r\n\tb\u2028c ', 9, 'a b c'],
  ['keeps text of just the length', 'abcde', 5, 'abcde'],
  ['cuts text that is longer', 'abcdef', 5, 'abcd…'],
  ['counts characters, not halves of them', '🦅🦅🦅🦅', 3, '🦅🦅…'],
  ['leaves control characters to the terminal', '\u001B[2J', 9, '\u001B[2J'],
])('quoteForeign makes one line of %s', (_, text, limit, expected) => {
  expect(quoteForeign(text, limit)).toBe(expected);
});
