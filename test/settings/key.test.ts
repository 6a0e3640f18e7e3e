import { describe, expect, test } from 'vitest';
import { usageError } from '../../src/errors.ts';
import { readKey, type KeyEffects } from '../../src/settings/key.ts';
import { Secret } from '../../src/settings/redact.ts';

const somewhere = { from: 'somewhere', origin: { kind: 'default' } } as const;

const nothing: KeyEffects = {
  readFile: () => Promise.reject(new Error('no file')),
  readStdin: () => Promise.reject(new Error('no stdin')),
};

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
    await expect(reading).rejects.toThrow(somewhere.from);
    await expect(reading).rejects.not.toThrow('canar');
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

  test('passes on what stdin itself, or the reader of files, has to say', async () => {
    await expect(
      readKey({ kind: 'file', path: '/k', ...somewhere }, { ...nothing, readFile: takenStdin }),
    ).rejects.toThrow(/^stdin is taken$/);
    await expect(
      readKey({ kind: 'file', path: '-', ...somewhere }, { ...nothing, readStdin: takenStdin }),
    ).rejects.toThrow('stdin is taken');
  });
});
