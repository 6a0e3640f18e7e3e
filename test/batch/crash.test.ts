import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { GatewayError } from '../../src/library/errors.ts';
import { bootMark } from '../../src/library/files/process-mark.ts';
import { manyJobs, test } from './with-batch.ts';

describe('a journal from a crash', () => {
  const record = (folder: { cwd: string }, text: string) => appendFileSync(join(folder.cwd, 'out/journal.jsonl'), text);
  const lastRequest = (folder: { lines(name: string): Record<string, unknown>[] }) =>
    folder.lines('results.jsonl').at(-1) as Record<string, string>;

  test('a job that was sent without an end may have been billed, and is not sent again without a flag', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    const line = lastRequest(folder);
    folder.loseEnds(String(line['id']));
    const { code, stderr } = await batch();
    expect(code).toBe(13);
    expect(stderr).toContain('1 done, 1 unknown (may have been billed)');
    expect(stderr).toContain(`${line['id']}: no-reply: its run ended before an answer was written down\n`);
    const failures = [{ id: line['id'], error: { class: 'no-reply', billed: 'unknown' } }];
    expect(folder.lines('summary.json')).toMatchObject([{ unknown: 1, failures }]);
    expect(JSON.parse((await batch(['status', 'out', '--json'])).stdout)).toMatchObject({ unknown: 1, failures });
    expect(server.bodies).toHaveLength(2);
    expect((await batch(['--retry', 'unknown'])).code).toBe(0);
    expect(server.bodies).toHaveLength(3);
  });

  test.for([
    ['all', (first: string) => '\0'.repeat(first.length)],
    ['the beginning', (first: string) => `\0\0\0${first.slice(3)}`],
    ['the middle', (first: string) => `${first.slice(0, 30)}\0\0\0${first.slice(33)}`],
  ] as const)(
    'a power cut took %s of its first record, before anything was sent: the folder goes on, again and again',
    async ([, lose], { server, folder, batch }) => {
      folder.jobs(...manyJobs(1));
      await batch(['--offline', '--limit', '1']);
      const [first = ''] = folder.read('out/journal.jsonl').split('\n');
      folder.write('out/journal.jsonl', `${lose(first)}\n`);
      folder.write('out/results.jsonl', '');
      for (let times = 0; times < 3; times++) expect(await batch()).toMatchObject({ code: 0 });
      expect((await batch(['status', 'out'])).stdout).toContain('1 job: 1 done\n');
      expect(server.bodies).toHaveLength(1);
    },
  );

  test.skipIf(bootMark() === undefined).for([
    ['the machine went down: the word that it went out may be lost', 'another boot', 13, 3],
    ['only the process was killed: nothing went out', bootMark(), 0, 4],
  ] as const)('a job recorded as ready, and %s', async ([, boot, code, requests], { server, folder, batch }) => {
    folder.jobs(...manyJobs(3));
    await batch();
    folder.loseEnds('p2');
    const [, , second] = folder.lines('jobs.jsonl') as { slot: string }[];
    const lines = folder.lines('journal.jsonl').filter(({ t, slot }) => t !== 'sent' || slot !== second?.slot);
    folder.writeLines(
      'out/journal.jsonl',
      lines.map((line) => (line['t'] === 'run' ? { ...line, boot } : line)),
    );
    const again = await batch();
    expect([again.code, server.bodies.length]).toEqual([code, requests]);
    expect(again.stderr).toContain(code === 0 ? '3 done\n' : '2 done, 1 unknown (may have been billed)');
    const failures = code === 0 ? [] : [{ id: 'p2', error: { class: 'no-reply' } }];
    expect(folder.lines('summary.json')).toMatchObject([{ failures }]);
  });

  test('a failed job that was ready again and did not go out is still a failed one', async ({
    folder,
    batch,
    server,
  }) => {
    server.answer = () => ({ status: 400, body: {} });
    folder.jobs(...manyJobs(1));
    await batch();
    const { slot } = lastRequest(folder);
    for (const t of ['ready', 'unsent']) record(folder, `${JSON.stringify({ t, slots: [slot], at: 1 })}\n`);
    expect((await batch()).stderr).toContain('1 failed');
    expect(server.bodies).toHaveLength(1);
  });

  test('an answer that is in the results is known, though the journal does not have it', async ({
    server,
    folder,
    batch,
  }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    const journal = readFileSync(join(folder.cwd, 'out/journal.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => !line.includes('"done"'));
    folder.write('out/journal.jsonl', journal.join('\n'));
    expect((await batch()).code).toBe(0);
    expect(folder.lines('summary.json')).toMatchObject([{ done: 2, failures: [] }]);
    expect(server.bodies).toHaveLength(2);
    expect((await batch()).code).toBe(0);
  });

  test('the failure of an earlier run does not answer a later one, which may have been billed', async ({
    server,
    folder,
    batch,
  }) => {
    server.answer = () => ({ status: 400, body: {} });
    folder.jobs(...manyJobs(1));
    await batch();
    server.answer = () => undefined;
    const before = folder.read('out/results.jsonl');
    expect((await batch(['--retry', 'failed'])).code).toBe(0);
    // As if the second run had been killed while its request was out.
    folder.writeLines(
      'out/journal.jsonl',
      folder.lines('journal.jsonl').filter(({ t }) => t !== 'done'),
    );
    folder.write('out/results.jsonl', before);
    expect((await batch(['--retry', 'failed'])).stderr).toContain('0 done, 1 unknown (may have been billed)');
    expect(server.bodies).toHaveLength(2);
  });

  test('a result that says that no answer came leaves the job unknown', async ({ server, folder, batch }) => {
    server.answer = () => ({ drop: true });
    folder.jobs(...manyJobs(1));
    await batch();
    const journal = folder.lines('journal.jsonl').filter(({ t }) => t !== 'unknown');
    folder.writeLines('out/journal.jsonl', journal);
    const told = /p1: no-reply: (?!its run ended)/;
    expect((await batch(['status', 'out'])).stdout).toMatch(told);
    expect((await batch(['--retry', 'failed'])).stderr).toContain('0 done, 1 unknown (may have been billed)');
    // Now the journal has it, too.
    expect((await batch()).stderr).toMatch(told);
    expect(server.bodies).toHaveLength(1);
  });

  test('a torn last line of journal and results is cut off', async ({ server, folder, batch }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    record(folder, '{"t":"sent","sl');
    appendFileSync(join(folder.cwd, 'out/results.jsonl'), '{"slot":"1');
    expect((await batch()).code).toBe(0);
    expect(server.bodies).toHaveLength(2);
    expect(folder.lines('results.jsonl')).toHaveLength(2);
    expect(folder.lines('journal.jsonl').at(-1)).toMatchObject({ t: 'run' });
  });

  test('a foreign file in its place is code 14', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    folder.write('out/journal.jsonl', 'my diary\n');
    const { code, stderr } = await batch();
    expect(stderr).toContain('journal.jsonl:1: no record that this version knows');
    expect(code).toBe(14);
  });
});

describe('a signal', () => {
  test('takes no further job, waits for those under way, and ends with the signal', async ({
    server,
    folder,
    batch,
  }) => {
    const stop = new AbortController();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server.answer = () => ({ after: released });
    folder.jobs(...manyJobs(20));
    const running = batch(['--concurrency', '3', '--json'], { signal: stop.signal });
    await server.received(3);
    stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    release();
    const { code, stdout } = await running;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 130, done: 3, unknown: 0, pending: 17 });
    expect(server.bodies).toHaveLength(3);
    server.answer = () => undefined;
    expect((await batch()).code).toBe(0);
    expect(Math.max(...server.counts.values())).toBe(1);
  });

  test('in the pause after a second attempt that was refused, the first one may still have been billed', async ({
    server,
    folder,
    batch,
  }) => {
    const stop = new AbortController();
    server.answer = (_, count) =>
      count === 1
        ? { status: 504, headers: { 'retry-after-ms': '1' }, body: {} }
        : { status: 429, headers: { 'retry-after': '200' }, body: {} };
    folder.jobs(...manyJobs(1));
    const running = batch(['--json'], { signal: stop.signal });
    await server.received(2);
    stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    expect(JSON.parse((await running).stdout)).toMatchObject({ unknown: 1, pending: 0, exitCode: 130 });
    expect((await batch()).code).toBe(13);
    expect(server.bodies).toHaveLength(2);
  });

  test('while the gateway asks for a pause, refused jobs count as new', async ({ server, folder, batch }) => {
    const stop = new AbortController();
    server.answer = () => ({ status: 429, headers: { 'retry-after': '200' }, body: {} });
    folder.jobs(...manyJobs(5));
    const running = batch(['--concurrency', '1', '--json'], { signal: stop.signal });
    await server.received(1);
    stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    const { stdout } = await running;
    expect(JSON.parse(stdout)).toMatchObject({ done: 0, failed: 0, unknown: 0, pending: 5, exitCode: 130 });
    expect(server.bodies).toHaveLength(1);
  });
});
