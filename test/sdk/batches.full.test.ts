import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createApp } from '../../src/gateway/app.ts';
import { listen, type Listening } from '../../src/gateway/listen.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { runScript } from './installed.ts';

const key = 'local-sdk-key';
const answered = (prompt: string): unknown => expect.stringContaining(`You wrote “${prompt}”`);

describe("the batch clients of the vendors' SDKs run unchanged", { timeout: 120_000 }, () => {
  let gateway: Listening | undefined;
  beforeEach(async () => {
    await gateway?.close(0);
    gateway = await listen(createApp({ key, batchDelay: 40 }));
  });
  afterAll(async () => gateway?.close(0));

  const run = (...words: string[]): Promise<Record<string, unknown>> =>
    runScript(words, { SDK_BASE_URL: gateway?.url ?? '', SDK_API_KEY: key, SDK_FOLDER: scratchFolder() });

  test.each(['anthropic-0', 'anthropic-1'])('%s creates, polls, reads, lists, cancels and deletes', async (name) => {
    expect(await run('anthropic-batches.js', name)).toEqual({
      created: 'in_progress',
      counts: { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 0 },
      results: [
        ['a', 'succeeded', answered('first'), 'batch'],
        ['b', 'errored', 'invalid_request_error', null],
      ],
      canceling: true,
      canceled: [['c', 'canceled', null, null]],
      listed: [1, 0],
      deleted: 'message_batch_deleted',
      missing: 404,
      twice: 400,
    });
  });

  test('openai uploads, creates, polls, reads both files, lists, cancels and deletes', async () => {
    const problem = { code: 'invalid_json_line', line: 2, param: null };
    expect(await run('openai-batches.js')).toEqual({
      file: ['batch', 'jobs.jsonl', 288],
      created: ['in_progress', { run: 'r1' }],
      ended: ['completed', { total: 2, completed: 1, failed: 1 }],
      output: [['a', 200, answered('first'), null]],
      errors: [['b', 400, null, null]],
      cancelled: ['cancelling', 'cancelled', [['c', null, null, 'batch_cancelled']]],
      failed: [{ ...problem, message: 'The line is no JSON object with a custom_id.' }],
      listed: [2, 1, 0],
      deleted: true,
      missing: 404,
    });
  });

  test('@google/genai creates inline and by file, polls, downloads, lists, cancels and deletes', async () => {
    expect(await run('genai-batches.js')).toEqual({
      created: ['JOB_STATE_RUNNING', 'inline'],
      ended: 'JOB_STATE_SUCCEEDED',
      inlined: [
        ['first', answered('first')],
        ['second', answered('second')],
      ],
      file: ['jobs', expect.stringMatching(/^\d+$/), 'ACTIVE'],
      downloaded: [
        ['third', answered('third')],
        ['fourth', answered('fourth')],
      ],
      cancelled: 'JOB_STATE_CANCELLED',
      listed: [
        ['', expect.stringMatching(/PENDING|CANCELLED/)],
        ['file', 'JOB_STATE_SUCCEEDED'],
        ['inline', 'JOB_STATE_SUCCEEDED'],
      ],
      deleted: true,
      missing: 404,
    });
  });
});
