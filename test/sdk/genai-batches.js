// Drives the batches and files of @google/genai against the gateway of the environment; prints what it got as JSON.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { GoogleGenAI } from '@google/genai';

const { SDK_BASE_URL: baseUrl, SDK_API_KEY: apiKey, SDK_FOLDER: folder } = process.env;
const { batches, files } = new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });
const model = 'gemini-2.5-flash';

function ask(text) {
  return { contents: [{ role: 'user', parts: [{ text }] }] };
}

async function untilEnded({ name }) {
  for (;;) {
    const batch = await batches.get({ name });
    if (!/_(?:PENDING|RUNNING)$/.test(batch.state)) return batch;
    await sleep(20);
  }
}

const textOf = ({ candidates }) => candidates[0].content.parts[0].text;

const src = ['first', 'second'].map((text) => ({ ...ask(text), metadata: { key: text } }));
const created = await batches.create({ model, src, config: { displayName: 'inline' } });
const ended = await untilEnded(created);

const lines = ['third', 'fourth'].map((key) => JSON.stringify({ key, request: ask(key) }));
const file = await files.upload({
  file: new Blob([lines.join('\n')]),
  config: { mimeType: 'application/jsonl', displayName: 'jobs' },
});
const byFile = await untilEnded(await batches.create({ model, src: file.name, config: { displayName: 'file' } }));
const downloadPath = `${folder}/answers.jsonl`;
await files.download({ file: byFile.dest.fileName, downloadPath });

const stuck = await batches.create({ model: 'fault-batch-stuck', src: src.slice(0, 1) });
await batches.cancel({ name: stuck.name });
const listed = [];
for await (const { displayName, state } of await batches.list({ config: { pageSize: 1 } }))
  listed.push([displayName, state]);

const results = {
  created: [created.state, created.displayName],
  ended: ended.state,
  inlined: ended.dest.inlinedResponses.map(({ response, metadata }) => [metadata.key, textOf(response)]),
  file: [file.displayName, file.sizeBytes, file.state],
  downloaded: readFileSync(downloadPath, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ key, response }) => [key, textOf(response)]),
  cancelled: (await untilEnded(stuck)).state,
  listed,
  deleted: await batches.delete({ name: created.name }).then(() => true),
  missing: await batches.get({ name: created.name }).catch(({ status }) => status),
};
process.stdout.write(JSON.stringify(results));
