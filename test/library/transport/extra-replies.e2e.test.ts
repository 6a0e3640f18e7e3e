import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { shell } from '../../helpers/spawn.ts';
import { textReply } from '../../helpers/with-server.ts';
import { serveExtraReplies } from './extra-replies.ts';

const requests = 120;

test('the built program matches every job of a batch with its own reply', async () => {
  const url = await serveExtraReplies({ replyMs: 6, againMs: 2 }, (body) =>
    JSON.stringify(textReply(/"text":"([^"]*)"/.exec(body)?.[1] ?? '')),
  );
  const cwd = scratchFolder();
  const ids = Array.from({ length: requests }, (_, index) => `job-${index}`);
  writeFileSync(join(cwd, 'jobs.jsonl'), ids.map((id) => JSON.stringify({ id, prompt: id, model: 'm' })).join('\n'));
  const env = { GATEWAY_BASE_URL: url, GATEWAY_API_KEY: 'test-key-1234567890' };
  const run = await shell('"$BIN" batch jobs.jsonl -o out --concurrency 4 --quiet', { cwd, env });
  expect(run).toMatchObject({ code: 0 });
  const lines = readFileSync(join(cwd, 'out/results.jsonl'), 'utf8').trim().split('\n');
  const answers = lines.map((line) => JSON.parse(line) as { id: string; text: string });
  expect(answers).toHaveLength(requests);
  expect(answers.filter(({ id, text }) => text !== id)).toEqual([]);
});
