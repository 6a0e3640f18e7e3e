import { expect, test, describe } from 'vitest';
import { sanitizeOutput, tolerateFailure, formatError } from '../../../src/cli/terminal/output.ts';
import { GatewayError, usageError } from '../../../src/library/errors.ts';
import type { Output } from '../../../src/cli/terminal/io.ts';

const hostile = '::error::x\nа ##[set-output name=a]\u001b]52;c;x\u0007\u009b2J\u202e\u001b[31mred\u001b[0m';

function place(isTTY: boolean, env: Record<string, string>, isFile = false) {
  const written: (string | Uint8Array)[] = [];
  const output = { isTTY, isFile, columns: 42, write: async (chunk: string | Uint8Array) => void written.push(chunk) };
  return { output: sanitizeOutput(output, env), written };
}

test('on a terminal text keeps its colours, and nothing else is obeyed', async () => {
  const { output, written } = place(true, {});
  await output.write(hostile);
  const shown = '::error::x\nа ##[set-output name=a]^[]52;c;x^GM-^[2J<U+202E>\u001b[31mred\u001b[0m';
  expect([written, output.columns, output.isTTY]).toEqual([[shown], 42, true]);
});

test('where the runner reads along, text holds no command, also over several writes', async () => {
  const { output, written } = place(false, { GITHUB_ACTIONS: 'true' });
  await output.write(hostile);
  await output.write('\n ');
  await output.write('::x');
  expect(written.join('')).toBe(`${hostile.replace('::', '\u200b::').replace('##[', '##\u200b[')}\n \u200b::x`);
});

test('in a pipe and a file text is exact, and bytes are exact everywhere', async () => {
  for (const { output, written } of [place(false, {}), place(false, { GITHUB_ACTIONS: 'true' }, true)]) {
    await output.write(hostile);
    expect(written).toEqual([hostile]);
  }
  const bytes = Buffer.from(hostile);
  const both = place(true, { GITHUB_ACTIONS: 'true' });
  await both.output.write(bytes);
  expect(both.written).toEqual([bytes]);
});

const never = new Promise<never>(() => undefined);
const idle = new AbortController().signal;

function output(write: Output['write']): Output {
  return { isTTY: false, columns: 80, write };
}

test('remembers the first failure of a full disk, and writes nothing more', async () => {
  const full = new GatewayError('not-written', 'the disk is full');
  const tried: unknown[] = [];
  const tolerant = tolerateFailure(
    output(async (chunk) => {
      tried.push(chunk);
      throw full;
    }),
    idle,
  );
  expect(tolerant.failure).toBeUndefined();
  await tolerant.write('a');
  await tolerant.write('b');
  expect([tolerant.failure, tried]).toEqual([full, ['a']]);
});

test.each([
  ['a reader that has gone', new GatewayError('closed', 'stdout was closed by its reader')],
  ['a bug', new TypeError('oh')],
])('output passes %s on', async (_name, error) => {
  const tolerant = tolerateFailure(
    output(() => Promise.reject(error)),
    idle,
  );
  await expect(tolerant.write('a')).rejects.toBe(error);
  expect(tolerant.failure).toBeUndefined();
});

test('after an abort a write may still end in time; a write that nobody reads gives up, and so do later writes', async () => {
  const abort = new AbortController();
  const reason = new Error('interrupted');
  let timeIsUp = (): void => undefined;
  const taken: unknown[] = [];
  const tolerant = tolerateFailure(
    output(async (chunk) => {
      if (chunk === 'stuck') await never;
      taken.push(chunk);
    }),
    abort.signal,
    (_ms, act) => {
      timeIsUp = act;
      return () => undefined;
    },
  );
  abort.abort(reason);
  await tolerant.write('last words');
  const stuck = tolerant.write('stuck');
  timeIsUp();
  await expect(stuck).rejects.toBe(reason);
  await expect(tolerant.write('more')).rejects.toBe(reason);
  expect(taken).toEqual(['last words']);
});

test('a run that was aborted before it began gives up in time too', async () => {
  const reason = new Error('interrupted');
  let timeIsUp = (): void => undefined;
  const tolerant = tolerateFailure(
    output(() => never),
    AbortSignal.abort(reason),
    (_ms, act) => {
      timeIsUp = act;
      return () => undefined;
    },
  );
  const stuck = tolerant.write('stuck');
  timeIsUp();
  await expect(stuck).rejects.toBe(reason);
});

describe('formatError', () => {
  test.each([
    ['a message', usageError('no model is set'), 'gateway-cli: usage: no model is set'],
    [
      'a hint',
      usageError('no model is set', 'set GATEWAY_MODEL'),
      'gateway-cli: usage: no model is set\n  set GATEWAY_MODEL',
    ],
    ['a hint of two lines', usageError('no', 'one\n\ntwo\n'), 'gateway-cli: usage: no\n  one\n  two'],
    [
      'the request',
      new GatewayError('not-sent', 'refused', { request: 'POST https://x/v1/messages', hint: 'try' }),
      'gateway-cli: not-sent: refused (POST https://x/v1/messages)\n  try',
    ],
    [
      'what the server said, harmless and on one line',
      new GatewayError('rejected', 'no\ngateway-cli: ok\u001b[2J', { hint: '\u001b]0;x\u0007' }),
      'gateway-cli: rejected: no gateway-cli: ok^[[2J\n  ^[]0;x^G',
    ],
  ])('prints %s', (_name, error, expected) => {
    expect(formatError(error, (text) => text)).toBe(expected);
  });
});
