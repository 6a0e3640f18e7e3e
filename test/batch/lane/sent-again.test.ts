import { expect } from 'vitest';
import { manyJobs } from '../with-batch.ts';
import { test } from './with-lane.ts';

const refused = {
  error: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
};

test('jobs of a batch that the service refuses for max_tokens go into a second batch with max_completion_tokens', async ({
  open,
}) => {
  const { batch, folder, server } = await open('completions');
  server.endingOf = (prompt, body) => ('max_tokens' in body ? refused : { text: `answer to ${prompt}` });
  folder.jobs(...manyJobs(5).map((job) => ({ ...job, maxTokens: 16 })), { id: 'free', prompt: 'free' });
  const ran = await batch();
  expect(ran.code).toBe(0);
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([5, 6]);
  expect(folder.lines('results.jsonl').map(({ id, text }) => [id, text])).toHaveLength(6);
  expect(folder.lines('summary.json')).toMatchObject([{ done: 6, failed: 0 }]);
  const next = folder.lines('journal.jsonl').length;
  expect((await batch()).code).toBe(0);
  expect([server.batches.length, folder.lines('journal.jsonl').length > next]).toEqual([2, true]);
});

test('a job that is refused again has failed: it goes into no third batch', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  server.endingOf = () => refused;
  folder.jobs(...manyJobs(2).map((job) => ({ ...job, maxTokens: 16 })));
  const ran = await batch();
  expect(ran.code).toBe(13);
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([2, 2]);
  expect(folder.lines('summary.json')).toMatchObject([{ failed: 2, done: 0 }]);
});

test('what one batch taught is known to the next', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  server.endingOf = (prompt, body) => ('max_tokens' in body ? refused : { text: `answer to ${prompt}` });
  folder.jobs(...manyJobs(1).map((job) => ({ ...job, maxTokens: 16 })));
  await batch();
  folder.jobs(...manyJobs(3).map((job) => ({ ...job, maxTokens: 16 })));
  expect((await batch()).code).toBe(0);
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([2, 1, 1]);
});

test('a second batch takes what is due from a large file', async ({ open }) => {
  const { batch, folder, server } = await open('completions');
  server.endingOf = (_, body) => ('max_tokens' in body ? refused : { text: 'answer' });
  folder.jobs({ id: 'large', prompt: 'x'.repeat(4_500_000) }, ...manyJobs(2).map((job) => ({ ...job, maxTokens: 16 })));
  const ran = await batch();
  expect(ran.stderr).not.toContain('changed during the run');
  expect(ran.code, ran.stderr).toBe(0);
  expect(server.batches.map(({ entries }) => entries.length)).toEqual([2, 3]);
});
