import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SyncedFile } from '../../../src/library/files/synced-file.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const hour = 3_600_000;

async function openFile() {
  const path = join(scratchFolder(), 'lines');
  const file = await SyncedFile.open(path);
  onTestFinished(() => file.close());
  return { file, text: () => readFileSync(path, 'utf8') };
}

test('a sync with a delay waits, and shares the next one without', async () => {
  const { file, text } = await openFile();
  file.append('a');
  let done = false;
  const waiting = file.sync(hour).then(() => (done = true));
  for (let step = 0; step < 20; step++) await turn();
  expect([done, text()]).toEqual([false, 'a\n']);
  await file.sync();
  await waiting;
});

test('syncWithoutDelay ends the delay of waiting and of later syncs', async () => {
  const { file, text } = await openFile();
  file.append('a');
  const waiting = file.sync(hour);
  file.syncWithoutDelay();
  await waiting;
  file.append('b');
  await file.sync(hour);
  expect(text()).toBe('a\nb\n');
});

test('lines of the same microtask are appended together', async () => {
  const { file, text } = await openFile();
  const first = file.appendSoon('a');
  void file.appendSoon('b');
  expect(text()).toBe('');
  await first;
  expect(text()).toBe('a\nb\n');
  await file.appendSoon('c');
  expect(text()).toBe('a\nb\nc\n');
});

test('a torn last line is moved to the aside file, however long it is', async () => {
  const path = join(scratchFolder(), 'results.jsonl');
  const torn = Array.from({ length: 200_000 }, (_, n) => n).join();
  writeFileSync(path, `whole\n${torn}`);
  const file = await SyncedFile.open(path);
  onTestFinished(() => file.close());
  expect(readFileSync(path, 'utf8')).toBe('whole\n');
  expect(readFileSync(path.replace('.jsonl', '.aside.jsonl'), 'utf8') === `${torn}\n`).toBe(true);
});

test('no line of a group is appended if one of the group cannot be', async () => {
  const file = await SyncedFile.open('/dev/full');
  onTestFinished(() => file.close());
  const results = await Promise.allSettled([file.appendSoon('a'), file.appendSoon('b')]);
  const message = 'cannot write /dev/full: the disk is full';
  const reason = { class: 'not-written', message, details: expect.objectContaining({ sent: 'unknown' }) };
  const refused = { status: 'rejected', reason: expect.objectContaining(reason) };
  expect(results).toEqual([refused, refused]);
});

describe('a file of lines that only grows', () => {
  test('is created, and continues where it ended', async () => {
    const path = join(scratchFolder(), 'f');
    for (const line of ['one', 'two']) {
      const file = await SyncedFile.open(path);
      file.append(line);
      await file.sync();
      await file.close();
    }
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
  });

  test.each([
    ['a torn line', 'one\ntw', 'one\n'],
    ['only a torn line', 'on', ''],
    ['a torn line of 200 KiB', `one\n${'x'.repeat(200 * 1024)}`, 'one\n'],
  ])('cuts off %s', async (_, before, after) => {
    const path = join(scratchFolder(), 'f');
    writeFileSync(path, before);
    await (await SyncedFile.open(path)).close();
    expect(readFileSync(path, 'utf8')).toBe(after);
  });

  test('many callers share a sync, and each finds its line on the disk', async () => {
    const path = join(scratchFolder(), 'f');
    const file = await SyncedFile.open(path);
    const waits = Array.from({ length: 200 }, async (_, i) => {
      file.append(`line ${i}`);
      await file.sync(i % 3 === 0 ? 5 : 0);
      expect(readFileSync(path, 'utf8')).toContain(`line ${i}\n`);
    });
    await Promise.all(waits);
    await file.close();
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(200);
  });

  test.skipIf(!existsSync('/dev/full'))('reports a full disk as not-written', async () => {
    const file = await SyncedFile.open('/dev/full');
    expect(() => file.append('x')).toThrow('the disk is full');
    await file.close();
  });

  test('moves what it cuts off to the aside file', async () => {
    const path = join(scratchFolder(), 'f.jsonl');
    for (const [whole, torn] of [
      ['', 'on'],
      ['one\n', 'tw'],
    ]) {
      writeFileSync(path, `${whole}${torn}`);
      await (await SyncedFile.open(path)).close();
    }
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect(readFileSync(path.replace('.jsonl', '.aside.jsonl'), 'utf8')).toBe('on\ntw\n');
  });

  test.skipIf(process.platform === 'win32')('does not follow a symbolic link', async () => {
    const [path, victim] = [join(scratchFolder(), 'f'), join(scratchFolder(), 'victim')];
    writeFileSync(victim, 'no line');
    symlinkSync(victim, path);
    await expect(SyncedFile.open(path)).rejects.toMatchObject({ class: 'not-written' });
    expect(readFileSync(victim, 'utf8')).toBe('no line');
  });

  test('a folder with that path is not-written', async () => {
    await expect(SyncedFile.open(scratchFolder())).rejects.toMatchObject({ class: 'not-written' });
  });
});
