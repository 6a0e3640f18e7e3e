import { describe, expect, test } from 'vitest';
import type { InputKind } from '../../../src/cli/terminal/io.ts';
import { readStdinText, shouldReadStdin, type StdinTextOptions } from '../../../src/cli/input/prompt.ts';

describe('shouldReadStdin', () => {
  test.each([
    ['file', true, true],
    ['pipe', true, true],
    ['socket', true, true],
    ['null', true, false],
    ['terminal', false, false],
    ['closed', false, false],
  ] as const)('%s: without a prompt %s, beside one %s', (kind, alone, beside) => {
    expect(shouldReadStdin({ kind: kind as InputKind, hasPrompt: false, noStdin: false })).toBe(alone);
    expect(shouldReadStdin({ kind: kind as InputKind, hasPrompt: true, noStdin: false })).toBe(beside);
    expect(shouldReadStdin({ kind: kind as InputKind, hasPrompt: false, noStdin: true })).toBe(false);
  });
});

/** A source that the test feeds by hand, and a clock that the test moves. */
function arrange(options: Partial<StdinTextOptions> = {}) {
  const waiting: ((result: IteratorResult<Uint8Array>) => void)[] = [];
  const timers = new Map<number, () => void>();
  const seen = { waits: 0, closed: false };
  const source: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise((resolve) => waiting.push(resolve)),
      async return() {
        seen.closed = true;
        return { done: true, value: undefined };
      },
    }),
  };
  const text = readStdinText(source, {
    timeoutMs: 60_000,
    onWait: () => void seen.waits++,
    after: (ms, act) => {
      timers.set(ms, act);
      return () => timers.delete(ms);
    },
    ...options,
  });
  return { text, seen, timers, waiting, feed: (chunk: Uint8Array | undefined) => waiting.shift()?.(toResult(chunk)) };
}

function toResult(chunk: Uint8Array | undefined): IteratorResult<Uint8Array> {
  return chunk === undefined ? { done: true, value: undefined } : { done: false, value: chunk };
}

async function* chunksOf(...parts: (string | number[])[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part);
}

const patient: StdinTextOptions = { timeoutMs: 60_000, onWait: () => undefined };

describe('a stdin that may never say anything', () => {
  test('counts as empty when its time is over, and is closed', async () => {
    const { text, seen, timers } = arrange({ abandonAfterMs: 3000 });
    expect([...timers.keys()]).toEqual([3000]);
    timers.get(3000)?.();
    expect(await text).toBe('');
    expect(seen).toEqual({ waits: 1, closed: true });
  });

  test('is read to its end once its first byte came', async () => {
    const { text, seen, timers, waiting, feed } = arrange({ abandonAfterMs: 3000 });
    feed(Buffer.from('late '));
    await expect.poll(() => waiting.length).toBe(1);
    expect(timers.size).toBe(0);
    feed(Buffer.from('words'));
    await expect.poll(() => waiting.length).toBe(1);
    feed(undefined);
    expect(await text).toBe('late words');
    expect(seen.waits).toBe(0);
  });
});

describe('readStdinText', () => {
  test.each([
    ['nothing', [], ''],
    ['text in pieces', ['a', 'b\n'], 'ab\n'],
    [
      'a character split over pieces',
      [
        [0xf0, 0x9f],
        [0x98, 0x80],
      ],
      '😀',
    ],
    ['CRLF', ['a\r\nb\r\n'], 'a\r\nb\r\n'],
    ['a byte order mark, which goes', ['\uFEFFa\uFEFF'], 'a\uFEFF'],
    ['NUL', ['a\0b'], 'a\0b'],
  ])('reads %s', async (_name, parts, expected) => {
    expect(await readStdinText(chunksOf(...parts), patient)).toBe(expected);
  });

  test.each([
    ['a lone byte', [[0x61, 0xff, 0x62]], 'invalid byte at offset 1'],
    ['a cut character', ['é', [0xe2, 0x82]], 'invalid byte at offset 2'],
    ['a bad byte after a real U+FFFD', ['\uFEFFa\uFFFD', [0xc3, 0x28]], 'invalid byte at offset 7'],
    ['a surrogate', [[0xed, 0xa0, 0x80]], 'invalid byte at offset 0'],
  ])('refuses %s and says where', async (_name, parts, message) => {
    const reading = readStdinText(chunksOf(...parts), patient);
    await expect(reading).rejects.toMatchObject({ class: 'usage' });
    await expect(reading).rejects.toThrow(message);
  });

  test('recognises UTF-16, which PowerShell writes', async () => {
    const reading = readStdinText(chunksOf([0xff, 0xfe, 0x61, 0x00]), patient);
    await expect(reading).rejects.toMatchObject({ details: { hint: expect.stringContaining('UTF-16') } });
  });

  test('refuses more than its limit, and reads no further', async () => {
    const { text, feed, seen, waiting } = arrange({ maxBytes: 1024 * 1024 });
    feed(new Uint8Array(1024 * 1024 + 1));
    await expect(text).rejects.toMatchObject({ class: 'usage', message: 'stdin holds more than 1 MiB' });
    expect(seen.closed).toBe(true);
    expect(waiting).toEqual([]);
  });

  test('reading stdin says after 2 s that it waits', async () => {
    const { text, feed, seen, timers } = arrange();
    timers.get(2000)?.();
    expect(seen.waits).toBe(1);
    feed(undefined);
    expect(await text).toBe('');
  });

  test('gives up when the first byte does not come in time, and closes stdin', async () => {
    const { text, seen, timers } = arrange({ timeoutMs: 5000 });
    timers.get(5000)?.();
    await expect(text).rejects.toMatchObject({ class: 'usage', message: 'nothing came on stdin for 5 s' });
    expect(seen.closed).toBe(true);
  });

  test('waits for a slow producer after its first byte', async () => {
    const { text, feed, timers, waiting, seen } = arrange();
    feed(Buffer.from('a'));
    await expect.poll(() => waiting.length).toBe(1);
    expect([...timers.keys()]).toEqual([]);
    feed(Buffer.from('b'));
    await expect.poll(() => waiting.length).toBe(1);
    feed(undefined);
    expect(await text).toBe('ab');
    expect(seen.waits).toBe(0);
  });

  test.each([0, 1])('ends at an abort after %d pieces', async (pieces) => {
    const abort = new AbortController();
    const { text, feed, waiting, timers, seen } = arrange({ signal: abort.signal });
    for (let fed = 0; fed < pieces; fed++) {
      feed(Buffer.from('a'));
      await expect.poll(() => waiting.length).toBe(1);
    }
    abort.abort(new Error('ended by SIGINT'));
    await expect(text).rejects.toThrow('ended by SIGINT');
    expect(seen.closed).toBe(true);
    expect(timers.size).toBe(0);
  });

  test('reading stdin does not begin when the run was aborted before', async () => {
    const { text } = arrange({ signal: AbortSignal.abort(new Error('over')) });
    await expect(text).rejects.toThrow('over');
  });
});
