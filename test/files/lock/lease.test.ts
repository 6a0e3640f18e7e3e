import { once } from 'node:events';
import { readdirSync, renameSync, statSync, unlinkSync, utimesSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { holdLease, type Lease, leaseLeft, type LeaseOptions, moment } from '../../../src/files/lock/lease.ts';
import { acquireRight } from '../../../src/files/lock/takeover.ts';
import { isPartName } from '../../../src/files/temp-file.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const minute = { beatMs: 10_000, leaseMs: 60_000 };
const own = 'own lock';
const isDead = (text: string): boolean => text.startsWith('dead');
const held: Lease[] = [];

afterEach(() => held.splice(0).forEach((lease) => lease.end()));

function lock(options: Partial<LeaseOptions> = {}): { path: string; lease: Lease } {
  const path = join(scratchFolder(), 'lock');
  writeFileSync(path, own);
  const lease = holdLease({ path, text: own, since: moment(), isDead, ...minute, ...options });
  held.push(lease);
  return { path, lease };
}

/** Sets the file's time so far back, as the file system would have it. */
function age(path: string, ms: number): void {
  const at = new Date(Date.now() - ms);
  utimesSync(path, at, at);
}

/** Puts another's lock in its place, as a takeover does. */
function replace(path: string): void {
  writeFileSync(`${path}.new`, 'another lock');
  renameSync(`${path}.new`, path);
}

const ago = (ms: number) => ({ monotonic: moment().monotonic - ms, wall: moment().wall - ms });

describe('a lock that was renewed a moment ago', () => {
  test('is sure, and stays so when it is read again', async () => {
    const { lease } = lock();
    expect(lease.isSure()).toBe(true);
    expect(await lease.confirm()).toBe(true);
  });

  test.each([
    ['another one stands in its place', replace],
    ['it was removed', unlinkSync],
  ])('is lost when %s, and stays lost', async (_, change) => {
    const { path, lease } = lock();
    change(path);
    expect(lease.isSure()).toBe(true);
    expect(await lease.confirm()).toBe(false);
    expect(lease.isSure()).toBe(false);
    writeFileSync(path, own);
    expect(await lease.confirm()).toBe(false);
  });
});

describe('a lock whose holder stood still', () => {
  test.each([
    ['the process', (ms: number) => ({ ...moment(), monotonic: moment().monotonic - ms })],
    ['the machine', (ms: number) => ({ ...moment(), wall: moment().wall - ms })],
  ])('is not sure when %s stood still for longer than three quarters of the time', (_, since) => {
    expect(lock({ since: since(44_000) }).lease.isSure()).toBe(true);
    expect(lock({ since: since(46_000) }).lease.isSure()).toBe(false);
  });

  test('is renewed when nobody took it, by the file system’s clock', async () => {
    const { path, lease } = lock({ since: ago(3_600_000) });
    age(path, 3_600_000);
    expect(await leaseLeft(path, minute.leaseMs)).toBeLessThan(0);
    expect(await lease.confirm()).toBe(true);
    expect(lease.isSure()).toBe(true);
    expect(await leaseLeft(path, minute.leaseMs)).toBeGreaterThan(30_000);
    expect(readdirSync(dirname(path))).toEqual(['lock']);
  });

  test('is lost while somebody has the right to replace it, and is not renewed', async () => {
    const { path, lease } = lock({ since: ago(3_600_000) });
    age(path, 3_600_000);
    await acquireRight({ path, dead: own, own: 'another lock', isDead });
    expect(await lease.confirm()).toBe(false);
    expect(await leaseLeft(path, minute.leaseMs)).toBeLessThan(0);
  });

  test('is lost when another one stands in its place, and that one is not renewed', async () => {
    const { path, lease } = lock({ since: ago(3_600_000) });
    replace(path);
    age(path, 3_600_000);
    expect(await lease.confirm()).toBe(false);
    expect(await leaseLeft(path, minute.leaseMs)).toBeLessThan(0);
  });
});

test('a holder renews its lock again and again, with the same words in it', async () => {
  const { path, lease } = lock({ beatMs: 5 });
  for (let beat = 0; beat < 3; beat++) {
    age(path, 3_600_000);
    await expect.poll(() => Date.now() - statSync(path).mtimeMs).toBeLessThan(1_800_000);
  }
  expect(await lease.confirm()).toBe(true);
});

test('a lock that is gone has no time', async () => {
  expect(await leaseLeft(join(scratchFolder(), 'lock'), 1)).toBeUndefined();
});

test('the file that asks for the time has the name of an unfinished one: a run clears it where its asker was killed', async () => {
  const { path } = lock();
  const watcher = watch(dirname(path));
  const made = once(watcher, 'change') as Promise<[string, string]>;
  await leaseLeft(path, minute.leaseMs);
  const [, name] = await made;
  watcher.close();
  expect(isPartName(name), name).toBe(true);
});
