import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test, vi } from 'vitest';
import { completeLine, expandPath, parseEntry, slashCommands, slashHelp } from '../../../src/commands/chat/slash.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

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

test.each([20, 24, 40, 80])('/help names every command, whole words in %i columns', (columns) => {
  const help = slashHelp(columns);
  for (const [name, { text }] of Object.entries(slashCommands)) {
    expect(help).toContain(`  /${name}`);
    expect(help.replaceAll(/\s+/g, ' ')).toContain(text);
  }
  expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
});
