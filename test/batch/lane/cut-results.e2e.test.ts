import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isFull } from '../../helpers/full.ts';
import { manyJobs } from '../with-batch.ts';
import { apiNames } from './batch-server.ts';
import { hurriedClock, test } from './with-lane.ts';

test.for(apiNames)('%s: results that break off without a sign are collected later', async (api, { open }) => {
  const { batch, folder, server } = await open(api);
  server.pollsToEnd = 1;
  folder.jobs(...manyJobs(2));
  for (const part of isFull ? [0, 0.3, 0.5, 0.9] : [0.3, 0.5]) {
    rmSync(join(folder.cwd, 'out'), { recursive: true, force: true });
    let count = 0;
    server.reshape = (kind, text) => {
      if (kind !== 'results') return undefined;
      const end = part === 0.5 ? text.lastIndexOf('\n', text.length - 2) + 1 : Math.trunc(text.length * part);
      // Cut between two lines, they look whole, and are asked for once more.
      return count++ === 0 || text[end - 1] !== '\n' ? text.slice(0, end) : undefined;
    };
    await batch(['--no-wait']);
    server.reshape = () => undefined;
    expect([(await batch()).code, folder.lines('summary.json')], `cut at ${part}`).toMatchObject([0, [{ done: 2 }]]);
  }
});

test.for(['messages', 'completions'] as const)(
  '%s: a page in place of results is not taken for them',
  async (api, { open }) => {
    const { batch, folder, server } = await open(api);
    server.reshape = (kind) => (kind === 'results' ? '<html>\n<body>Log in</body></html>\n' : undefined);
    folder.jobs(...manyJobs(2));
    const ran = await batch([], { clock: hurriedClock(2_000_000) });
    expect([ran.code, ran.stderr]).toEqual([11, expect.stringContaining('2 results of the service cannot be read')]);
    expect(folder.lines('summary.json')).toMatchObject([{ unknown: 0, submitted: 2 }]);
    expect(folder.ls()).not.toContain('results.aside.jsonl');
    server.reshape = () => undefined;
    expect((await batch()).code).toBe(0);
  },
);

test.for([1, 2])(
  'results are recorded although the other file of them, number %d, does not exist any more',
  async (gone, { open }) => {
    const { batch, folder, server } = await open('completions');
    server.endingOf = (prompt) => (prompt === 'p1' ? { error: 'bad field' } : { text: 'fine' });
    server.fault = (kind, count) => (kind === 'results' && (count - gone) % 2 === 0 ? 'not-found' : undefined);
    folder.jobs(...manyJobs(3));
    const ran = await batch([], { clock: hurriedClock(2_000_000) });
    expect([ran.code, ran.stderr]).toEqual([13, expect.stringContaining('the results of batch_1 are not found')]);
    expect(folder.lines('summary.json')).toMatchObject([
      gone === 1 ? { done: 0, failed: 1, unknown: 2 } : { done: 2, failed: 0, unknown: 1 },
    ]);
  },
);

test('results in lines that begin with a byte order mark and end with CRLF are read', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.reshape = (kind, text) => (kind === 'results' ? `\uFEFF${text.replaceAll('\n', '\r\n')}\r\n` : undefined);
  folder.jobs(...manyJobs(2));
  const ran = await batch([], { clock: hurriedClock(2_000_000) });
  expect([ran.code, folder.ls()]).toEqual([0, expect.not.arrayContaining(['results.aside.jsonl'])]);
});

test.for([
  ['completions', /"output_file_id":"[^"]*"/, '"output_file_id":null'],
  ['content', /"responsesFile":/, '"other":'],
] as const)(
  '%s: a batch that is done and names no results yet is looked at again',
  async ([api, from, to], { open }) => {
    const { batch, folder, server } = await open(api);
    let looks = 0;
    server.reshape = (kind, text) =>
      kind === 'poll' && from.test(text) && !/RUNNING|in_progress/.test(text) && looks++ < 2
        ? text.replace(from, to)
        : undefined;
    folder.jobs(...manyJobs(2));
    expect((await batch()).code).toBe(0);
    expect(looks).toBeGreaterThan(2);
  },
);

test.for(apiNames)(
  '%s: a result that is not JSON stays at the service, until the user gives it up',
  async (api, { open }) => {
    const { batch, folder, server } = await open(api);
    server.pollsToEnd = 1;
    server.reshape = (kind, text) => (kind === 'results' ? text.replace('"answer to p1"', 'oops') : undefined);
    folder.jobs(...manyJobs(3));
    const ran = await batch(['--no-wait']);
    expect([ran.code, ran.stderr]).toEqual([11, expect.stringContaining('1 result of the service cannot be read')]);
    expect(folder.lines('summary.json')).toMatchObject([{ done: 2, submitted: 1 }]);
    await batch(['--no-wait', '--retry', 'unknown']);
    expect(folder.read('out/results.aside.jsonl')).toContain('oops');
    server.reshape = () => undefined;
    expect((await batch(['--retry', 'unknown'])).code).toBe(0);
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 2, p2: 1, p3: 1 });
  },
);

test('a page after some results is not taken for the others', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  server.pollsToEnd = 1;
  const page = '<html>\n<body>Log in</body></html>\n';
  server.reshape = (kind, text) => (kind === 'results' ? text.slice(0, text.indexOf('\n') + 1) + page : undefined);
  folder.jobs(...manyJobs(2));
  expect((await batch(['--no-wait'])).code).toBe(11);
  expect(folder.lines('summary.json')).toMatchObject([{ done: 1, unknown: 0, submitted: 1 }]);
  server.reshape = () => undefined;
  expect((await batch()).code).toBe(0);
});
