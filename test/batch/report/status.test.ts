import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const goOn = '1 not sent yet: gateway-cli batch again out';

test('a batch that stopped early says how to go on, and one that failed how to send again', async () => {
  const cwd = scratchFolder();
  const cli = (...argv: string[]) => run(['batch', ...argv], { cwd });
  const jobs = [{ prompt: 'a', model: 'fault-400' }, { prompt: 'b' }];
  writeFileSync(join(cwd, 'jobs.jsonl'), jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
  const batch = ['jobs.jsonl', '-o', 'out', '--offline', '--concurrency', '1'];
  expect(await cli(...batch, '--max-failures', '1')).toMatchObject({ code: 13 });
  const stopped = await cli('status', 'out');
  expect(stopped).toMatchObject({ code: 0, stderr: '' });
  expect(stopped.stdout).toMatch(/^2 jobs: 0 done, 1 failed, 1 not sent yet\n/);
  expect(stopped.stdout).toContain(`\n${goOn}\n`);
  expect(await cli(...batch)).toMatchObject({ code: 13 });
  const failed = await cli('status', 'out');
  expect(failed.stdout).not.toContain(goOn);
  expect(failed.stdout).toContain('\n1 failed: gateway-cli batch retry out\n');
});

test('a batch that is done says no more than that', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"prompt":"a"}\n');
  await run(['batch', 'jobs.jsonl', '-o', 'out', '--offline'], { cwd });
  expect(await run(['batch', 'status', 'out'], { cwd })).toMatchObject({
    code: 0,
    stdout: '1 job: 1 done\n',
    stderr: '',
  });
});

test.each([
  ['a folder', true],
  ['a folder without a summary', false],
])(
  '%s whose last run was refused says that rows were edited, until another run has come to its end',
  async (_, hasSummary) => {
    const cwd = scratchFolder();
    const cli = (...argv: string[]) => run(['batch', ...argv], { cwd });
    const write = (prompt: string) =>
      writeFileSync(join(cwd, 'jobs.jsonl'), `${JSON.stringify({ id: 'a', prompt })}\n`);
    write('one');
    await cli('jobs.jsonl', '-o', 'out', '--offline');
    // As if that run had been killed before its end.
    if (!hasSummary) rmSync(join(cwd, 'out/summary.json'));
    write('uno');
    const refused = await cli('again', 'out');
    expect(refused.code).toBe(14);
    const [message = '', ...hints] = refused.stderr.trimEnd().split('\n');
    const { stdout } = await cli('status', 'out');
    const told = [message.replace('gateway-cli: batch-edited: ', 'last run: '), ...hints.map((hint) => hint.trim())];
    expect(stdout).toBe(`1 job: 1 done\n${told.join('\n')}\n`);
    expect(JSON.parse((await cli('status', 'out', '--json')).stdout)).toMatchObject({
      done: 1,
      lastError: { class: 'batch-edited' },
    });
    write('one');
    expect((await cli('again', 'out')).code).toBe(0);
    expect((await cli('status', 'out')).stdout).toBe('1 job: 1 done\n');
  },
);

test('a lock that does not say whose it is belongs to another run, in the words and the document', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"prompt":"a"}\n');
  await run(['batch', 'jobs.jsonl', '-o', 'out', '--offline'], { cwd });
  writeFileSync(join(cwd, 'out/lock.json'), '');
  const { stdout } = await run(['batch', 'status', 'out'], { cwd });
  expect(stdout).toBe('1 job: 1 done\nanother run works on it; what is unknown may be in flight\n');
  const document = JSON.parse((await run(['batch', 'status', 'out', '--json'], { cwd })).stdout);
  expect(document).toMatchObject({ running: { pid: 0, host: '' } });
});

test('a batch that has used up its money says to raise the limit, for the same command would send nothing', async () => {
  const cwd = scratchFolder();
  const cli = (...argv: string[]) => run(['batch', ...argv], { cwd });
  const jobs = ['local-text', 'fault-400', 'local-text'].map((model, at) => ({
    prompt: `${at}`,
    model,
    maxTokens: 100,
  }));
  writeFileSync(join(cwd, 'jobs.jsonl'), jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
  // A request can cost 1.
  const price = { input: '0', output: '10000' };
  const prices = JSON.stringify({ 'local-text': price, 'fault-400': price });
  const batch = ['jobs.jsonl', '-o', 'out', '--offline', '--concurrency', '1', '--prices', prices];
  const raise = '2 not sent yet: gateway-cli batch again out --max-cost <more>\n';
  expect((await cli(...batch, '--max-cost', '1')).stderr).toContain(raise);
  const stopped = await cli('status', 'out');
  expect(stopped.stdout).toMatch(/^3 jobs: 1 done, 2 not sent yet\n/);
  expect(stopped.stdout).toContain(raise);
  expect(stopped.stdout).not.toContain(goOn);
  // The limit is that of the last run.
  expect((await cli(...batch, '--max-cost', '99999', '--max-failures', '1')).code).toBe(13);
  expect((await cli('status', 'out')).stdout).toContain(goOn);
  await cli(...batch);
  const again = '1 failed: gateway-cli batch retry out';
  const spent = await cli(...batch, '--retry', 'failed', '--max-cost', '1');
  for (const told of [spent.stderr, (await cli('status', 'out')).stdout])
    expect(told).toContain(`${again} --max-cost <more>\n`);
});

test('after a refused run, status has the commands for all rows, and names the edited ones of each folder', async () => {
  const cwd = scratchFolder();
  const cli = (...argv: string[]) => run(['batch', ...argv], { cwd });
  const write = (prompt: string) => {
    const jobs = [
      { id: 'a', prompt },
      { id: 'b', prompt: 'x', model: 'fault-400' },
    ];
    writeFileSync(join(cwd, 'jobs.jsonl'), jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
  };
  write('one');
  for (const folder of ['out', 'two']) await cli('jobs.jsonl', '-o', folder, '--offline');
  write('uno');
  for (const folder of ['out', 'two']) expect(await cli('again', folder)).toMatchObject({ code: 14 });
  const { stdout } = await cli('status', 'out');
  expect(stdout).toMatch(
    /\nlast run: 1 job was edited since an earlier run sent it: a \(in prompt\)\n[^]*\n1 failed: gateway-cli batch retry out\n$/,
  );
  const both = (await cli('status', 'out', 'two')).stdout;
  for (const folder of ['out', 'two'])
    expect(both).toContain(`\n${folder}: last run: 1 job was edited since an earlier run sent it: a (in prompt)\n`);
});

test('what a refused run said to type is for the folder by the name that it had there', async () => {
  const cwd = scratchFolder();
  const cli = (at: string, ...argv: string[]) => run(['batch', ...argv], { cwd: join(cwd, at) });
  mkdirSync(join(cwd, 'a'));
  writeFileSync(join(cwd, 'a/jobs.jsonl'), '{"id":"a","prompt":"one"}\n');
  await cli('a', 'jobs.jsonl', '-o', '-out', '--offline');
  writeFileSync(join(cwd, 'a/jobs.jsonl'), '{"id":"a","prompt":"uno"}\n');
  const next = 'gateway-cli batch again ./-out --accept-changes\n';
  expect(await cli('a', 'again', './-out')).toMatchObject({ code: 14, stderr: expect.stringContaining(next) });
  expect((await cli('a', 'status', './-out')).stdout).toContain(
    `${next}to keep the table of before as well, copy it first: cp -r ./-out ./-out-before\n`,
  );
  const elsewhere = await cli('.', 'status', 'a/-out');
  expect(elsewhere.stdout).toContain('to be told what to type here: gateway-cli batch again a/-out\n');
  expect(elsewhere.stdout).not.toContain(next);
  expect(await cli('.', 'again', 'a/-out')).toMatchObject({
    code: 14,
    stderr: expect.stringContaining('gateway-cli batch again a/-out --accept-changes\n'),
  });
});
