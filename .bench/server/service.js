// The batches of a service, in OpenAI's words, and Gemini's with their results inside: each has ended at the second look after its
// creation.
import { smallReply } from './bodies.js';

/** @type {Map<string, string[]>} the keys in each file, and the results of each batch */
const files = new Map();
/** @type {Map<string, { input: string, looks: number }>} */
const batches = new Map();
/** @type {Map<string, { keys: string[], looks: number }>} */
const operations = new Map();
/** A reply whose text has 5 kB. */
const longReply = String(smallReply).replace('"text":"', `"text":"${'an answer of many words, '.repeat(200)}`);

/** @param {string} key */
function resultLine(key) {
  const message = { role: 'assistant', content: `an answer in a few words, to ${key}` };
  const body = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'bench-model',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 },
  };
  return JSON.stringify({ id: 'batch_req_1', custom_id: key, response: { status_code: 200, body }, error: null });
}

/** The text of a reply, in pieces. @param {string} line method and path @param {string} body @returns {Iterable<string>} */
export function answerService(line, body) {
  if (line.includes('/v1beta/')) return answerOperation(line, body);
  return [answerBatch(line, body)];
}

/** @param {string} line @param {string} body @returns {Generator<string, void>} */
function* answerOperation(line, body) {
  if (line.startsWith('GET /service/v1beta/batches?')) return yield '{}';
  const isNew = line.startsWith('POST ');
  const name = isNew ? `batches/${operations.size}` : (line.split('/v1beta/').at(-1) ?? '');
  if (isNew)
    operations.set(name, {
      keys: [...body.matchAll(/"metadata":\{"key":"([^"]+)"/g)].map(([, key = '']) => key),
      looks: 0,
    });
  const operation = operations.get(name) ?? { keys: [], looks: 0 };
  const hasEnded = ++operation.looks > 2;
  yield `{"name":"${name}","metadata":{"state":"BATCH_STATE_${hasEnded ? 'SUCCEEDED' : 'RUNNING'}"}`;
  if (!hasEnded) return yield '}';
  yield ',"done":true,"response":{"inlinedResponses":{"inlinedResponses":[';
  for (const [at, key] of operation.keys.entries())
    yield `${at === 0 ? '' : ','}{"metadata":{"key":"${key}"},"response":${longReply}}`;
  yield ']}}}';
}

/** @param {string} line @param {string} body @returns {string} */
function answerBatch(line, body) {
  if (line.startsWith('POST /service/files')) {
    const id = `file-${files.size}`;
    files.set(
      id,
      [...body.matchAll(/"custom_id":"([^"]+)"/g)].map(([, key = '']) => key),
    );
    return JSON.stringify({ id, object: 'file', purpose: 'batch' });
  }
  const [, file] = /^GET \/service\/files\/([\w-]+)\/content$/.exec(line) ?? [];
  if (file !== undefined) return (files.get(file) ?? []).map((key) => `${resultLine(key)}\n`).join('');
  if (line.startsWith('GET /service/batches?')) return '{"data":[],"has_more":false}';
  const isNew = line.startsWith('POST ');
  const id = isNew ? `batch_${batches.size}` : (line.split('/').at(-1) ?? '');
  if (isNew) batches.set(id, { input: JSON.parse(body).input_file_id, looks: 0 });
  const batch = batches.get(id) ?? { input: '', looks: 0 };
  const hasEnded = ++batch.looks > 2;
  const total = files.get(batch.input)?.length ?? 0;
  return JSON.stringify({
    id,
    object: 'batch',
    status: hasEnded ? 'completed' : 'in_progress',
    output_file_id: hasEnded ? batch.input : null,
    request_counts: { total, completed: hasEnded ? total : 0, failed: 0 },
  });
}
