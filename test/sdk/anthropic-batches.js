// Drives the batch client of @anthropic-ai/sdk (the package named in argv) against the gateway of the environment.
import { setTimeout as sleep } from 'node:timers/promises';

const { default: Anthropic } = await import(process.argv[2]);
const { SDK_BASE_URL: baseURL, SDK_API_KEY: apiKey } = process.env;
const { batches } = new Anthropic({ baseURL, apiKey, maxRetries: 0 }).messages;

function ask(custom_id, content, more = {}) {
  return {
    custom_id,
    params: { model: 'claude-haiku-4-5', max_tokens: 100, messages: [{ role: 'user', content }], ...more },
  };
}

async function untilEnded({ id }) {
  for (;;) {
    const batch = await batches.retrieve(id);
    if (batch.processing_status === 'ended') return batch;
    await sleep(20);
  }
}

async function resultsOf({ id }) {
  const results = [];
  for await (const { custom_id, result } of await batches.results(id)) {
    const { type, message, error } = result;
    results.push([custom_id, type, message?.content[0].text ?? error?.error.type, message?.usage.service_tier]);
  }
  return results;
}

const created = await batches.create({ requests: [ask('a', 'first'), ask('b', 'second', { top_p: 'most' })] });
const ended = await untilEnded(created);
const stuck = await batches.create({ requests: [ask('c', 'third', { model: 'fault-batch-stuck' })] });
const canceling = await batches.cancel(stuck.id);
const canceled = await untilEnded(stuck);
const listed = [];
for await (const { id } of batches.list({ limit: 1 })) listed.push(id);

const results = {
  created: created.processing_status,
  counts: ended.request_counts,
  results: await resultsOf(ended),
  canceling: canceling.cancel_initiated_at !== null,
  canceled: await resultsOf(canceled),
  listed: listed.map((id) => [created.id, stuck.id].indexOf(id)),
  deleted: (await batches.delete(created.id)).type,
  missing: await batches.retrieve(created.id).catch(({ status }) => status),
  twice: await batches.create({ requests: [ask('d', 'x'), ask('d', 'y')] }).catch(({ status }) => status),
};
process.stdout.write(JSON.stringify(results));
