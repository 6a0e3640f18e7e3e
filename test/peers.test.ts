import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readme } from './helpers/readme.ts';

const table = readFileSync(join(import.meta.dirname, 'peers.md'), 'utf8');

const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| Feature'))
  .map((line) => {
    const [feature = '', , ours = '', held = ''] = line
      .slice(2, -2)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
    const [, file = '', words = ''] = /^`([^`]+)`: (.+)$/.exec(held) ?? [];
    return { feature, ours, file, words };
  });

test('the README links the table', () => {
  expect(readme).toContain('test/peers.md');
  expect(rows.length).toBeGreaterThan(40);
});

test.each(rows)('$feature: every yes is held by a test', ({ ours, file, words }) => {
  if (ours.startsWith('no')) return expect(file).toBe('');
  const path = join(import.meta.dirname, file);
  expect(existsSync(path), file).toBe(true);
  const titles = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => /\b(test|it|describe)\b|^\s*(\[?['"`])/.test(line))
    .join('\n');
  return expect(titles).toContain(words);
});
