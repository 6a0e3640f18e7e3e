import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { run } from '../../helpers/run.ts';
import { manyJobs } from '../with-batch.ts';
import { apiNames, type Ending } from './batch-server.ts';
import { hurriedClock, prices, test } from './with-lane.ts';

const kindsOf = (requests: readonly string[]) => [...new Set(requests.map((line) => line.split(' ')[0]))];

describe.for(apiNames)('%s', (api) => {
  test('jobs go as one batch, and each gets its own answer at half price', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    folder.jobs(...manyJobs(20));
    const ran = await batch();
    expect([ran.code, ran.stdout]).toEqual([0, 'out/results.jsonl\n']);
    expect(ran.stderr).toContain('20 jobs submitted as ');
    expect(server.batches.map(({ entries }) => entries.length)).toEqual([20]);
    const results = folder.lines('results.jsonl');
    expect(results).toHaveLength(20);
    const cost = { amount: '0.0000115', currency: 'USD' };
    for (const result of results)
      expect(result).toMatchObject({ id: result['prompt'], text: `answer to ${String(result['prompt'])}`, cost });
    expect(folder.lines('summary.json')).toMatchObject([{ done: 20, cost: [{ amount: '0.00023' }], costUnknown: 0 }]);
    expect(folder.ls()).toEqual(['images', 'jobs.jsonl', 'journal.jsonl', 'results.jsonl', 'summary.json']);
    expect([(await batch()).code, server.batches.length]).toEqual([0, 1]);
  });

  test('--no-wait ends with 0, status shows where the jobs are, and the same command collects', async ({ open }) => {
    const { batch, folder, server, env } = await open(api);
    server.pollsToEnd = 3;
    folder.jobs(...manyJobs(3));
    const first = await batch(['--no-wait']);
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('3 jobs go on at the service')]);
    expect(folder.lines('summary.json')).toMatchObject([{ ok: true, exitCode: 0, submitted: 3, pending: 0, done: 0 }]);
    const status = await run(['batch', 'status', 'out'], { cwd: folder.cwd, env });
    expect(status.stdout).toContain('3 jobs: 0 done, 3 at the service\n');
    expect(status.stdout).toMatch(/\n(?:batches\/b|msgbatch_|batch_)1: 3 jobs of m, /);
    const live = await run(['batch', 'jobs.jsonl', '-o', 'out'], { cwd: folder.cwd, env });
    expect([live.code, server.requests.includes('unknown')]).toEqual([13, false]);
    expect(live.stderr).toContain(' at the service: gateway-cli batch again out --lane batch');
    const redo = await run(['batch', 'redo', 'out', 'p2'], { cwd: folder.cwd, env });
    expect([redo.code, redo.stderr]).toEqual([
      2,
      expect.stringMatching(/p2 is at the service\n.*: gateway-cli batch again out --lane batch\n/),
    ]);
    const table = await run(['batch', 'export', 'out', '--format', 'jsonl'], { cwd: folder.cwd, env });
    const told = { class: 'no-reply', message: 'no answer yet: it is at the service' };
    expect(JSON.parse(table.stdout.slice(0, table.stdout.indexOf('\n')))).toMatchObject({
      state: 'submitted',
      error: told,
    });
    expect((await batch()).code).toBe(0);
    expect([...server.counts.values()]).toEqual([1, 1, 1]);
  });

  test('where a job was edited meanwhile, a refused run and status say what collects the others', async ({ open }) => {
    const { batch, folder, server, env } = await open(api);
    server.pollsToEnd = 3;
    folder.jobs(...manyJobs(2));
    await batch(['--no-wait']);
    folder.jobs({ id: 'p1', prompt: 'edited' }, { id: 'p2', prompt: 'p2' });
    const cli = (...argv: string[]) => run(['batch', ...argv], { cwd: folder.cwd, env });
    const next = 'gateway-cli batch retry out --lane batch';
    const refused = await cli('again', 'out', '--lane', 'batch');
    expect([refused.code, refused.stderr]).toEqual([14, expect.stringContaining(`at the service: ${next}  # what`)]);
    expect((await cli('status', 'out')).stdout).toContain(`2 at the service: ${next}\n`);
    expect(await cli(...next.split(' ').slice(2))).toMatchObject({ code: 0 });
    expect((await cli('status', 'out')).stdout).toMatch(/^2 jobs: 1 done, 1 not sent yet \(1 edited\)\n/);
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 1 });
  });

  test('what is sent again and at the service is not told as without an answer', async ({ open }) => {
    const { batch, folder, server, env } = await open(api);
    server.endingOf = (prompt) => (prompt === 'p1' ? 'missing' : { text: 'fine' });
    folder.jobs(...manyJobs(2));
    expect((await batch()).stderr).toContain('p1: ');
    server.pollsToEnd = 3;
    const again = await batch(['--retry', 'unknown', '--no-wait']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('1 at the service')]);
    expect(again.stderr).not.toContain('p1: ');
    expect(folder.lines('summary.json')).toMatchObject([{ submitted: 1, failures: [] }]);
    const status = await run(['batch', 'status', 'out'], { cwd: folder.cwd, env });
    expect(status.stdout).not.toContain('p1: ');
  });

  test('failed, expired and cancelled lines are distinguished, and only they are sent again', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    const endings: Record<string, Ending> = {
      p1: { error: 'bad field' },
      p2: 'expired',
      p3: 'cancelled',
      p4: 'missing',
      p5: 'odd',
    };
    server.endingOf = (prompt) => endings[prompt] ?? { text: 'fine' };
    folder.jobs(...manyJobs(6));
    const ran = await batch();
    expect(ran.code).toBe(13);
    expect(ran.stderr).toContain('1 done, 4 failed, 1 unknown (may have been billed)');
    const failures = Object.fromEntries(
      (folder.lines('summary.json')[0] as { failures: { id: string; error: object }[] }).failures.map(
        ({ id, error }) => [id, error],
      ),
    );
    expect(failures).toMatchObject({
      p1: { class: 'rejected', message: expect.stringContaining('bad field') },
      p2: { message: expect.stringContaining('expired at the service'), billed: 'no' },
      p3: { message: expect.stringContaining('cancelled at the service'), billed: 'no' },
      p4: { class: 'no-reply', billed: 'unknown' },
      p5: { class: 'bad-reply' },
    });
    server.endingOf = () => ({ text: 'fine' });
    const again = await batch(['--retry', 'failed']);
    expect(again.stderr).toContain('5 done, 1 unknown');
    expect(server.batches[0]?.entries.map(({ prompt }) => prompt)).toEqual(['p1', 'p2', 'p3', 'p5']);
    expect((await batch(['--retry', 'unknown'])).code).toBe(0);
  });

  test('an answer that the service ends in the middle is incomplete: what came is kept, and the live lane goes on with it', async ({
    open,
  }) => {
    const { batch, folder, server, env } = await open(api);
    const reason = api === 'content' ? 'CONTINUATION' : 'pause_turn';
    server.endingOf = () => ({ text: 'half', reason });
    folder.jobs(...manyJobs(1));
    expect((await batch()).code).toBe(13);
    const hint = expect.stringContaining('--retry failed --lane live') as string;
    const error = { class: 'incomplete', message: `the answer is not finished: it ended with ${reason}`, hint };
    expect(folder.lines('results.jsonl')).toMatchObject([{ ok: false, text: 'half', error }]);
    const live = await run(['batch', 'jobs.jsonl', '-o', 'out', '--lane', 'live', '--retry', 'failed'], {
      cwd: folder.cwd,
      env,
    });
    // The server of this test knows no live requests: the job was sent to it.
    expect([live.code, server.requests.at(-1)]).toEqual([13, expect.stringContaining('unknown')]);
  });

  test('a result that no job asked for, or that comes twice, is kept aside and reported', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    server.strangers = ['gwffff-0000'];
    const doubled: string[] = [];
    server.doubles = (key) => (doubled.length === 0 || doubled[0] === key ? doubled.push(key) > 0 : false);
    folder.jobs(...manyJobs(3));
    const ran = await batch();
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('1 result of the service for no job of its batch');
    expect(ran.stderr).toContain('1 result of the service came twice');
    expect(folder.lines('results.jsonl').map(({ text }) => text)).not.toContain('again');
    expect(folder.lines('results.aside.jsonl')).toHaveLength(2);
  });

  test('large results of jobs that are not in the table any more are kept, each whole', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    server.endingOf = (prompt) => ({ text: prompt.repeat(200_000) });
    folder.jobs(...manyJobs(3));
    expect((await batch(['--no-wait'])).code).toBe(0);
    folder.jobs(...manyJobs(1));
    await batch();
    const texts = folder.lines('results.jsonl').map(({ text }) => String(text));
    expect(texts.map((text) => [text.slice(0, 2), text.length]).toSorted()).toEqual(
      ['p1', 'p2', 'p3'].map((prompt) => [prompt, 400_000]),
    );
  });

  test('rows that move, change or leave while the service works have their answers under the ids with which they went', async ({
    open,
  }) => {
    const { batch, folder, server } = await open('messages');
    const [a, b, c] = ['a', 'b', 'c'].map((id) => ({ id, prompt: `of ${id}` }));
    folder.jobs(a as object, b as object, c as object);
    server.fault = (kind) => {
      if (kind === 'poll') folder.jobs({ id: 'new', prompt: 'new' }, { ...a, prompt: 'edited' }, b as object);
      return undefined;
    };
    expect((await batch()).code).toBe(0);
    const texts = folder.lines('results.jsonl').map(({ id, text }) => [id, text]);
    expect(texts.toSorted()).toEqual(['a', 'b', 'c'].map((id) => [id, `answer to of ${id}`]));
    expect((await batch(['--accept-changes'])).code).toBe(0);
    expect([...server.counts.keys()].toSorted()).toEqual(['edited', 'new', 'of a', 'of b', 'of c']);
  });

  test('a creation whose answer is lost is looked for, and not repeated', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind, count) => (kind === 'create' && count === 1 ? 'drop' : undefined);
    folder.jobs(...manyJobs(3));
    const ran = await batch();
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('looking for the batch at the service');
    expect([server.batches.length, ...server.counts.values()]).toEqual([1, 1, 1, 1]);
  });

  test('a creation that is answered busy may have been done: it is looked for, and not repeated', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind, count) => (kind === 'create' && count === 1 ? 'busy-after' : undefined);
    folder.jobs(...manyJobs(3));
    const ran = await batch();
    expect([ran.code, server.batches.length, ...server.counts.values()]).toEqual([0, 1, 1, 1, 1]);
    expect(ran.stderr).toContain('looking for the batch at the service');
  });

  test('a creation is repeated after a 429, which certainly created nothing', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind, count) => (kind === 'create' && count === 1 ? 'limit' : undefined);
    folder.jobs(...manyJobs(3));
    expect([(await batch()).code, server.batches.length]).toEqual([0, 1]);
  });

  test('a creation that is refused leaves the jobs as new', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind, count) => (kind === 'create' && count === 1 ? 'refuse' : undefined);
    folder.jobs(...manyJobs(2));
    expect((await batch()).code).toBe(4);
    expect(server.batches).toEqual([]);
    expect((await batch()).code).toBe(0);
  });

  test('where the service does not list its batches, the jobs wait until it does, and are not sent again', async ({
    open,
  }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind) => (kind === 'create' ? 'drop' : kind === 'list' ? 'not-found' : undefined);
    folder.jobs(...manyJobs(2));
    const ran = await batch([], { clock: hurriedClock() });
    expect([ran.code, ran.stderr]).toEqual([8, expect.stringContaining('the service does not list it')]);
    expect(ran.stderr).toContain('2 jobs may be at the service, and be billed');
    server.fault = () => undefined;
    expect((await batch()).code).toBe(0);
    expect([...server.counts.values()]).toEqual([1, 1]);
  });

  test('a batch that is not found right after its creation is looked at again', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind, count) => (kind === 'poll' && count < 3 ? 'not-found' : undefined);
    folder.jobs(...manyJobs(2));
    expect((await batch()).code).toBe(0);
  });

  test('a download that breaks off begins again', async ({ open }) => {
    const { batch, folder, server } = await open(api);
    server.fault = (kind, count) => (kind === 'results' && count === 1 ? 'cut' : undefined);
    folder.jobs(...manyJobs(4));
    expect((await batch()).code).toBe(0);
    expect(folder.lines('results.jsonl')).toHaveLength(4);
  });

  test('Ctrl-C leaves the batch running and says so; batch cancel ends it there', async ({ open }) => {
    const { batch, folder, server, env } = await open(api);
    server.pollsToEnd = 1000;
    folder.jobs(...manyJobs(3));
    const stop = new AbortController();
    const running = batch([], { signal: stop.signal });
    await server.seen('poll');
    stop.abort(new GatewayError('interrupted', 'ended by SIGINT'));
    const ran = await running;
    expect(ran.code).toBe(130);
    expect(ran.stderr).toContain(
      '3 jobs go on at the service, and will be billed; gateway-cli batch again out --lane batch collects the results, gateway-cli batch cancel out ends them\n',
    );
    const cancel = await run(['batch', 'cancel', 'out'], { cwd: folder.cwd, env });
    expect([cancel.code, cancel.stdout]).toEqual([0, expect.stringContaining('1: 3 jobs, cancelled')]);
    expect((await batch()).code).toBe(13);
    expect(folder.lines('summary.json')).toMatchObject([{ failed: 3, unknown: 0 }]);
    expect(folder.lines('summary.json')[0]).not.toHaveProperty('submitted');
    const errors = folder.lines('results.jsonl').map(({ error }) => error as { message: string });
    for (const { message } of errors) expect(message).toContain('cancelled at the service');
    expect(kindsOf(server.requests)).toContain('cancel');
  });
});

test('jobs of two models are two batches', async ({ open }) => {
  const { batch, folder, server } = await open('content');
  folder.jobs(...manyJobs(4).map((job, at) => ({ ...job, model: `m${at % 2}` })));
  expect((await batch()).code).toBe(0);
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([2, 2]);
});

test('a batch of more than 20 MB goes to Gemini in the lines of one file', async ({ open }) => {
  const { batch, folder, server } = await open('content');
  const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(8_000_000)]);
  writeFileSync(join(folder.cwd, 'big.png'), picture);
  folder.jobs(...manyJobs(2).map((job) => ({ ...job, command: 'image edit', image: ['big.png'] })));
  const ran = await batch();
  expect(ran.stderr).toContain('2 failed');
  expect(server.batches).toMatchObject([{ entries: [{ prompt: 'p1' }, { prompt: 'p2' }] }]);
  expect(folder.lines('summary.json')).toMatchObject([{ failures: [{ error: { class: 'no-result' } }, {}] }]);
});

test.for([
  [
    ['--service', 'openrouter', '--format', 'completions'],
    'no batch API of OpenRouter is known',
    'gemini, anthropic, openai, groq, deepinfra',
  ],
  [['--record', 'rec'], '--record cannot be combined with --lane batch', 'leave one of them out'],
] as const)('%s is exit 2, and nothing is sent', async ([argv, message, hint], { open }) => {
  const { batch, folder, server } = await open('completions');
  folder.jobs(...manyJobs(1));
  const ran = await batch(argv);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
  expect(server.requests).toEqual([]);
});

test('the hint of several jobs that no batch can hold is printed once', async ({ open }) => {
  const { batch, folder } = await open('completions');
  folder.jobs(...manyJobs(2));
  const ran = await batch(['--service', 'openrouter', '--format', 'completions']);
  expect(ran.stderr).toContain('jobs.jsonl:2: no batch API of OpenRouter is known\n  use --lane live; these have one:');
});

test.for([
  ['batch', ['--no-wait'], '--no-wait is for the lane batch'],
  ['text', ['hi', '--lane', 'batch'], '--lane batch is for many requests, not for text'],
  [
    'text',
    ['hi', '--lane', 'batch', '--service', 'openrouter'],
    'no batch API of OpenRouter is known\n  use --lane live\n',
  ],
] as const)('%s %s is exit 2', async ([command, argv, message], { open }) => {
  const { folder, env } = await open('content');
  folder.jobs(...manyJobs(1));
  const words = command === 'batch' ? ['jobs.jsonl', '-o', 'out'] : [];
  const ran = await run([command, ...words, ...argv], { cwd: folder.cwd, env });
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('--max-cost counts with half the price, and leaves what could pass it', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  folder.jobs(...manyJobs(4).map((job) => ({ ...job, maxTokens: 100 })));
  const ran = await batch(['--max-cost', '0.002', '--prices', prices]);
  expect(ran.code).toBe(13);
  expect(ran.stderr).toContain('3 done, 1 not sent yet');
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([3]);
});

test('a default that is gone is not replaced in a batch of the service, and the results say what asks another model', async ({
  open,
}) => {
  const { batch, folder, server } = await open('completions');
  server.endingOf = () => ({ error: 'The model `gpt-6-luna` has been deprecated' });
  folder.jobs(...manyJobs(1));
  const ran = await batch(['--service', 'openai', '--format', 'completions'], { env: { GATEWAY_MODEL: '' } });
  expect(ran.code).toBe(13);
  expect(server.batches[0]?.entries).toMatchObject([{ body: { model: 'gpt-6-luna' } }]);
  const [result] = folder.lines('results.jsonl');
  expect(result?.['error']).toMatchObject({
    class: 'rejected',
    hint: expect.stringContaining('--retry failed --lane live asks one that follows it') as string,
  });
});

test('a job that the service wants in its other format has the hint of the live lane in its result', async ({
  open,
}) => {
  const { batch, folder, server } = await open('completions');
  server.endingOf = () => ({ error: 'This model is only supported in v1/responses and not in v1/chat/completions.' });
  folder.jobs(...manyJobs(1));
  expect(await batch(['--format', 'completions'])).toMatchObject({ code: 13 });
  const hint = 'ask it in the format that it answers: --format responses';
  expect(folder.lines('results.jsonl')).toMatchObject([{ error: { class: 'rejected', hint } }]);
});

test.for(['groq', 'deepinfra'])('%s takes batches as OpenAI does', async (service, { open }) => {
  const { batch, folder, server } = await open('completions');
  folder.jobs(...manyJobs(2));
  expect(await batch(['--service', service])).toMatchObject({ code: 0 });
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([2]);
});
