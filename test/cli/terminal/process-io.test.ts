import { type Stats, statSync } from 'node:fs';
import { EventEmitter } from 'node:events';
import type { WriteStream } from 'node:tty';
import { expect, test } from 'vitest';
import { createStderr, createStdout } from '../../../src/cli/terminal/process-io.ts';

/** A stream that fails with these codes, one a write; and what was written to it. */
function place(
  codes: readonly (string | undefined)[],
  more: { stats?: Stats; isTTY?: boolean; columns?: number } = {},
) {
  const left = [...codes];
  const tried: unknown[] = [];
  const stream = Object.assign(new EventEmitter(), {
    columns: more.columns,
    write(chunk: unknown, done: (error?: Error) => void) {
      tried.push(chunk);
      const code = left.shift();
      const error = code === undefined ? undefined : Object.assign(new Error(`write ${code}`), { code });
      // As Node does: the event comes too, and would end the process without a listener.
      if (error) stream.emit('error', error);
      done(error);
    },
  });
  const { stats, isTTY = false } = more;
  return { tried, place: { fd: 1, stats, isTTY, stream: () => stream as unknown as WriteStream } as const };
}

test.each(['EPIPE', 'ECONNRESET', 'EOF', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'])(
  'a reader that left (%s) closes stdout, and nothing more is written',
  async (code) => {
    const { tried, place: at } = place([undefined, code]);
    const stdout = createStdout(at);
    await stdout.write('a');
    const first = stdout.write('b');
    await expect(first).rejects.toMatchObject({ class: 'closed' });
    const error: unknown = await first.catch((reason: unknown) => reason);
    await expect(stdout.write('c')).rejects.toBe(error);
    expect(tried).toEqual(['a', 'b']);
  },
);

test.each([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EFBIG', 'the file would be larger than allowed'],
  ['EIO', 'the device failed to read or write'],
])('a device that does not take it (%s) is an output that is not written', async (code, words) => {
  const { place: at } = place([code]);
  await expect(createStdout(at).write('a')).rejects.toMatchObject({
    class: 'not-written',
    message: `stdout cannot be written: ${words}`,
  });
});

test('text that cannot be written to stderr is dropped quietly', async () => {
  const { tried, place: at } = place([undefined, 'EPIPE']);
  const stderr = createStderr(at);
  for (const text of ['a', 'b', 'c']) await stderr.write(text);
  expect(tried).toEqual(['a', 'b']);
});

test('an output whose stream cannot be opened is one that cannot be written', async () => {
  const stream = (): WriteStream => {
    throw Object.assign(new Error('open EIO'), { code: 'EIO' });
  };
  const at = { fd: 1, stats: undefined, isTTY: false, stream } as const;
  await expect(createStdout(at).write('a')).rejects.toMatchObject({ class: 'not-written' });
  await expect(createStderr(at).write('a')).resolves.toBeUndefined();
});

test.each([
  ['a file', { stats: statSync(import.meta.filename) }, true],
  ['a device that is no terminal', { stats: statSync('/dev/null') }, true],
  ['a terminal', { stats: statSync('/dev/null'), isTTY: true }, false],
  ['a folder, or a pipe', { stats: statSync(import.meta.dirname) }, false],
  ['nothing that is known', {}, false],
])('%s counts as a file: %s', (_name, more, expected) => {
  expect(createStdout(place([], more).place).isFile).toBe(expected);
});

test.each([
  [{ isTTY: true, columns: 120 }, 120],
  [{ isTTY: true, columns: 0 }, 80],
  [{ isTTY: false, columns: 120 }, 80],
])('%j has this number of columns: %d', (more, columns) => {
  expect(createStdout(place([], more).place).columns).toBe(columns);
});
