import { expect } from 'vitest';
import { manyJobs } from '../with-batch.ts';
import type { ApiName } from './batch-server.ts';
import { type Lane, test } from './with-lane.ts';

type Name = Exclude<ApiName, 'messages'>;

/** Of six jobs, four were done before their batch ended so; `late` makes what a look at it, or its results, first say. */
function endEarly({ server }: Lane, api: Name, status: string, [asked, late]: Late): void {
  let count = 0;
  server.pollsToEnd = 1;
  server.endingOf = (prompt) => (['p5', 'p6'].includes(prompt) ? 'missing' : { text: `answer to ${prompt}` });
  const first = (kind: string, text: string): string => (kind === asked && count++ < 7 ? late(text) : text);
  server.reshape = (kind, text) => {
    if (kind === 'results') return first(kind, text);
    if (kind !== 'poll' || /in_progress|RUNNING/.test(text)) return undefined;
    if (api === 'completions')
      return text.replace('"status":"completed"', `"status":"${status}"`).replace('"completed":6', '"completed":4');
    const counted = text.replace('"requestCount":"6"', '"requestCount":"6","successfulRequestCount":"4"');
    return first(kind, counted.replace('STATE_SUCCEEDED', `STATE_${status.toUpperCase()}`));
  };
}

type Late = readonly [kind: 'poll' | 'results', late: (text: string) => string];

const cut = (text: string): string => text.slice(0, text.indexOf('\n') + 1);
const withoutFile = (text: string): string => text.replace(/"response":\{"responsesFile":.*/, '"response":{}}');

test.for<[Name, string, string, Late]>([
  ['completions', 'cancelled', 'an empty file', ['results', () => '']],
  ['completions', 'expired', 'a file that is cut between two lines', ['results', cut]],
  ['completions', 'failed', 'an empty file', ['results', () => '']],
  ['content', 'cancelled', 'no file of results', ['poll', withoutFile]],
  ['content', 'expired', 'a file that is cut between two lines', ['results', cut]],
])(
  '%s: the answers that a batch counts are waited for and not paid again, when it ended %s and first sends %s',
  async ([api, status, , late], { open }) => {
    const lane = await open(api);
    const { batch, folder, server } = lane;
    endEarly(lane, api, status, late);
    folder.jobs(...manyJobs(6));
    const first = await batch(['--no-wait']);
    expect([first.code, first.stderr]).toEqual([11, expect.stringContaining('to give up what does not come')]);
    const ran = await batch();
    expect([ran.code, ran.stderr]).toEqual([13, expect.stringContaining('4 done, 2 failed')]);
    server.endingOf = () => ({ text: 'fine' });
    server.reshape = () => undefined;
    expect((await batch(['--retry', 'failed'])).code).toBe(0);
    expect(Object.fromEntries(server.counts)).toEqual({ p1: 1, p2: 1, p3: 1, p4: 1, p5: 2, p6: 2 });
  },
);

test('the answers that a cancelled batch counts are waited for while it names no file of them', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  let looks = 0;
  server.endingOf = (prompt) => (prompt === 'p1' ? { text: 'fine' } : 'missing');
  server.reshape = (kind, text) => {
    if (kind !== 'poll' || text.includes('in_progress')) return undefined;
    const cancelled = text
      .replace('"status":"completed"', '"status":"cancelled"')
      .replace('"completed":2', '"completed":1');
    return looks++ < 2 ? cancelled.replace(/"output_file_id":"[^"]*"/, '"output_file_id":null') : cancelled;
  };
  folder.jobs(...manyJobs(2));
  const ran = await batch();
  expect([ran.code, ran.stderr]).toEqual([13, expect.stringContaining('1 done, 1 failed')]);
});

test('answers that a cancelled batch counts and never sends are unknown once the user gives them up', async ({
  open,
}) => {
  const lane = await open('completions');
  const { batch, folder, server } = lane;
  endEarly(lane, 'completions', 'cancelled', ['results', () => '']);
  server.reshape = (
    (before) => (kind: string, text: string) =>
      kind === 'results' ? '' : before(kind, text)
  )(server.reshape);
  folder.jobs(...manyJobs(6));
  expect((await batch(['--no-wait'])).code).toBe(11);
  const ran = await batch(['--retry', 'unknown']);
  expect([ran.code, ran.stderr]).toEqual([13, expect.stringContaining('6 unknown (may have been billed)')]);
  expect(server.batches).toHaveLength(1);
});

test('a job of a cancelled batch that counts nothing may have been billed', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  server.endingOf = () => 'missing';
  server.reshape = (kind, text) =>
    kind === 'poll' && !text.includes('in_progress')
      ? text.replace('"status":"completed"', '"status":"cancelled"').replace(/"request_counts":\{[^}]*\},/, '')
      : kind === 'results'
        ? ''
        : undefined;
  folder.jobs(...manyJobs(1));
  const ran = await batch();
  expect([ran.code, ran.stderr]).toEqual([13, expect.stringContaining('1 unknown (may have been billed)')]);
});

test('a line with an answer is its result, although it says that the batch expired', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  server.reshape = (kind, text) =>
    kind === 'results'
      ? text.replaceAll('"error":null', '"error":{"code":"batch_expired","message":"late"}')
      : undefined;
  folder.jobs(...manyJobs(1));
  expect([(await batch()).code, folder.lines('results.jsonl')]).toMatchObject([
    0,
    [{ ok: true, text: 'answer to p1' }],
  ]);
});
