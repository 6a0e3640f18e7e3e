import { appendFileSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { keyOf } from '../../src/batch/digest.ts';
import { mostFailures, readJournal } from '../../src/batch/journal.ts';
import { readLines } from '../../src/batch/read-lines.ts';
import { SyncedFile } from '../../src/batch/synced-file.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const folder = scratchFolder;

async function linesOf(content: string | Uint8Array) {
  const path = join(folder(), 'lines');
  writeFileSync(path, content);
  const handle = await open(path);
  const lines = [];
  for await (const line of readLines(handle)) lines.push(line);
  await handle.close();
  return lines;
}

describe('lines of a file', () => {
  test('come with number and place, CRLF or LF, the last one torn', async () => {
    expect(await linesOf('a\r\n\nbä\nlast')).toEqual([
      { number: 1, text: 'a', isUtf8: true, whole: true, offset: 0, bytes: 3 },
      { number: 2, text: '', isUtf8: true, whole: true, offset: 3, bytes: 1 },
      { number: 3, text: 'bä', isUtf8: true, whole: true, offset: 4, bytes: 4 },
      { number: 4, text: 'last', isUtf8: true, whole: false, offset: 8, bytes: 4 },
    ]);
  });

  test.each([255, 256, 257, 511, 512, 513])('cross the border of a block: lines of %d KiB', async (kib) => {
    const texts = ['x', 'y', 'z'].map((char) => char.repeat(kib * 1024 - 1));
    expect((await linesOf(`${texts.join('\n')}\n`)).map(({ text }) => text)).toEqual(texts);
  });

  test.each([
    ['bytes that are no UTF-8', [0xff, 0x0a, 0xe2, 0x82, 0x0a, 0xf0, 0x9f, 0x98, 0x0a, 0xc3, 0x28, 0x0d, 0x0a, 0x80]],
    ['characters of two to four bytes', [...Buffer.from('é\n€uro\n\u{1f431}\u{1f431}\n\na\uFEFF\n')]],
  ])('are where their bytes are: %s', async (_, bytes) => {
    const content = Buffer.from(bytes);
    const lines = await linesOf(content);
    const cut = lines.map(({ offset, bytes: length }) => content.subarray(offset, offset + length));
    expect(Buffer.concat(cut)).toEqual(content);
    expect(cut.map((line) => line.indexOf(0x0a))).toEqual(lines.map(({ bytes: n, whole }) => (whole ? n - 1 : -1)));
    expect(lines.map(({ isUtf8 }) => isUtf8)).toEqual(cut.map((line) => Buffer.from(line.toString()).equals(line)));
    expect(lines.map(({ text }) => text)).toEqual(
      cut.map((line) => new TextDecoder('utf8', { ignoreBOM: true }).decode(line).replace(/\r?\n$/, '')),
    );
  });

  test('are known by number and place where they are too long, and their text is left out', async () => {
    const path = join(folder(), 'lines');
    const long = 'x'.repeat(700 * 1024);
    writeFileSync(path, `a\n${long}\nb\nc\n${long}`);
    const handle = await open(path);
    const lines = [];
    for await (const line of readLines(handle, 300 * 1024)) lines.push(line);
    await handle.close();
    expect(lines.map(({ number, text, whole, isTooLong }) => [number, text, whole, isTooLong === true])).toEqual([
      [1, 'a', true, false],
      [2, '', true, true],
      [3, 'b', true, false],
      [4, 'c', true, false],
      [5, '', false, true],
    ]);
    expect(lines.map(({ offset }) => offset)).toEqual([0, 2, 3 + long.length, 5 + long.length, 7 + long.length]);
    expect(lines.map(({ bytes }) => bytes)).toEqual([2, long.length + 1, 2, 2, long.length]);
  });

  test('an empty file has none', async () => {
    expect(await linesOf('')).toEqual([]);
  });
});

describe('a file of lines that only grows', () => {
  test('is created, and goes on where it ended', async () => {
    const path = join(folder(), 'f');
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
    ['nothing but a torn line', 'on', ''],
    ['a torn line of 200 KiB', `one\n${'x'.repeat(200 * 1024)}`, 'one\n'],
  ])('cuts off %s', async (_, before, after) => {
    const path = join(folder(), 'f');
    writeFileSync(path, before);
    await (await SyncedFile.open(path)).close();
    expect(readFileSync(path, 'utf8')).toBe(after);
  });

  test('many that wait share a sync, and each sees its line on the disk', async () => {
    const path = join(folder(), 'f');
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

  test.skipIf(!existsSync('/dev/full'))('tells that the disk is full as code 12', async () => {
    const file = await SyncedFile.open('/dev/full');
    expect(() => file.append('x')).toThrow('the disk is full');
    await file.close();
  });

  test('what is cut off is kept in the file beside it', async () => {
    const path = join(folder(), 'f.jsonl');
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

  test.skipIf(process.platform === 'win32')('follows no symbolic link', async () => {
    const [path, victim] = [join(folder(), 'f'), join(folder(), 'victim')];
    writeFileSync(victim, 'no line');
    symlinkSync(victim, path);
    await expect(SyncedFile.open(path)).rejects.toMatchObject({ class: 'not-written' });
    expect(readFileSync(victim, 'utf8')).toBe('no line');
  });

  test('a folder in its place is code 12', async () => {
    await expect(SyncedFile.open(folder())).rejects.toMatchObject({ class: 'not-written' });
  });
});

describe('the journal', () => {
  const run = {
    type: 'run',
    schema: 'gateway-cli/journal@1',
    tool: 't',
    origin: 'o',
    jobs: 3,
    total: 3,
    list: 'x',
    at: 5,
  };
  const record = (type: string, id: string, more: object = {}) => ({
    type,
    id,
    request: '00000000000000aa',
    at: 9,
    ...more,
  });
  const write = (records: readonly object[], tail = '') => {
    const path = folder();
    writeFileSync(join(path, 'journal.jsonl'), records.map((one) => `${JSON.stringify(one)}\n`).join('') + tail);
    return path;
  };
  const stateOf = async (path: string, id: string) => {
    const { table } = await readJournal(path);
    const slot = table.find(keyOf(id));
    return slot < 0 ? undefined : table.stateOf(slot);
  };

  test('the last record of an id counts', async () => {
    const path = write([
      run,
      record('sent', 'a'),
      record('done', 'a'),
      record('sent', 'b'),
      record('sent', 'c'),
      record('unsent', 'c'),
    ]);
    expect([
      await stateOf(path, 'a'),
      await stateOf(path, 'b'),
      await stateOf(path, 'c'),
      await stateOf(path, 'd'),
    ]).toEqual(['done', 'sent', 'new', undefined]);
  });

  test.each(['failed', 'unknown', 'done', 'sent'])(
    'what was sent again and did not go out is %s as before',
    async (type) => {
      const before = record(type, 'a', type === 'failed' ? { error: { class: 'quota', message: 'm' } } : {});
      const again = { request: '00000000000000bb' };
      const path = write([
        run,
        before,
        run,
        record('ready', 'a', again),
        record('sent', 'a', again),
        record('unsent', 'a', again),
      ]);
      const { table, failures } = await readJournal(path);
      const slot = table.find(keyOf('a'));
      expect([table.stateOf(slot), table.requestOf(slot)]).toEqual([type, '00000000000000aa']);
      expect(failures.get('a')?.class).toBe({ failed: 'quota', unknown: 'unknown', sent: 'no-reply' }[type]);
    },
  );

  test('a torn last line is ignored (faults 2e: crash)', async () => {
    const path = write([run, record('sent', 'a')], JSON.stringify(record('done', 'a')).slice(0, -3));
    expect(await stateOf(path, 'a')).toBe('sent');
    // Whole but for its line feed: it may have been torn all the same.
    appendFileSync(join(path, 'journal.jsonl'), '9}');
    expect(await stateOf(path, 'a')).toBe('sent');
  });

  test('adds usage up and keeps the failures that stand', async () => {
    const error = { class: 'quota', message: 'm' };
    const path = write([
      run,
      record('failed', 'a', { error, usage: { totalTokens: 2 } }),
      record('failed', 'b', { error }),
      record('done', 'b', { usage: { totalTokens: 3 } }),
    ]);
    const state = await readJournal(path);
    expect(state.usage).toEqual({ totalTokens: 5 });
    expect([...state.failures]).toEqual([['a', error]]);
    expect(state).toMatchObject({ run: { jobs: 3 }, lastAt: 9 });
  });

  test('what a run left without an end is told as such, whatever it was before, until it has one', async () => {
    const error = { class: 'quota', message: 'm' };
    const killed = [run, record('failed', 'a', { error }), run, record('sent', 'a'), record('sent', 'b')];
    const classes = async (records: readonly object[]) =>
      [...(await readJournal(write(records))).failures].map(([id, { class: name, billed }]) => [id, name, billed]);
    expect(await classes(killed)).toEqual([
      ['a', 'no-reply', 'unknown'],
      ['b', 'no-reply', 'unknown'],
    ]);
    expect(await classes([...killed, run, record('sent', 'a'), record('done', 'a')])).toEqual([
      ['b', 'no-reply', 'unknown'],
    ]);
  });

  test('so many of them are kept, and no more', async () => {
    const many = Array.from({ length: mostFailures + 1 }, (_, i) => record('sent', `${i}`));
    expect((await readJournal(write([run, ...many]))).failures.size).toBe(mostFailures);
  });

  test('the time of all runs is added up, and what lies between them is not', async () => {
    const at = (when: number, state: string) => record(state, 'a', { at: when });
    const runAt = (when: number) => ({ ...run, at: when });
    const path = write([runAt(100), at(130, 'sent'), at(150, 'failed'), runAt(9000), at(9007, 'done'), runAt(20_000)]);
    expect(await readJournal(path)).toMatchObject({ durationMs: 57, lastAt: 20_000 });
  });

  test.each([
    ['a line that is no JSON', 'hello\n'],
    ['a record of another version', `${JSON.stringify({ ...run, schema: 'gateway-cli/journal@2' })}\n`],
    ['a record of no known type', `${JSON.stringify(record('maybe', 'a'))}\n`],
    ['a record without id', '{"type":"done"}\n'],
  ])('%s is code 14', async (_, text) => {
    await expect(readJournal(write([run], text))).rejects.toMatchObject({ class: 'batch-locked' });
  });

  test('no folder, no journal: everything is new', async () => {
    const state = await readJournal(join(folder(), 'missing'));
    expect(state.run).toBeUndefined();
    expect(state.table.size).toBe(0);
  });

  test('opening does not change the modes or the size of what is whole', async () => {
    const path = write([run]);
    const before = statSync(join(path, 'journal.jsonl')).size;
    await (await SyncedFile.open(join(path, 'journal.jsonl'))).close();
    expect(statSync(join(path, 'journal.jsonl')).size).toBe(before);
  });
});
