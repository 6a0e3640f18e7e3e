import { once } from 'node:events';
import { readdirSync, renameSync, statSync, unlinkSync, utimesSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { holdLease, type Lease, leaseLeft, type LeaseOptions, readClocks } from '../../src/files/lease.ts';
import { claimTakeover } from '../../src/files/lock.ts';
import { isPartName } from '../../src/files/temp-file.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const minute = { beatMs: 10_000, leaseMs: 60_000 };
const own = 'own lock';
const isDead = (text: string): boolean => text.startsWith('dead');
const held: Lease[] = [];

afterEach(() => held.splice(0).forEach((lease) => lease.end()));

function lock(options: Partial<LeaseOptions> = {}): { path: string; lease: Lease } {
  const path = join(scratchFolder(), 'lock');
  writeFileSync(path, own);
  const lease = holdLease({ path, text: own, since: readClocks(), isDead, ...minute, ...options });
  held.push(lease);
  return { path, lease };
}

/** Sets the file's modification time back. */
function age(path: string, ms: number): void {
  const at = new Date(Date.now() - ms);
  utimesSync(path, at, at);
}

/** Replaces it by another lock, as a takeover does. */
function replace(path: string): void {
  writeFileSync(`${path}.new`, 'another lock');
  renameSync(`${path}.new`, path);
}

const ago = (ms: number) => ({ monotonic: readClocks().monotonic - ms, wall: readClocks().wall - ms });

describe('a lock that was renewed just now', () => {
  test('is sure, and stays so when it is read again', async () => {
    const { lease } = lock();
    expect(lease.isHeld()).toBe(true);
    expect(await lease.confirm()).toBe(true);
  });

  test.each([
    ['another lock replaced it', replace],
    ['it was removed', unlinkSync],
  ])('is lost when %s, and stays lost', async (_, change) => {
    const { path, lease } = lock();
    change(path);
    expect(lease.isHeld()).toBe(true);
    expect(await lease.confirm()).toBe(false);
    expect(lease.isHeld()).toBe(false);
    writeFileSync(path, own);
    expect(await lease.confirm()).toBe(false);
  });
});

describe('a lock whose holder was suspended', () => {
  test.each([
    ['the process', (ms: number) => ({ ...readClocks(), monotonic: readClocks().monotonic - ms })],
    ['the machine', (ms: number) => ({ ...readClocks(), wall: readClocks().wall - ms })],
  ])('is not sure after %s was suspended for more than three quarters of the lease', (_, since) => {
    expect(lock({ since: since(44_000) }).lease.isHeld()).toBe(true);
    expect(lock({ since: since(46_000) }).lease.isHeld()).toBe(false);
  });

  test('is renewed if it was not taken over, by the file system’s clock', async () => {
    const { path, lease } = lock({ since: ago(3_600_000) });
    age(path, 3_600_000);
    expect(await leaseLeft(path, minute.leaseMs)).toBeLessThan(0);
    expect(await lease.confirm()).toBe(true);
    expect(lease.isHeld()).toBe(true);
    expect(await leaseLeft(path, minute.leaseMs)).toBeGreaterThan(30_000);
    expect(readdirSync(dirname(path))).toEqual(['lock']);
  });

  test('is lost while another process has the claim to replace it, and is not renewed', async () => {
    const { path, lease } = lock({ since: ago(3_600_000) });
    age(path, 3_600_000);
    await claimTakeover({ path, dead: own, own: 'another lock', isDead });
    expect(await lease.confirm()).toBe(false);
    expect(await leaseLeft(path, minute.leaseMs)).toBeLessThan(0);
  });

  test('is lost if another lock replaced it, and that lock is not renewed', async () => {
    const { path, lease } = lock({ since: ago(3_600_000) });
    replace(path);
    age(path, 3_600_000);
    expect(await lease.confirm()).toBe(false);
    expect(await leaseLeft(path, minute.leaseMs)).toBeLessThan(0);
  });
});

test('a holder renews its lock repeatedly, with the same content', async () => {
  const { path, lease } = lock({ beatMs: 5 });
  for (let beat = 0; beat < 3; beat++) {
    age(path, 3_600_000);
    await expect.poll(() => Date.now() - statSync(path).mtimeMs).toBeLessThan(1_800_000);
  }
  expect(await lease.confirm()).toBe(true);
});

test('a lock that was removed has no time left', async () => {
  expect(await leaseLeft(join(scratchFolder(), 'lock'), 1)).toBeUndefined();
});

test('the file that reads the clock has the name of an unfinished file, so that a later run can remove it', async () => {
  const { path } = lock();
  const watcher = watch(dirname(path));
  const made = once(watcher, 'change') as Promise<[string, string]>;
  await leaseLeft(path, minute.leaseMs);
  const [, name] = await made;
  watcher.close();
  expect(isPartName(name), name).toBe(true);
});
