import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { start } from '../faults/program.ts';
import { createEvent } from './event.ts';
import { manyJobs, test } from './with-batch.ts';

const argv = ['batch', 'jobs.jsonl', '-o', 'out', '--concurrency', '2'];

describe.skipIf(process.platform === 'win32')('Ctrl-C', () => {
  test('Ctrl-C waits for the requests under way, takes no other job, and the batch ends by the signal', async ({
    server,
    folder,
  }) => {
    const event = createEvent();
    server.answer = () => ({ after: event.happened });
    folder.jobs(...manyJobs(9));
    const { child, printed, ended } = start(argv, server, { cwd: folder.cwd });
    await server.received(2);
    child.kill('SIGINT');
    await printed('waiting for 2 requests, 10 s at most; Ctrl-C again stops');
    event.happen();
    const { signal, stdout, stderr } = await ended;
    expect([signal, stdout]).toEqual(['SIGINT', '']);
    expect(stderr).toContain('2 done, 7 not sent yet\n7 not sent yet: gateway-cli batch again out\n');
    expect(server.bodies).toHaveLength(2);
    expect(folder.lines('results.jsonl')).toHaveLength(2);
  });

  test('a batch that a signal ended says in its documents that what it sent may have been billed', async ({
    server,
    folder,
  }) => {
    const event = createEvent();
    server.answer = () => ({ after: event.happened });
    folder.jobs(...manyJobs(9));
    const { child, printed, ended } = start([...argv, '--json'], server, { cwd: folder.cwd });
    await server.received(2);
    child.kill('SIGTERM');
    await printed('waiting for 2 requests');
    event.happen();
    const error = { class: 'terminated', sent: 'unknown', billed: 'unknown' };
    expect(JSON.parse((await ended).stdout)).toMatchObject({ done: 2, error });
    expect(JSON.parse(readFileSync(join(folder.cwd, 'out/summary.json'), 'utf8'))).toMatchObject({ done: 2, error });
  });

  test('a second Ctrl-C ends the batch at once, and requests in flight may have been billed', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ after: new Promise(() => undefined) });
    folder.jobs(...manyJobs(9));
    const { child, printed, ended } = start(argv, server, { cwd: folder.cwd });
    await server.received(2);
    child.kill('SIGINT');
    await printed('waiting for 2 requests');
    child.kill('SIGINT');
    const { signal, stderr } = await ended;
    expect([signal, stderr]).toEqual([
      'SIGINT',
      expect.stringContaining(
        'stopped with 2 requests in flight, which may be billed; gateway-cli batch again out goes on, and gateway-cli batch retry out unknown sends again what is unknown\n',
      ),
    ]);
    // At the end of the ten seconds it would have written this.
    expect(existsSync(join(folder.cwd, 'out/summary.json'))).toBe(false);
    server.answer = () => undefined;
    expect((await batch()).stderr).toContain('7 done, 2 unknown (may have been billed)');
    expect(Math.max(...server.counts.values())).toBe(1);
  });
});
