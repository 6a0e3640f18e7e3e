import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test, vi } from 'vitest';
import { makeRereadable, readInputImage, spool } from '../../../src/library/images/input.ts';
import { namesIn, pngHead, scratchFolder } from './scratch.ts';

test('reads type, size and hash of an input by its bytes', async () => {
  const path = join(scratchFolder(), 'cat.jpg');
  writeFileSync(path, pngHead(640, 480));
  const sha256 = createHash('sha256').update(pngHead(640, 480)).digest('hex');
  expect(await readInputImage(path, { hash: true })).toMatchObject({
    mimeType: 'image/png',
    bytes: 33,
    width: 640,
    height: 480,
    sha256,
  });
  expect(await readInputImage(path)).toMatchObject({ sha256: undefined });
});

test('does not read large inputs as a whole', async () => {
  const path = join(scratchFolder(), 'cat.png');
  writeFileSync(path, pngHead(1, 1));
  truncateSync(path, 3_000_000_000);
  expect(await readInputImage(path)).toMatchObject({ mimeType: 'image/png', bytes: 3_000_000_000 });
});

test.each<[string, (path: string) => void, string]>([
  ['a missing file', () => {}, 'there is no such file'],
  ['a folder', (path) => mkdirSync(path), 'is a folder'],
  ['an empty file', (path) => writeFileSync(path, ''), 'is empty'],
  ['text', (path) => writeFileSync(path, 'hello'), 'is not an image'],
  ['SVG', (path) => writeFileSync(path, '<svg/>'), 'is not an image'],
])('refuses %s', async (_name, make, message) => {
  const path = join(scratchFolder(), 'cat.png');
  make(path);
  await expect(readInputImage(path)).rejects.toMatchObject({
    class: 'usage',
    exitCode: 2,
    message: expect.stringMatching(new RegExp(`cat\\.png".*${message}`)),
  });
  await expect(readInputImage(path, { label: '-i -' })).rejects.toMatchObject({
    message: expect.stringMatching(/^-i -/),
  });
});

test.skipIf(process.getuid?.() === 0 || process.platform === 'win32')(
  'refuses a file that may not be read (needs a user who is not root)',
  async () => {
    const path = join(scratchFolder(), 'cat.png');
    writeFileSync(path, pngHead(1, 1));
    chmodSync(path, 0);
    await expect(readInputImage(path)).rejects.toMatchObject({
      class: 'usage',
      message: expect.stringContaining('permission to read it'),
    });
  },
);

/** How a stream is copied in a test, and what removes the copies. */
function spooling(): { signal: AbortSignal; atEnd: (remove: () => Promise<void>) => void; end: () => Promise<void> } {
  const removals: (() => Promise<void>)[] = [];
  return {
    signal: new AbortController().signal,
    atEnd: (remove) => void removals.push(remove),
    async end() {
      for (const remove of removals) await remove();
    },
  };
}

test.skipIf(process.platform === 'win32')('copies a pipe to a file, and removes the copy at the end', async () => {
  const folder = scratchFolder();
  const spoolFolder = temporaryFolder();
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  writeFileSync(join(folder, 'cat.png'), pngHead(3, 4));
  spawn('sh', ['-c', 'cat "$1" > "$2"', 'sh', join(folder, 'cat.png'), fifo], { stdio: 'ignore' });
  const copies = spooling();
  const path = await makeRereadable(fifo, copies);
  expect(await readInputImage(path)).toMatchObject({ mimeType: 'image/png', bytes: 33, width: 3, height: 4 });
  expect(readFileSync(path)).toEqual(pngHead(3, 4));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await copies.end();
  await copies.end();
  expect(namesIn(spoolFolder)).toEqual([]);
});

test('copies no file, and leaves what is not there to its reader', async () => {
  const path = join(scratchFolder(), 'cat.png');
  expect(await makeRereadable(path, spooling())).toBe(path);
  writeFileSync(path, 'x');
  expect(await makeRereadable(path, spooling())).toBe(path);
});

test.skipIf(process.platform === 'win32')('an abort ends the wait for a pipe that nobody writes to', async () => {
  const folder = temporaryFolder();
  execFileSync('mkfifo', [join(folder, 'fifo')]);
  const abort = new AbortController();
  const copying = makeRereadable(join(folder, 'fifo'), { ...spooling(), signal: abort.signal });
  copying.catch(() => undefined);
  await vi.waitFor(() => expect(namesIn(folder)).toHaveLength(2));
  const reason = new DOMException('the time is over', 'TimeoutError');
  abort.abort(reason);
  await expect(copying).rejects.toBe(reason);
  expect(namesIn(folder)).toEqual(['fifo']);
});

test.skipIf(process.platform === 'win32').each(['fifo', '/dev/zero'])(
  'an abort ends the copy of %s before its first byte is read, and no error is without a reader',
  async (name) => {
    const folder = temporaryFolder();
    execFileSync('mkfifo', [join(folder, 'fifo')]);
    const uncaught: unknown[] = [];
    const keep = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtException', keep);
    const reason = new DOMException('the time is over', 'TimeoutError');
    const aborted = { ...spooling(), signal: AbortSignal.abort(reason) };
    await expect(makeRereadable(resolve(folder, name), aborted)).rejects.toBe(reason);
    process.off('uncaughtException', keep);
    expect([uncaught, namesIn(folder)]).toEqual([[], ['fifo']]);
  },
);

/** Where temporary files are written until the end of the test; Windows has a variable of its own for it. */
function temporaryFolder(folder = scratchFolder()): string {
  for (const name of ['TMPDIR', 'TEMP']) vi.stubEnv(name, folder);
  return folder;
}

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test('spools a stream, up to a cap', async () => {
  const folder = temporaryFolder();
  const [begin, end] = ['a'.repeat(1024 * 1024 - 3), 'def'];
  const copies = spooling();
  const path = await spool(chunks(begin, '', end), { ...copies, capMebibytes: 1 });
  expect(readFileSync(path, 'utf8') === begin + end).toBe(true);
  await copies.end();
  await expect(spool(chunks(begin, 'defg'), { ...copies, capMebibytes: 1 })).rejects.toMatchObject({
    class: 'usage',
    message: 'stdin holds more than 1 MiB',
  });
  expect(namesIn(folder)).toEqual([]);
  temporaryFolder(join(folder, 'no'));
  await expect(spool(chunks('abc'), copies)).rejects.toMatchObject({
    class: 'usage',
    message: expect.stringContaining('cannot keep stdin'),
  });
});

test('throws the error of a stream', async () => {
  const folder = temporaryFolder();
  const reason = new DOMException('stopped', 'AbortError');
  async function* aborted(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('abc');
    throw reason;
  }
  await expect(spool(aborted(), spooling())).rejects.toBe(reason);
  expect(namesIn(folder)).toEqual([]);
});
