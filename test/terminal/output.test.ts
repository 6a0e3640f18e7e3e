import { expect, test, describe } from 'vitest';
import {
  sanitizeOutput,
  tolerateFailure,
  createCiGuard,
  isReadByCi,
  formatError,
  githubErrorLine,
  createStyle,
  wantsColor,
} from '../../src/terminal/output.ts';
import { GatewayError, usageError } from '../../src/errors.ts';
import type { Output } from '../../src/terminal/io.ts';

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

const hidden = '\u200b';

test.each([
  ['a command', '::error::x', `${hidden}::error::x`],
  ['one after blanks', 'a\n \t::stop-commands::x', `a\n \t${hidden}::stop-commands::x`],
  ['one after a lone carriage return', 'a\r::x', `a\r${hidden}::x`],
  ['one of the old form', 'text ##[error]x', `text ##${hidden}[error]x`],
  ['one of the old form with more hashes', '###[x', `###${hidden}[x`],
  ['colons within a line', 'a ::error::x', 'a ::error::x'],
  ['hashes without a bracket', '## a #[x] ##a[', '## a #[x] ##a['],
  ['hashes of two lines', '#\n#[x', '#\n#[x'],
  ['nothing of the kind', 'plain', 'plain'],
])('%s', (_name, text, safe) => {
  expect(createCiGuard()(text)).toBe(safe);
  const byCharacters = createCiGuard();
  expect(Array.from(text, (character) => byCharacters(character)).join('')).toBe(safe);
});

test.each([
  [{ GITHUB_ACTIONS: 'true' }, {}, true],
  [{ GITHUB_ACTIONS: 'true' }, { isFile: false }, true],
  [{ GITHUB_ACTIONS: 'true' }, { isFile: true }, false],
  [{ GITHUB_ACTIONS: 'false' }, {}, false],
  [{}, {}, false],
])('with %j and %j a runner reads along: %s', (env, output, expected) => {
  expect(isReadByCi(env, output)).toBe(expected);
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

test.each([
  ['a message', 'no model', 'gateway-cli', '::error title=gateway-cli::no model'],
  ['line breaks and percent signs', '50%\r\n::stop-commands::x', 't', '::error title=t::50%25%0D%0A::stop-commands::x'],
  ['a title with separators', 'm', 'a:b,c%\n', '::error title=a%3Ab%2Cc%25%0A::m'],
])('githubErrorLine escapes %s', (_name, message, title, expected) => {
  expect(githubErrorLine(message, title)).toBe(expected);
});

describe('wantsColor', () => {
  test.each([
    ['a terminal', true, {}, undefined, true],
    ['a pipe', false, {}, undefined, false],
    ['a dumb terminal', true, { TERM: 'dumb' }, undefined, false],
    ['NO_COLOR', true, { NO_COLOR: '1' }, undefined, false],
    ['an empty NO_COLOR', true, { NO_COLOR: '' }, undefined, true],
    ['--no-color', true, { FORCE_COLOR: '1' }, false, false],
    ['FORCE_COLOR into a pipe', false, { FORCE_COLOR: '1' }, undefined, true],
    ['FORCE_COLOR in a dumb terminal', true, { FORCE_COLOR: '3', TERM: 'dumb' }, true, true],
    ['FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, undefined, false],
    ['FORCE_COLOR=false', true, { FORCE_COLOR: 'false' }, undefined, false],
    ['an empty FORCE_COLOR', false, { FORCE_COLOR: '' }, undefined, false],
    ['CLICOLOR=0', true, { CLICOLOR: '0' }, undefined, false],
    ['CLICOLOR=1 in a pipe', false, { CLICOLOR: '1' }, undefined, false],
    ['CLICOLOR_FORCE into a pipe', false, { CLICOLOR_FORCE: '1', CLICOLOR: '0' }, undefined, true],
    ['CLICOLOR_FORCE=0 on a terminal', true, { CLICOLOR_FORCE: '0' }, undefined, true],
    ['NO_COLOR before CLICOLOR_FORCE', true, { NO_COLOR: '1', CLICOLOR_FORCE: '1' }, undefined, false],
    ['FORCE_COLOR=0 before CLICOLOR_FORCE', true, { FORCE_COLOR: '0', CLICOLOR_FORCE: '1' }, undefined, false],
    ['both', true, { NO_COLOR: '1', FORCE_COLOR: '1' }, undefined, false],
  ] as const)('%s', (_name, isTTY, env, color, expected) => {
    expect(wantsColor({ isTTY, env, color })).toBe(expected);
  });
});

describe('createStyle', () => {
  test('adds styles to text with colour', async () => {
    const style = createStyle({ isTTY: true, env: {} });
    const dressed = await Promise.all([
      style.warning('a'),
      style.failure('b'),
      style.success('c'),
      style.faint('d'),
      style.strong('e'),
    ]);
    expect(dressed).toEqual([
      '\u001b[33ma\u001b[39m',
      '\u001b[31mb\u001b[39m',
      '\u001b[32mc\u001b[39m',
      '\u001b[2md\u001b[22m',
      '\u001b[1me\u001b[22m',
    ]);
  });

  test('does not change text without colour', async () => {
    const style = createStyle({ isTTY: false, env: {} });
    expect(
      await Promise.all([
        style.warning('a'),
        style.failure('b'),
        style.success('c'),
        style.faint('d'),
        style.strong('e'),
      ]),
    ).toEqual([...'abcde']);
  });
});
