import { expect } from 'vitest';
import { manyJobs } from '../with-batch.ts';
import { test } from './with-lane.ts';

test('an edited job whose batch was refused is sent by the next run', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.endingOf = () => ({ error: 'bad field' });
  folder.jobs(...manyJobs(2));
  expect((await batch()).code).toBe(13);
  server.endingOf = () => ({ text: 'fine' });
  folder.jobs(...manyJobs(2).map((job) => ({ ...job, maxTokens: 9 })));
  server.fault = (kind, count) => (kind === 'create' && count === 2 ? 'refuse' : undefined);
  expect((await batch(['--accept-changes'])).code).toBe(4);
  const again = await batch();
  expect([again.code, again.stderr]).toEqual([14, expect.stringContaining('2 jobs were edited')]);
  expect((await batch(['--accept-changes'])).code).toBe(0);
  expect(folder.lines('summary.json')).toMatchObject([{ done: 2, failed: 0 }]);
});

test('an edited job whose batch was not created after all is sent by the run that finds that out', async ({ open }) => {
  const { batch, folder, server } = await open('messages');
  server.endingOf = () => ({ error: 'bad field' });
  folder.jobs(...manyJobs(2));
  expect((await batch()).code).toBe(13);
  server.endingOf = () => ({ text: 'fine' });
  folder.jobs(...manyJobs(2).map((job) => ({ ...job, maxTokens: 9 })));
  await batch(['--accept-changes']);
  const journal = folder.lines('journal.jsonl');
  const creating = journal.findLastIndex(({ step }) => step === 'creating');
  folder.write(
    'out/journal.jsonl',
    journal
      .slice(0, creating + 1)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
  folder.write('out/results.jsonl', '');
  server.batches.length = 0;
  const ran = await batch([], { clock: hurried() });
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('the batch of 2 jobs was not created')]);
  expect(folder.lines('summary.json')).toMatchObject([{ done: 2, failed: 0 }]);
});

/** A clock on which the time until a batch that is not listed does not exist is over at the second look. */
function hurried() {
  let now = 0;
  return { elapsed: () => (now += 60_000), after: () => () => undefined };
}
