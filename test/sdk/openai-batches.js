// Drives the files and batches of openai against the gateway of the environment; prints what it got as JSON.
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';

const { SDK_BASE_URL: url, SDK_API_KEY: apiKey } = process.env;
const { batches, files } = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

function ask(custom_id, content, more = {}) {
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content }], ...more };
  return JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body });
}

async function start(...lines) {
  const file = await files.create({
    purpose: 'batch',
    file: await toFile(Buffer.from(lines.join('\n')), 'jobs.jsonl'),
  });
  const batch = await batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    metadata: { run: 'r1' },
  });
  return { file, batch };
}

async function untilEnded({ id }) {
  for (;;) {
    const batch = await batches.retrieve(id);
    if (/^(?:completed|failed|expired|cancelled)$/.test(batch.status)) return batch;
    await sleep(20);
  }
}

async function read(id) {
  const text = await (await files.content(id)).text();
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const { custom_id, response, error } = JSON.parse(line);
      return [custom_id, response?.status_code, response?.body.choices?.[0].message.content, error?.code ?? null];
    });
}

const { file, batch: created } = await start(ask('a', 'first'), ask('b', 'second', { n: 0 }));
const ended = await untilEnded(created);
const { batch: stuck } = await start(ask('c', 'third', { model: 'fault-batch-stuck' }));
const cancelling = await batches.cancel(stuck.id);
const cancelled = await untilEnded(stuck);
const { batch: bad } = await start(ask('d', 'x'), 'not JSON');
const listed = [];
for await (const { id } of batches.list({ limit: 2 })) listed.push(id);

const results = {
  file: [file.purpose, file.filename, file.bytes],
  created: [created.status, created.metadata],
  ended: [ended.status, ended.request_counts],
  output: await read(ended.output_file_id),
  errors: await read(ended.error_file_id),
  cancelled: [cancelling.status, cancelled.status, await read(cancelled.error_file_id)],
  failed: (await untilEnded(bad)).errors.data,
  listed: listed.map((id) => [created.id, stuck.id, bad.id].indexOf(id)),
  deleted: (await files.delete(file.id)).deleted,
  missing: await files.retrieve(file.id).catch(({ status }) => status),
};
process.stdout.write(JSON.stringify(results));
