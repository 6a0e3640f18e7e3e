import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findHolder, lockFolder } from '../../../src/batch/folder/lock.ts';
import { ownMark } from '../../../src/library/files/process-mark.ts';
import { deadPid, markOf } from '../../helpers/processes.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const folder = scratchFolder;
const lockIn = (path: string) => join(path, 'lock.json');
const write = (path: string, mark: object) => writeFileSync(lockIn(path), JSON.stringify({ ...mark, nonce: 'n' }));

describe('the lock of a folder', () => {
  test('is held until it is released', async () => {
    const path = folder();
    const lock = await lockFolder(path);
    await expect(lockFolder(path)).rejects.toMatchObject({ class: 'batch-locked', exitCode: 14 });
    await expect(lockFolder(path)).rejects.toThrow(`process ${process.pid} on ${hostname()} works in this folder`);
    await lock.release();
    expect(readdirSync(path)).toEqual([]);
    await (await lockFolder(path)).release();
  });

  test('a free lock is taken by one of many processes', async () => {
    const path = folder();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(path)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a lock of a dead process is taken over by one of many processes', async () => {
    const path = folder();
    write(path, markOf(await deadPid()));
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(path)));
    const taken = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(taken).toHaveLength(1);
    await taken[0]?.release();
    expect(readdirSync(path)).toEqual([]);
  });

  test('of a dead process is named', async () => {
    const path = folder();
    const pid = await deadPid();
    write(path, markOf(pid));
    const lock = await lockFolder(path);
    expect(lock.takenFrom).toMatchObject({ mark: { pid } });
    await lock.release();
  });

  test.skipIf(!existsSync('/proc/self/stat'))('of a process whose number was given away is dead', async () => {
    const path = folder();
    write(path, { ...ownMark(), started: 'another boot/1' });
    const lock = await lockFolder(path);
    expect(lock.takenFrom).toMatchObject({ mark: { started: 'another boot/1' } });
    await lock.release();
  });

  test('a lock of another machine holds while it is renewed, and is dead after a minute', async () => {
    const path = folder();
    write(path, { host: 'another-machine', pid: 1 });
    await expect(lockFolder(path)).rejects.toThrow('process 1 on another-machine');
    const old = new Date(Date.now() - 120_000);
    utimesSync(lockIn(path), old, old);
    await (await lockFolder(path)).release();
  });

  test('that is not written yet is in use', async () => {
    const path = folder();
    writeFileSync(lockIn(path), '');
    await expect(lockFolder(path)).rejects.toThrow('another run works in this folder');
  });

  test('a lock is not removed by a process that has lost it', async () => {
    const path = folder();
    const lock = await lockFolder(path);
    write(path, { host: 'another-machine', pid: 1 });
    await lock.release();
    expect(JSON.parse(readFileSync(lockIn(path), 'utf8'))).toMatchObject({ nonce: 'n' });
  });

  test('a lock that cannot be read is told as that, not as one that cannot be written', async () => {
    const path = folder();
    mkdirSync(lockIn(path));
    await expect(findHolder(path)).rejects.toThrow('lock.json cannot be read: it is a folder');
  });

  test('a lock reports which process holds it', async () => {
    const path = folder();
    expect(await findHolder(path)).toBeUndefined();
    const lock = await lockFolder(path);
    expect(await findHolder(path)).toMatchObject({ pid: process.pid });
    await lock.release();
    write(path, markOf(await deadPid()));
    expect(await findHolder(path)).toBeUndefined();
  });
});
