// The batches of a service, in OpenAI's words: each has ended at the second look after its creation.

/** @type {Map<string, string[]>} the keys in each file, and the results of each batch */
const files = new Map();
/** @type {Map<string, { input: string, looks: number }>} */
const batches = new Map();

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

/** The text of a reply. @param {string} line method and path @param {string} body @returns {string} */
export function answerService(line, body) {
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
