import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openHistory } from '../../../src/commands/chat/interactive.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

test('the history is saved for the next start, one entry a line, readable only by its owner', async () => {
  const folder = scratchFolder();
  const first = await openHistory(folder);
  await first.add('one');
  await first.add('two\nlines "here"');
  writeFileSync(join(folder, 'chat-history'), '{torn', { flag: 'a' });
  expect((await openHistory(folder)).entries).toEqual(['one', 'two\nlines "here"']);
  expect(statSync(join(folder, 'chat-history')).mode & 0o777).toBe(0o600);
});

test('a history that is too long is cut to its newest entries', async () => {
  const folder = scratchFolder();
  const path = join(folder, 'chat-history');
  writeFileSync(path, Array.from({ length: 2500 }, (_, i) => `"${i}"\n`).join(''));
  const { entries } = await openHistory(folder);
  expect([entries.length, entries.at(-1)]).toEqual([1000, '2499']);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1001);
});

test('a history that cannot be written is ignored', async () => {
  const history = await openHistory(join(scratchFolder(), 'none'));
  await history.add('x');
  expect(history.entries).toEqual([]);
});
