import { expect, test } from 'vitest';
import type { Ui } from '../../../src/cli/context.ts';
import { emptyReport } from '../../../src/cli/output/outcome.ts';
import { saveLost } from '../../../src/cli/run/recovery.ts';
import { type ErrorClass, GatewayError } from '../../../src/library/errors.ts';
import type { Io } from '../../../src/cli/terminal/io.ts';

const failure = new GatewayError('not-written', 'cannot write "cat.png": the disk is full');

/** The error and warnings of a run that lost a reply, by the error of its action. The reply is already saved. */
async function endWith(thrown: { value: unknown } | undefined): Promise<{ error: unknown; warnings: string[] }> {
  const warnings: string[] = [];
  const io = { stdout: {} } as unknown as Io;
  const report = { ...emptyReport('text'), kept: '/kept.json' };
  const ui = { warn: async (text: string) => void warnings.push(text) } as unknown as Ui;
  const ended = await saveLost(failure, thrown, { report, io, ui });
  return { error: ended.thrown?.value, warnings };
}

const recoverHint = expect.stringContaining('gateway-cli recover /kept.json');

test.each<ErrorClass>(['incomplete', 'no-result', 'bad-reply'])(
  'a paid result that cannot be written takes precedence over %s',
  async (name) => {
    const { error, warnings } = await endWith({ value: new GatewayError(name, 'not all came') });
    expect(error).toMatchObject({ class: 'not-written', exitCode: 12, details: { hint: recoverHint } });
    expect(warnings).toEqual([]);
  },
);

test('a paid result that cannot be written is the error of the run if nothing else failed', async () => {
  expect(await endWith(undefined)).toMatchObject({ error: { class: 'not-written', details: { hint: recoverHint } } });
});

test.each([
  ['a signal', new GatewayError('interrupted', 'ended by SIGINT'), 'interrupted'],
  ['a reader that left', new GatewayError('closed', 'stdout was closed by its reader'), 'closed'],
])(
  '%s takes precedence over a paid result that cannot be written, and a warning names the file',
  async (_name, value, name) => {
    expect(await endWith({ value })).toMatchObject({ error: { class: name }, warnings: [recoverHint] });
  },
);

test('a bug takes precedence over a paid result that cannot be written, and its hint names the file', async () => {
  const { error, warnings } = await endWith({ value: new TypeError('oh') });
  expect(error).toMatchObject({ class: 'internal', details: { hint: recoverHint } });
  expect(warnings).toEqual([]);
});
