import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shareRate } from '../../../src/batch/run/rate-group.ts';
import { createGate } from '../../../src/library/transport/gate.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { run } from '../../helpers/run.ts';

/** Two processes of a group on one clock, which their waits move. */
function twoProcesses({ path = join(scratchFolder(), 'group.json') } = {}) {
  const clock = { at: 1_000_000 };
  const sleep = async (ms: number): Promise<void> => void (clock.at += ms);
  const open = () => {
    const gate = createGate({ elapsed: () => clock.at, sleep, jobs: 10 });
    return shareRate(gate, { path, spacingMs: 100, now: () => clock.at, sleep });
  };
  const { signal } = new AbortController();
  return { path, clock, signal, first: open(), second: open() };
}

test('two processes take turns, one after the other', async () => {
  const { clock, signal, first, second } = twoProcesses();
  const turns: number[] = [];
  for (const { pace } of [first, second, second, first]) {
    await pace(signal);
    turns.push(clock.at - 1_000_000);
  }
  expect(turns).toEqual([0, 100, 200, 300]);
});

test('a wait that one is asked for holds back the other', async () => {
  const { clock, signal, first, second } = twoProcesses();
  await first.pace(signal);
  first.gate.close(5000);
  await first.pace(signal);
  const resumedAt = clock.at;
  await second.pace(signal);
  expect([resumedAt, clock.at].map((at) => at - 1_000_000)).toEqual([5000, 5100]);
});

test('a shorter wait does not shorten a longer one of another process', async () => {
  const { clock, signal, path, first, second } = twoProcesses();
  first.gate.close(5000);
  await expect.poll(() => existsSync(path)).toBe(true);
  second.gate.close(50);
  await first.pace(signal);
  await second.pace(signal);
  expect(clock.at - 1_000_000).toBeGreaterThanOrEqual(5000);
});

test('a wait that is asked for after the turn was taken counts, too', async () => {
  const { clock, signal, path, first } = twoProcesses();
  await first.pace(signal);
  const waiting = first.pace(signal);
  writeFileSync(path, JSON.stringify({ next: clock.at, until: clock.at + 3000 }));
  await waiting;
  expect(clock.at - 1_000_000).toBeGreaterThanOrEqual(3000);
});

test.each(['', '{"next":', '{"next":9e15,"until":9e15}'])('a file that holds %j delays no request', async (text) => {
  const path = join(scratchFolder(), 'group.json');
  writeFileSync(path, text);
  const { clock, signal, first } = twoProcesses({ path });
  await first.pace(signal);
  expect(clock.at).toBe(1_000_000);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ next: 1_000_100 });
  expect(existsSync(`${path}.lock`)).toBe(false);
});

test('--rate-group without --rate is exit code 2, and the hint has both', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'p.txt'), 'hi\n');
  const ran = await run(['batch', '--prompts', 'p.txt', '-o', 'out', '--offline', '--rate-group', './g.json'], { cwd });
  expect(existsSync(join(cwd, 'out'))).toBe(false);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('add it: --rate 60/m');
});

test('a file that is not of a rate group stays as it is', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'mine.jsonl'), '{"row":1}\n');
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"prompt":"hi"}\n');
  const argv = ['batch', 'jobs.jsonl', '-o', 'out', '--offline', '--rate', '60/m', '--rate-group', './mine.jsonl'];
  const { code, stderr } = await run(argv, { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining('mine.jsonl is not the file of a rate group')]);
  expect(readFileSync(join(cwd, 'mine.jsonl'), 'utf8')).toBe('{"row":1}\n');
});

test.skipIf(process.platform === 'win32').each(['pipe', 'link'])(
  'a pipe is refused as a rate group, and stays: it was waited for, and a device was replaced by a file: %s',
  async (name) => {
    const cwd = scratchFolder();
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    symlinkSync('pipe', join(cwd, 'link'));
    const argv = ['batch', '-', '--stream', '--rate', '60/m', '--rate-group', `./${name}`, '--offline'];
    const ran = await run(argv, { cwd, stdin: '{"prompt":"hi"}' });
    expect([ran.code, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toContain(`--rate-group ./${name} cannot be kept: it is a device, a pipe or a socket\n`);
    expect(lstatSync(join(cwd, 'pipe')).isFIFO()).toBe(true);
  },
);

test.skipIf(process.platform === 'win32')(
  'a rate group that cannot be read is a wrong flag: nothing was sent',
  async () => {
    const cwd = scratchFolder();
    symlinkSync('circle', join(cwd, 'circle'));
    writeFileSync(join(cwd, 'jobs.jsonl'), '{"prompt":"hi"}\n');
    const argv = ['batch', 'jobs.jsonl', '-o', 'out', '--offline', '--rate', '60/m', '--rate-group', './circle'];
    const { code, stderr } = await run(argv, { cwd });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('--rate-group ./circle cannot be kept: it is a symbolic'),
    ]);
  },
);

test('a group that cannot be read any more ends the run, which says so', async () => {
  const { signal, path, first } = twoProcesses();
  mkdirSync(path);
  await expect(first.pace(signal)).rejects.toThrow(`${path} cannot be read: it is a folder`);
});

test.each([true, false])('a link to the file of a group stays a link; the file is there: %s', async (isThere) => {
  const cwd = scratchFolder();
  if (isThere) writeFileSync(join(cwd, 'shared.json'), '');
  symlinkSync('shared.json', join(cwd, 'link.json'));
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"prompt":"hi"}\n');
  const argv = ['batch', 'jobs.jsonl', '-o', 'out', '--offline', '--rate', '60/m', '--rate-group', './link.json'];
  expect((await run(argv, { cwd })).code).toBe(0);
  expect(readlinkSync(join(cwd, 'link.json'))).toBe('shared.json');
  expect(readFileSync(join(cwd, 'shared.json'), 'utf8')).toContain('"next":');
});
