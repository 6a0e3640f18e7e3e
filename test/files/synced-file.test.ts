import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { SyncedFile } from '../../src/files/synced-file.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const hour = 3_600_000;

async function openFile() {
  const path = join(scratchFolder(), 'lines');
  const file = await SyncedFile.open(path);
  onTestFinished(() => file.close());
  return { file, text: () => readFileSync(path, 'utf8') };
}

test('a sync that may wait for further lines waits, and shares the next one that may not', async () => {
  const { file, text } = await openFile();
  file.append('a');
  let done = false;
  const waiting = file.sync(hour).then(() => (done = true));
  for (let step = 0; step < 20; step++) await turn();
  expect([done, text()]).toEqual([false, 'a\n']);
  await file.sync();
  await waiting;
});

test('who hurries ends the wait of those that wait, and of those that come', async () => {
  const { file, text } = await openFile();
  file.append('a');
  const waiting = file.sync(hour);
  file.hurry();
  await waiting;
  file.append('b');
  await file.sync(hour);
  expect(text()).toBe('a\nb\n');
});

test('lines of the same moment are appended together', async () => {
  const { file, text } = await openFile();
  const first = file.appendSoon('a');
  void file.appendSoon('b');
  expect(text()).toBe('');
  await first;
  expect(text()).toBe('a\nb\n');
  await file.appendSoon('c');
  expect(text()).toBe('a\nb\nc\n');
});

test('a torn last line goes to the file beside it whole, however long it is', async () => {
  const path = join(scratchFolder(), 'results.jsonl');
  const torn = Array.from({ length: 200_000 }, (_, n) => n).join();
  writeFileSync(path, `whole\n${torn}`);
  const file = await SyncedFile.open(path);
  onTestFinished(() => file.close());
  expect(readFileSync(path, 'utf8')).toBe('whole\n');
  expect(readFileSync(path.replace('.jsonl', '.aside.jsonl'), 'utf8') === `${torn}\n`).toBe(true);
});

test('none of them is appended where one of them cannot be', async () => {
  const file = await SyncedFile.open('/dev/full');
  onTestFinished(() => file.close());
  const results = await Promise.allSettled([file.appendSoon('a'), file.appendSoon('b')]);
  const message = 'cannot write /dev/full: the disk is full';
  const reason = { class: 'not-written', message, details: expect.objectContaining({ sent: 'unknown' }) };
  const refused = { status: 'rejected', reason: expect.objectContaining(reason) };
  expect(results).toEqual([refused, refused]);
});
