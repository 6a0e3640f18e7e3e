import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test, vi } from 'vitest';
import { completeLine, expandPath } from '../../src/chat/complete.ts';
import { openHistory } from '../../src/chat/history.ts';
import { parseEntry, slashCommands } from '../../src/chat/slash.ts';
import { scratchFolder } from '../helpers/scratch.ts';

test.each([
  ['', { kind: 'nothing' }],
  [' \n ', { kind: 'nothing' }],
  ['hello', { kind: 'prompt', text: 'hello' }],
  ['a\n/exit', { kind: 'prompt', text: 'a\n/exit' }],
  [' /etc is a folder', { kind: 'prompt', text: '/etc is a folder' }],
  ['/exit', { kind: 'command', name: 'exit', argument: '' }],
  ['/quit', { kind: 'command', name: 'exit', argument: '' }],
  ['/model  some model ', { kind: 'command', name: 'model', argument: 'some model' }],
  ['/system be\nterse', { kind: 'command', name: 'system', argument: 'be\nterse' }],
  ['/constructor', { kind: 'unknown', name: 'constructor' }],
  ['/mdel x', { kind: 'unknown', name: 'mdel' }],
])('reads %j', (text, entry) => {
  expect(parseEntry(text)).toEqual(entry);
});

const cwd = scratchFolder();
mkdirSync(join(cwd, 'photos'));
for (const name of ['photo.jpg', 'photos/a b.png', '.hidden', 'bad\u001b[31m.png']) writeFileSync(join(cwd, name), '');

test.each([
  ['/m', ['/model '], '/m'],
  ['/', Object.keys(slashCommands).map((name) => `/${name} `), '/'],
  ['/image ph', ['photo.jpg', 'photos/'], 'ph'],
  ['/image photos/', ['photos/a b.png'], 'photos/'],
  ['/image ', ['photo.jpg', 'photos/'], ''],
  ['/image .h', ['.hidden'], '.h'],
  ['/image none/', [], 'none/'],
  ['hello /im', [], 'hello /im'],
])('completes %j', async (line, hits, part) => {
  expect(await completeLine(line, cwd)).toEqual({ hits, part });
});

test('a path below ~ is one of the home folder', async () => {
  vi.stubEnv('HOME', cwd);
  expect(expandPath('~', '/elsewhere')).toBe(cwd);
  expect(expandPath('~/photos', '/elsewhere')).toBe(join(cwd, 'photos'));
  expect(expandPath('~photos', '/elsewhere')).toBe(resolve('/elsewhere', '~photos'));
  expect(await completeLine('/image ~/photos/', '/elsewhere')).toEqual({
    hits: ['~/photos/a b.png'],
    part: '~/photos/',
  });
});

test('the history is kept for the next time, one line an entry, for its owner alone', async () => {
  const folder = scratchFolder();
  const first = await openHistory(folder);
  await first.add('one');
  await first.add('two\nlines "here"');
  writeFileSync(join(folder, 'chat-history'), '{torn', { flag: 'a' });
  expect((await openHistory(folder)).entries).toEqual(['one', 'two\nlines "here"']);
  expect(statSync(join(folder, 'chat-history')).mode & 0o777).toBe(0o600);
});

test('a history that has grown too long is cut to its newest entries', async () => {
  const folder = scratchFolder();
  const path = join(folder, 'chat-history');
  writeFileSync(path, Array.from({ length: 2500 }, (_, i) => `"${i}"\n`).join(''));
  const { entries } = await openHistory(folder);
  expect([entries.length, entries.at(-1)]).toEqual([1000, '2499']);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1001);
});

test('a history without a place is given up quietly', async () => {
  const history = await openHistory(join(cwd, 'none'));
  await history.add('x');
  expect(history.entries).toEqual([]);
});
