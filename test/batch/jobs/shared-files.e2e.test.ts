import { join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { shell } from '../../helpers/spawn.ts';

/** Counts how often each file is opened, and writes it to `opened.json` at the end. */
const counter = `
const fs = require('node:fs'), { basename } = require('node:path');
const opened = {};
const count = (path) => { opened[basename(String(path))] = (opened[basename(String(path))] ?? 0) + 1; };
for (const [module, name] of [[fs, 'open'], [fs.promises, 'open'], [fs.promises, 'readFile']]) {
  const real = module[name];
  module[name] = function (path, ...rest) { count(path); return real.call(this, path, ...rest); };
}
process.on('exit', () => fs.writeFileSync('opened.json', JSON.stringify(opened)));
`;

/** One pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const shared = ['schema.json', 'paper.pdf', 'photo.png', 'system.md', 'notes.txt'];

/** How often a batch of so many rows opens each of the files that they share. */
async function countOpened(rows: number, kind: 'dry run' | 'second run'): Promise<Record<string, number>> {
  const folder = scratchFolder();
  const write = (name: string, data: string | Uint8Array): void => writeFileSync(join(folder, name), data);
  write('counter.cjs', counter);
  write('schema.json', '{"type":"object","properties":{"name":{"type":"string"}}}');
  write('paper.pdf', `%PDF-1.7\n${'x'.repeat(100_000)}`);
  write('system.md', 'Answer in one word.');
  write('notes.txt', 'A note.');
  write('photo.png', Buffer.from(png, 'base64'));
  const job = {
    command: 'chat',
    schema: 'schema.json',
    attach: ['paper.pdf', 'notes.txt'],
    image: ['photo.png'],
    systemFile: 'system.md',
  };
  const lines = Array.from({ length: rows }, (_, index) => JSON.stringify({ prompt: `row ${index}`, ...job }));
  write('jobs.jsonl', `${lines.join('\n')}\n`);
  const command = `"$BIN" batch jobs.jsonl -o out --offline`;
  const counted = `NODE_OPTIONS='--require ./counter.cjs' node ${command}`;
  const script = { 'dry run': `${counted} --dry-run`, 'second run': `${command} && ${counted}` }[kind];
  const { code, stderr } = await shell(`(${script}) > stdout.txt`, { cwd: folder });
  expect(code, stderr).toBe(0);
  const opened = JSON.parse(readFileSync(join(folder, 'opened.json'), 'utf8')) as Record<string, number>;
  return Object.fromEntries(shared.map((name) => [name, opened[name] ?? 0]));
}

test.each(['dry run', 'second run'] as const)(
  'in a %s, files that all rows share are read and hashed as often for 10 rows as for one',
  { timeout: 60_000 },
  async (kind) => {
    const one = await countOpened(1, kind);
    expect(Object.values(one).every((times) => times > 0)).toBe(true);
    expect(await countOpened(10, kind)).toEqual(one);
  },
);
