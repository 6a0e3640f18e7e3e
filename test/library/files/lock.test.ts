import { once } from 'node:events';
import fs, {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  describeOwner,
  findOwner,
  type Lock,
  prepareSharedFile,
  takeLock,
  withLock,
} from '../../../src/library/files/lock.ts';
import { ownMark } from '../../../src/library/files/process-mark.ts';
import { isPartName } from '../../../src/library/files/temp-file.ts';
import { openFilesIn, tellsOpenFiles } from '../../helpers/open-files.ts';
import { deadPid, markOf } from '../../helpers/processes.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const elsewhere = '{"host":"elsewhere","pid":7,"nonce":"n"}\n';
const own = { ...ownMark(), started: ownMark().started };
const held: Lock[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const lock of held.splice(0)) await lock.release();
});

const place = (): string => join(scratchFolder(), 'lock');
const left = (path: string): string[] => readdirSync(dirname(path));

/** A lock of a process that has ended on this machine. */
async function placeDead(): Promise<string> {
  const path = place();
  writeFileSync(path, JSON.stringify({ ...markOf(await deadPid()), nonce: 'n' }));
  return path;
}

/** Sets the time of a lock back, or forth. */
function age(path: string, ms: number): void {
  const at = new Date(Date.now() - ms);
  utimesSync(path, at, at);
}

/** Replaces a lock by another process's, as a takeover does. */
function replace(path: string): void {
  writeFileSync(`${path}.new`, elsewhere);
  renameSync(`${path}.new`, path);
}

async function take(path: string, options = {}): Promise<Lock> {
  const lock = await takeLock(path, options);
  if ('heldBy' in lock) throw new Error(`another process has it: ${JSON.stringify(lock.heldBy)}`);
  held.push(lock);
  return lock;
}

const isTaken = (lock: object): boolean => !('heldBy' in lock);

describe('who gets a lock', () => {
  test('one process has it until its release, and the file says in words which one', async () => {
    const path = place();
    const lock = await take(path);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ host: hostname(), pid: process.pid });
    expect(await takeLock(path)).toMatchObject({ heldBy: { mark: { pid: process.pid }, isHere: true } });
    await lock.release();
    expect(left(path)).toEqual([]);
    await take(path);
  });

  test('one of many that ask at once gets a free lock', async () => {
    const path = place();
    const locks = await Promise.all(Array.from({ length: 100 }, () => takeLock(path)));
    expect(locks.filter(isTaken)).toHaveLength(1);
    expect(left(path)).toEqual(['lock']);
  });

  test('one of a hundred gets the lock of a process that ended, and nothing else is left', async () => {
    for (let round = 0; round < 3; round++) {
      const path = await placeDead();
      const locks = await Promise.all(Array.from({ length: 100 }, () => takeLock(path)));
      expect(locks.filter(isTaken)).toHaveLength(1);
      expect(locks.find(isTaken)).toMatchObject({ takenFrom: { isHere: true } });
      expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid });
      expect(left(path)).toEqual(['lock']);
    }
  });

  test('each of many that wait gets it in turn, and never two at once', async () => {
    const path = await placeDead();
    const { signal } = new AbortController();
    const counts = { inside: 0, most: 0, done: 0 };
    const work = async (): Promise<void> => {
      counts.most = Math.max(counts.most, ++counts.inside);
      await turn();
      counts.inside--;
      counts.done++;
    };
    await Promise.all(Array.from({ length: 30 }, () => withLock(path, signal, work)));
    expect(counts).toEqual({ inside: 0, most: 1, done: 30 });
    expect(left(path)).toEqual([]);
  });

  test('a takeover that was killed in between is cleared away', async () => {
    const path = await placeDead();
    writeFileSync(`${path}.takeover`, JSON.stringify(markOf(await deadPid())));
    await take(path);
    expect(left(path)).toEqual(['lock']);
  });

  test('while another process takes it over, a stale lock is busy', async () => {
    const path = await placeDead();
    writeFileSync(`${path}.takeover`, JSON.stringify(own));
    expect(await takeLock(path)).toHaveProperty('heldBy');
    unlinkSync(`${path}.takeover`);
    await take(path);
  });

  test.skipIf(process.platform === 'win32')('a lock that is released while it is asked for is free', async () => {
    const path = place();
    // Such a link exists and cannot be read, like a lock that is removed between the two steps.
    symlinkSync('nowhere', path);
    setImmediate(() => unlinkSync(path));
    await take(path);
    expect(left(path)).toEqual(['lock']);
  });

  test('a wait ends when its signal says so, with its reason', async () => {
    const path = place();
    await take(path);
    const stop = new AbortController();
    const waiting = withLock(path, stop.signal, async () => undefined);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(left(path)).toEqual(['lock']);
  });
});

test('who waited long for a lock looks at it less often the next time: many that wait do not stop the one that works', async () => {
  const looksAt = async (path: string, until: () => boolean): Promise<{ count: number; waiting: Promise<void> }> => {
    const looks = { count: 0, waiting: Promise.resolve() };
    const stop = () => (++looks.count, until() ? expect.unreachable('enough') : undefined);
    looks.waiting = withLock(path, { throwIfAborted: stop }, () => undefined).catch(() => undefined);
    return looks;
  };
  const [busy, quiet] = [place(), place()];
  const first = await take(busy);
  const now = process.hrtime.bigint();
  const clock = vi
    .spyOn(process.hrtime, 'bigint')
    .mockReturnValueOnce(now)
    .mockReturnValue(now + 60_000_000_000n);
  const waiting = withLock(busy, new AbortController().signal, () => undefined);
  await turn();
  await first.release();
  await waiting;
  clock.mockRestore();
  for (const path of [busy, quiet]) await take(path);
  let isOver = false;
  const [seldom, often] = [await looksAt(busy, () => isOver), await looksAt(quiet, () => isOver)];
  await expect.poll(() => often.count, { timeout: 30_000 }).toBeGreaterThan(20);
  expect(seldom.count).toBeLessThan(10);
  isOver = true;
  await Promise.all([seldom.waiting, often.waiting]);
});

describe('when a lock is stale', () => {
  test.skipIf(!existsSync('/proc/self/stat'))(
    'the lock of a process whose number another has now, or of an earlier boot, is free at once',
    async () => {
      const path = place();
      writeFileSync(path, JSON.stringify({ ...own, started: 'another boot/1' }));
      expect(await findOwner(path)).toBeUndefined();
      await take(path);
    },
  );

  test('a process that runs here keeps its lock, however old the file is', async () => {
    const path = place();
    writeFileSync(path, JSON.stringify(own));
    age(path, 7 * 24 * 3_600_000);
    expect(await takeLock(path)).toMatchObject({ heldBy: { leftMs: Number.POSITIVE_INFINITY } });
  });

  test.each([
    ['just now', 0, false],
    ['50 seconds ago', 50_000, false],
    ['70 seconds ago', 70_000, true],
    ['a year from now, by a clock that was set back', -365 * 24 * 3_600_000, true],
  ])('the lock of another machine that was renewed %s: it is free: %s', async (_, ms, isFree) => {
    const path = place();
    writeFileSync(path, elsewhere);
    age(path, ms);
    expect((await findOwner(path)) === undefined).toBe(isFree);
    expect(isTaken(await takeLock(path))).toBe(isFree);
    expect(readFileSync(path, 'utf8') === elsewhere).toBe(!isFree);
  });

  test.each(['', '{"host":', '[]', '{"pid":1}'])(
    'a lock that does not say whose it is, %j, is busy for a minute',
    async (text) => {
      const path = place();
      writeFileSync(path, text);
      expect(await takeLock(path)).toMatchObject({ heldBy: { mark: undefined, isHere: false } });
      age(path, 70_000);
      await take(path);
    },
  );

  test.each([
    ['which does not say its name', {}],
    ['whose name cannot be read', { mark: { host: 'elsewhere', pid: 7 } }],
  ])('a lock of another machine, %s, is free after a minute', async (_, lock) => {
    const path = place();
    writeFileSync(path, JSON.stringify(lock));
    expect(await takeLock(path)).toMatchObject({ heldBy: { mark: undefined, isHere: false } });
    age(path, 70_000);
    await take(path);
  });

  test.skipIf(!existsSync('/proc/self/status'))(
    'where no file can be made, and so the time is not known, a lock counts as held for its minute',
    async () => {
      expect(await findOwner('/proc/self/status')).toMatchObject({ mark: undefined, isHere: false, leftMs: 60_000 });
    },
  );

  test('the file that tells the time of the file system is named as unfinished, so that a later run can remove it', async () => {
    const path = place();
    writeFileSync(path, elsewhere);
    const watcher = watch(dirname(path));
    const made = once(watcher, 'change') as Promise<[string, string]>;
    await findOwner(path);
    const [, name] = await made;
    watcher.close();
    expect(isPartName(name), name).toBe(true);
  });
});

test.each([
  [undefined, 'another process'],
  [{ ...own, pid: 7 }, 'process 7'],
  [{ ...own, pid: 7, namespace: 'other' }, 'process 7 of another container'],
  [{ ...own, pid: 7, host: 'elsewhere' }, 'process 7 of another machine'],
])('the owner of a lock is told in words: %j', (mark, words) => {
  expect(describeOwner({ mark })).toBe(words);
});

test.skipIf(process.platform === 'win32')(
  'a file that processes share gets a folder of its owner alone, and must be a file',
  async () => {
    const folder = join(scratchFolder(), 'a', 'b');
    await prepareSharedFile(join(folder, 'team.jsonl'));
    expect([statSync(folder).mode & 0o777, readdirSync(folder)]).toEqual([0o700, []]);
    symlinkSync('nowhere', join(folder, 'dangling'));
    await prepareSharedFile(join(folder, 'dangling'));
    symlinkSync('.', join(folder, 'link'));
    await expect(prepareSharedFile(join(folder, 'link'))).rejects.toThrow('it is a folder');
    await expect(prepareSharedFile('/dev/null')).rejects.toThrow('it is a device');
  },
);

describe('what the owner of a lock sees', () => {
  test('it is still its own, and stays so', async () => {
    const lock = await take(place());
    expect([lock.isHeld(), lock.look(), lock.isHeld()]).toEqual([true, true, true]);
  });

  test.each([
    ['another process has taken it over', replace, { mark: { host: 'elsewhere', pid: 7 } }],
    ['it was removed', unlinkSync, undefined],
  ])('%s: at its next look it is lost, and stays lost', async (_, change, by) => {
    const path = place();
    const lock = await take(path);
    const text = readFileSync(path, 'utf8');
    change(path);
    expect(lock.look()).toBe(false);
    expect(lock.takenBy()).toEqual(
      by === undefined ? undefined : expect.objectContaining({ mark: expect.objectContaining(by.mark) }),
    );
    expect(lock.isHeld()).toBe(false);
    writeFileSync(path, text);
    expect([lock.look(), lock.isHeld()]).toEqual([false, false]);
  });

  test.each([
    ['two seconds later', 2000],
    ['after a clock was set back', -3_600_000],
  ])('a takeover is seen without a look: %s', async (_, ms) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const path = place();
    const lock = await take(path);
    replace(path);
    vi.setSystemTime(Date.now() + ms);
    expect(lock.isHeld()).toBe(false);
  });

  test('its release leaves the lock of another process', async () => {
    const path = place();
    const lock = await take(path);
    replace(path);
    await lock.release();
    expect(readFileSync(path, 'utf8')).toBe(elsewhere);
  });

  test('its release is tried again where the system refuses it once', async () => {
    const path = place();
    const lock = await take(path);
    const remove = vi.spyOn(fs, 'unlinkSync').mockImplementationOnce(() => {
      throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      remove.mockRestore();
      syncBuiltinESMExports();
    });
    await lock.release();
    expect(left(path)).toEqual([]);
  });

  test('it renews the time of the file again and again, and not its content, nor the file of another', async () => {
    const path = place();
    await take(path, { times: { renewMs: 5, staleMs: 60_000 } });
    const text = readFileSync(path, 'utf8');
    for (let beat = 0; beat < 3; beat++) {
      age(path, 3_600_000);
      await expect.poll(() => Date.now() - statSync(path).mtimeMs).toBeLessThan(1_800_000);
    }
    expect(readFileSync(path, 'utf8')).toBe(text);
    replace(path);
    age(path, 3_600_000);
    const { mtimeMs } = statSync(path);
    await take(join(dirname(path), 'other'), { times: { renewMs: 5, staleMs: 60_000 } });
    age(join(dirname(path), 'other'), 3_600_000);
    await expect.poll(() => Date.now() - statSync(join(dirname(path), 'other')).mtimeMs).toBeLessThan(1_800_000);
    expect(statSync(path).mtimeMs).toBe(mtimeMs);
  });
});

test.skipIf(!tellsOpenFiles)('taking and releasing a lock leaves no file open', async () => {
  const path = await placeDead();
  const lock = await take(path);
  lock.look();
  await takeLock(path);
  expect(openFilesIn(dirname(path))).toEqual([]);
});

test('a lock appears with its whole text', async () => {
  const folder = scratchFolder();
  const seen = new Set<boolean>();
  for (let round = 0; round < 50; round++) {
    const path = join(folder, `lock-${round}`);
    const state = { isTaken: false };
    const taking = take(path).finally(() => (state.isTaken = true));
    while (!state.isTaken) {
      if (existsSync(path)) seen.add(readFileSync(path, 'utf8').endsWith('}\n'));
      await turn();
    }
    await taking;
  }
  expect([...seen].filter((isWhole) => !isWhole)).toEqual([]);
  expect(readdirSync(folder)).toHaveLength(50);
});
