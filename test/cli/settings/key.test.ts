import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { usageError } from '../../../src/library/errors.ts';
import { keyForAnyOrigin, readKey, type KeyEffects } from '../../../src/cli/settings/key.ts';
import { Secret } from '../../../src/cli/settings/redact.ts';
import type { KeySource } from '../../../src/cli/settings/types.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const somewhere = { origin: { kind: 'default', from: 'somewhere' } } as const;

const nothing: KeyEffects = {
  readFile: () => Promise.reject(new Error('no file')),
  readStdin: () => Promise.reject(new Error('no stdin')),
};

function valueFrom(origin: Extract<KeySource, { kind: 'value' }>['origin']): KeySource {
  return { kind: 'value', secret: new Secret('sk-1'), origin };
}

const takenStdin = () => Promise.reject(usageError('stdin is taken'));

describe('readKey', () => {
  test.each([
    ['a value', { kind: 'value', secret: new Secret(' sk-1\n'), ...somewhere }, {}],
    [
      'a file',
      { kind: 'file', path: '/run/key', ...somewhere },
      { readFile: async (path: string) => (path === '/run/key' ? '\uFEFFsk-1\r\n' : '') },
    ],
    ['stdin', { kind: 'file', path: '-', ...somewhere }, { readStdin: async () => 'sk-1\n' }],
    ['a command', { kind: 'command', argv: [process.execPath, '-p', '"sk-1"'], ...somewhere }, {}],
  ] as const)('reads %s and trims it', async (_name, source, effects) => {
    const key = await readKey(source, { ...nothing, ...effects });
    expect(key.reveal()).toBe('sk-1');
  });

  test.each([
    ['nothing', '', 'the key is empty'],
    ['blanks', ' \n', 'the key is empty'],
    ['a second line', 'sk-canary\nsk-other', 'position 10'],
    ['a blank', 'sk canary', 'position 3'],
    ['NUL', 'sk\0canary', 'position 3'],
    ['a line separator', 'sk\u2028canary', 'position 3'],
    ['a letter beyond ASCII', 'canaré', 'position 6'],
    ['quotes', '"sk-canary"', 'the key begins and ends with quotes'],
    ['single quotes', "'sk-canary'", 'the key begins and ends with quotes'],
  ])('a key with %s is refused, and not shown', async (_name, value, message) => {
    const reading = readKey({ kind: 'value', secret: new Secret(value), ...somewhere }, nothing);
    await expect(reading).rejects.toMatchObject({ class: 'auth', exitCode: 3 });
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toThrow(somewhere.origin.from);
    await expect(reading).rejects.not.toThrow('canar');
  });

  test.each(['a"b"', '"a"b', "'", `"a'`])('quotes that do not enclose a key are part of it: %s', async (value) => {
    const key = await readKey({ kind: 'value', secret: new Secret(value), ...somewhere }, nothing);
    expect(key.reveal()).toBe(value);
  });

  test.each([
    ['', 'set GATEWAY_API_KEY, or give --api-key-file <path>'],
    ['"sk"', 'remove the quotes: they are not part of the key'],
    ['sk canary', 'a key is one word of plain characters; look for a second line, quotes or a pasted blank'],
  ])('the error of the key %j says what to do, and that the same again does not help', async (value, hint) => {
    const reading = readKey({ kind: 'value', secret: new Secret(value), ...somewhere }, nothing);
    await expect(reading).rejects.toMatchObject({ details: { hint, retryable: false, sent: 'no' } });
  });

  test('a key command of a file that another user can write is not run', async () => {
    const made = join(scratchFolder(), 'made');
    const argv = [process.execPath, '-e', 'require("fs").writeFileSync(process.argv[1], "")', made];
    const distrust = { reason: 'the config file is not yours', hint: 'chown it' };
    await expect(readKey({ kind: 'command', argv, ...somewhere, distrust }, nothing)).rejects.toMatchObject({
      class: 'auth',
      message: 'apiKeyCommand is not run: the config file is not yours',
      details: { hint: 'chown it', sent: 'no' },
    });
    expect(existsSync(made)).toBe(false);
  });

  test('a key command ends with the signal of the call, with its reason', async () => {
    const stop = new AbortController();
    const argv = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
    const reading = readKey({ kind: 'command', argv, ...somewhere }, { ...nothing, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow(/^enough$/);
  });

  test('where no key is needed none is read', async () => {
    await expect(readKey({ kind: 'none' }, nothing)).rejects.toMatchObject({ class: 'internal' });
  });

  test.each([
    ['no key', { kind: 'missing', reason: 'no API key is set', hint: 'GATEWAY_API_KEY' }, {}, 'no API key is set'],
    [
      'a file that cannot be read',
      { kind: 'file', path: '/x', ...somewhere },
      {},
      'the key file cannot be read (somewhere): no file',
    ],
  ] as const)('fails for %s', async (_name, source, effects, message) => {
    const reading = readKey(source, { ...nothing, ...effects });
    await expect(reading).rejects.toMatchObject({ class: 'auth', message, details: { sent: 'no' } });
  });

  test('a key file that cannot be read is told with what to check', async () => {
    const reading = readKey({ kind: 'file', path: '/x', ...somewhere }, nothing);
    await expect(reading).rejects.toMatchObject({ details: { hint: 'check its path and rights' } });
  });

  test('passes on what stdin itself, or the reader of files, has to say', async () => {
    await expect(
      readKey({ kind: 'file', path: '/k', ...somewhere }, { ...nothing, readFile: takenStdin }),
    ).rejects.toThrow(/^stdin is taken$/);
    await expect(
      readKey({ kind: 'file', path: '-', ...somewhere }, { ...nothing, readStdin: takenStdin }),
    ).rejects.toThrow('stdin is taken');
  });
});

test.each<[KeySource, string | undefined]>([
  [valueFrom({ kind: 'variable', name: 'GATEWAY_API_KEY', from: 'x' }), 'GATEWAY_API_KEY'],
  [valueFrom({ kind: 'variable', name: 'OPENAI_API_KEY', from: 'x' }), undefined],
  [valueFrom({ kind: 'profile', from: 'x' }), undefined],
  [
    { kind: 'file', path: 'k', origin: { kind: 'variable', name: 'GATEWAY_API_KEY_FILE', from: 'x' } },
    'GATEWAY_API_KEY_FILE',
  ],
  [{ kind: 'file', path: 'k', origin: { kind: 'flag', name: '--api-key-file', from: 'x' } }, '--api-key-file'],
  [{ kind: 'command', argv: ['pass'], origin: { kind: 'profile', from: 'x' } }, undefined],
  [{ kind: 'missing', reason: '', hint: '' }, undefined],
  [{ kind: 'none' }, undefined],
])('a key that no address is named for can go to any, those of profiles and vendors cannot: %j', (source, name) => {
  expect(keyForAnyOrigin(source)).toBe(name);
});
