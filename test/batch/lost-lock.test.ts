import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { ownMark } from '../../src/library/files/process-mark.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { type BatchFolder, manyJobs, test } from './with-batch.ts';

/** Another run takes the folder over, and writes its first words. */
function takeOver(folder: BatchFolder): void {
  const path = join(folder.cwd, 'out/lock.json');
  writeFileSync(`${path}.new`, `${JSON.stringify({ ...ownMark(), pid: 7, namespace: '7', nonce: 'n' })}\n`);
  renameSync(`${path}.new`, path);
  folder.write('out/summary.json', 'the words of the other run');
}

test('a run that lost its folder sends no further group, writes nothing into it and ends with 14', async ({
  server,
  folder,
  batch,
}) => {
  vi.stubEnv('XDG_STATE_HOME', scratchFolder());
  let journal = '';
  server.answer = (prompt) => {
    if (prompt !== 'p20') return undefined;
    takeOver(folder);
    journal = readFileSync(join(folder.cwd, 'out/journal.jsonl'), 'utf8');
    return undefined;
  };
  folder.jobs(...manyJobs(400));
  const { code, stderr } = await batch(['--concurrency', '2']);
  expect(code).toBe(14);
  expect(stderr).toContain('batch-locked: process 7 on');
  expect(stderr).toContain('took this folder over');
  // Those that were ready by then, at most.
  expect(server.bodies.length).toBeLessThan(20 + 4 * 2 + 2);
  expect(folder.lines('journal.jsonl').filter(({ t }) => t === 'unsent')).toEqual([]);
  expect(journal).not.toBe('');
  expect(readFileSync(join(folder.cwd, 'out/summary.json'), 'utf8')).toBe('the words of the other run');
  expect(existsSync(join(folder.cwd, 'out/lock.json'))).toBe(true);
  vi.unstubAllEnvs();
});

test('a run whose folder is removed sends no further group, and keeps the replies that came', async ({
  server,
  folder,
  batch,
}) => {
  const state = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
  server.answer = (prompt) => {
    if (prompt === 'p5') rmSync(join(folder.cwd, 'out'), { recursive: true });
    return undefined;
  };
  folder.jobs(...manyJobs(100));
  const { code, stderr } = await batch(['--concurrency', '2']);
  // The lock says it, or the file of results.
  expect([12, 14]).toContain(code);
  expect(stderr).toContain('results.jsonl was removed while it was written; the reply is kept');
  const sent = server.bodies.length;
  expect(sent).toBeLessThan(20);
  // What was written before was removed with the folder.
  expect(readdirSync(join(state, 'gateway-cli/recovered')).length).toBeGreaterThan(0);
  vi.unstubAllEnvs();
});
