import { existsSync, readFileSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SessionMessage } from '../../../src/cli/chat/message.ts';
import { openSession } from '../../../src/cli/chat/session-file.ts';
import { ownMark } from '../../../src/library/files/process-mark.ts';
import { deadPid, markOf } from '../../helpers/processes.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const place = (): string => join(scratchFolder(), 'talk.jsonl');

test('only one process has a session, and the next gets it after the release', async () => {
  const path = place();
  const lock = await openSession(path);
  await expect(openSession(path)).rejects.toMatchObject({
    class: 'usage',
    message: expect.stringContaining(`process ${process.pid}`),
    details: { hint: expect.stringContaining(`rm ${path}.lock`) },
  });
  await lock.close();
  const next = await openSession(path);
  await lock.close();
  expect(existsSync(`${path}.lock`)).toBe(true);
  await next.close();
  expect(existsSync(`${path}.lock`)).toBe(false);
});

test('takes over the lock of a process that ended', async () => {
  const path = place();
  writeFileSync(`${path}.lock`, JSON.stringify(markOf(await deadPid())));
  const lock = await openSession(path);
  expect(JSON.parse(readFileSync(`${path}.lock`, 'utf8'))).toMatchObject({ pid: process.pid });
  await lock.close();
});

test('one of many concurrent processes gets a stale lock', async () => {
  const path = place();
  writeFileSync(`${path}.lock`, JSON.stringify(markOf(await deadPid())));
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => openSession(path)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test.each([
  ['of another machine', JSON.stringify({ pid: 2 ** 30, host: 'elsewhere' })],
  ['of another container', JSON.stringify({ ...ownMark(), pid: 2 ** 30, namespace: '1' })],
  ['without a number', JSON.stringify({ pid: 'x', host: hostname() })],
  ['without a machine', JSON.stringify({ pid: 2 ** 30 })],
  ['that is being written', ''],
  ['that is no lock of ours', '[]'],
])('does not change a lock %s', async (_name, content) => {
  const path = place();
  writeFileSync(`${path}.lock`, content);
  await expect(openSession(path)).rejects.toMatchObject({ class: 'usage' });
  expect(readFileSync(`${path}.lock`, 'utf8')).toBe(content);
});

const ofAnotherMachine = { pid: 7, host: 'elsewhere', nonce: 'n' };

/** As it is when its owner gave no sign for two minutes. */
function writeOld(path: string, lock: object): void {
  writeFileSync(`${path}.lock`, JSON.stringify(lock));
  const old = new Date(Date.now() - 120_000);
  utimesSync(`${path}.lock`, old, old);
}

test('takes over from another machine that gave no sign of life for a minute', async () => {
  const path = place();
  writeOld(path, ofAnotherMachine);
  const session = await openSession(path);
  expect(JSON.parse(readFileSync(`${path}.lock`, 'utf8'))).toMatchObject(ownMark());
  await session.close();
});

test('a conversation whose session another machine took over does not write into it', async () => {
  const path = place();
  const turn: SessionMessage[] = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: 'a' },
  ];
  const session = await openSession(path);
  await session.append(turn);
  const text = readFileSync(path, 'utf8');
  writeOld(path, ofAnotherMachine);
  const lost = { class: 'not-written', message: expect.stringContaining('process 7 of another machine took it over') };
  await expect(session.append(turn)).rejects.toMatchObject(lost);
  expect(readFileSync(path, 'utf8')).toBe(text);
  await session.close();
  expect(readFileSync(`${path}.lock`, 'utf8')).toContain('elsewhere');
});

test.skipIf(!existsSync('/proc/self/stat'))('takes over a lock whose process number was reused', async () => {
  const path = place();
  writeFileSync(`${path}.lock`, JSON.stringify({ ...ownMark(), started: 'another boot/1' }));
  const lock = await openSession(path);
  expect(JSON.parse(readFileSync(`${path}.lock`, 'utf8'))).toMatchObject(ownMark());
  await lock.close();
});

test.skipIf(process.platform === 'win32')(
  'a lock that is released while it is asked for goes to the next',
  async () => {
    const path = place();
    // Such a link exists and cannot be read, like a lock that is removed between the two steps.
    symlinkSync('nowhere', `${path}.lock`);
    setImmediate(() => unlinkSync(`${path}.lock`));
    const lock = await openSession(path);
    expect(JSON.parse(readFileSync(`${path}.lock`, 'utf8'))).toMatchObject(ownMark());
    await lock.close();
  },
);
