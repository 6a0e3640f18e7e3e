import type { IncomingMessage } from 'node:http';
import type { ApiName, Batch, BatchServer, Ending, Entry, Reply, Result } from './batch-server.ts';

/** What the routes of an API work with. */
export interface Core {
  server: BatchServer;
  files: Map<string, string>;
  create(name: string | undefined, entries: Entry[]): Batch;
  find(id: string): Batch | undefined;
  list(show: (batch: Batch) => object): object[];
  poll(id: string, show: (batch: Batch) => object): Reply;
  cancel(id: string, show: (batch: Batch) => object): Reply;
  results(batch: Batch): Result[];
}

export type Route = (line: string, body: string, request: IncomingMessage) => { kind: string; act: () => Reply };

const unknown: ReturnType<Route> = { kind: 'unknown', act: () => ({ status: 404, body: {} }) };

/** The three APIs, with the shapes that their documents show. */
export const apis: Record<ApiName, (core: Core) => Route> = { content, messages, completions };

const lines = (items: readonly object[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('');

function content({ files, create, list, poll, cancel, results }: Core): Route {
  const contentItem = ({ key, ending }: Result): object => {
    if (ending === 'odd') return { key, what: 1 };
    if (typeof ending === 'object' && 'text' in ending) return { key, response: contentReply(ending) };
    if (typeof ending === 'object') return { key, error: { code: 3, message: ending.error } };
    return { key, error: { code: ending === 'expired' ? 4 : 1, message: ending } };
  };
  function contentBatch(batch: Batch): object {
    const { id: name, name: displayName, entries, state } = batch;
    const words = { running: 'RUNNING', ended: 'SUCCEEDED', cancelled: 'CANCELLED', failed: 'FAILED' };
    const stats = { requestCount: String(entries.length), ...(state === 'running' && { pendingRequestCount: '1' }) };
    const metadata = {
      displayName,
      state: `BATCH_STATE_${words[state]}`,
      createTime: '2026-11-25T00:00:00Z',
      batchStats: stats,
    };
    if (state === 'running') return { name, metadata };
    if (state === 'cancelled')
      return { name, metadata, done: true, error: { code: 1, message: 'the operation was cancelled' } };
    const file = `files/out${name.slice('batches/'.length)}`;
    files.set(file, lines(results(batch).map(contentItem)));
    return { name, metadata, done: true, response: { responsesFile: file } };
  }

  return (line, body, request) => {
    if (/^POST \/v1beta\/models\/[^/]+:batchGenerateContent$/.test(line))
      return {
        kind: 'create',
        act() {
          const { displayName, inputConfig } = (
            JSON.parse(body) as { batch: { displayName: string; inputConfig: { fileName: string } } }
          ).batch;
          const text = files.get(inputConfig.fileName) ?? '';
          const entries = linesIn(text).map((one) => entryOf(one['key'] as string, one['request'] as object));
          return { body: contentBatch(create(displayName, entries)) };
        },
      };
    if (line.startsWith('POST /upload/v1beta/files?upload_id'))
      return { kind: 'upload', act: () => (files.set('files/in1', body), { body: { file: { name: 'files/in1' } } }) };
    if (line === 'POST /upload/v1beta/files')
      return {
        kind: 'upload-start',
        act: () => ({
          headers: { 'x-goog-upload-url': `http://${request.headers.host}/upload/v1beta/files?upload_id=1` },
        }),
      };
    if (line.startsWith('GET /v1beta/batches?'))
      return { kind: 'list', act: () => ({ body: { operations: list(contentBatch) } }) };
    const [, file] = /^GET \/download\/v1beta\/(files\/[^:]+):download\?alt=media$/.exec(line) ?? [];
    if (file !== undefined) return { kind: 'results', act: () => ({ body: files.get(file) ?? '' }) };
    const [, id = ''] = /^(?:GET|POST) \/v1beta\/(batches\/\w+)/.exec(line) ?? [];
    if (line.endsWith(':cancel')) return { kind: 'cancel', act: () => cancel(id, contentBatch) };
    return line.startsWith('GET /v1beta/batches/') ? { kind: 'poll', act: () => poll(id, contentBatch) } : unknown;
  };
}

function messages({ server, create, find, list, poll, cancel, results }: Core): Route {
  const messagesItem = ({ key, ending }: Result): object => {
    if (ending === 'odd') return { custom_id: key, result: { type: 'new' } };
    if (ending === 'expired' || ending === 'cancelled')
      return { custom_id: key, result: { type: ending === 'expired' ? ending : 'canceled' } };
    if ('text' in ending) return { custom_id: key, result: { type: 'succeeded', message: messagesReply(ending) } };
    const error = { type: 'error', error: { type: 'invalid_request_error', message: ending.error } };
    return { custom_id: key, result: { type: 'errored', error } };
  };
  function messagesBatch({ id, entries, state }: Batch): object {
    const running = state === 'running';
    const counts = { processing: running ? entries.length : 0, succeeded: running ? 0 : entries.length };
    return {
      id,
      type: 'message_batch',
      processing_status: running ? 'in_progress' : 'ended',
      request_counts: { ...counts, errored: 0, canceled: 0, expired: 0 },
      created_at: '2026-11-25T00:00:00Z',
      expires_at: '2026-11-26T00:00:00Z',
      results_url: running ? null : `${server.url}/v1/messages/batches/${id}/results`,
    };
  }

  return (line, body) => {
    if (line === 'POST /v1/messages/batches')
      return {
        kind: 'create',
        act() {
          const { requests } = JSON.parse(body) as { requests: { custom_id: string; params: object }[] };
          const entries = requests.map(({ custom_id, params }) => entryOf(custom_id, params));
          return { body: messagesBatch(create(undefined, entries)) };
        },
      };
    if (line.startsWith('GET /v1/messages/batches?'))
      return { kind: 'list', act: () => ({ body: { data: list(messagesBatch), has_more: false } }) };
    const [, id = '', rest] = /^(?:GET|POST) \/v1\/messages\/batches\/(\w+)(\/\w+)?$/.exec(line) ?? [];
    if (rest === '/results')
      return { kind: 'results', act: () => ({ body: lines(results(find(id) as Batch).map(messagesItem)) }) };
    if (rest === '/cancel') return { kind: 'cancel', act: () => cancel(id, messagesBatch) };
    return id === '' ? unknown : { kind: 'poll', act: () => poll(id, messagesBatch) };
  };
}

function completions({ files, create, list, poll, cancel, results }: Core): Route {
  const completionsItem = ({ key, ending }: Result): object => {
    const base = { id: `batch_req_${key}`, custom_id: key };
    if (ending === 'odd') return { ...base, what: 1 };
    if (ending === 'expired' || ending === 'cancelled')
      return { ...base, response: null, error: { code: `batch_${ending}`, message: ending } };
    if ('text' in ending)
      return { ...base, response: { status_code: 200, body: completionsReply(ending) }, error: null };
    const error = { message: ending.error, type: 'invalid_request_error', param: null, code: null };
    return { ...base, response: { status_code: 400, body: { error } }, error: null };
  };
  function completionsBatch(batch: Batch): object {
    const { id, entries, state, name, at } = batch;
    const done = state !== 'running';
    const items = done ? results(batch) : [];
    const isGood = ({ ending }: (typeof items)[number]): boolean => typeof ending === 'object' && 'text' in ending;
    files.set(`out-${id}`, lines(items.filter(isGood).map(completionsItem)));
    files.set(`err-${id}`, lines(items.filter((item) => !isGood(item)).map(completionsItem)));
    return {
      id,
      object: 'batch',
      status: { running: 'in_progress', ended: 'completed', cancelled: 'cancelled', failed: 'failed' }[state],
      errors:
        state === 'failed'
          ? { data: [{ code: 'token_limit_exceeded', message: 'enqueued token limit', line: null }] }
          : null,
      output_file_id: done && state !== 'failed' ? `out-${id}` : null,
      error_file_id: done && items.some((item) => !isGood(item)) ? `err-${id}` : null,
      created_at: at,
      expires_at: at + 86_400,
      request_counts: { total: entries.length, completed: done ? entries.length : 0, failed: 0 },
      metadata: { gateway_cli: name },
    };
  }

  return (line, body) => {
    if (line === 'POST /v1/files')
      return {
        kind: 'upload',
        act() {
          const file = /filename="[^"]+"\r\ncontent-type: [^\r]+\r\n\r\n([\s\S]*?)\r\n--/.exec(body)?.[1] ?? '';
          const id = `file-${files.size}`;
          files.set(id, file);
          return { body: { id, object: 'file', purpose: 'batch' } };
        },
      };
    if (line === 'POST /v1/batches')
      return {
        kind: 'create',
        act() {
          const { input_file_id: id, metadata } = JSON.parse(body) as {
            input_file_id: string;
            metadata: Record<string, string>;
          };
          const entries = linesIn(files.get(id) ?? '').map((one) =>
            entryOf(one['custom_id'] as string, one['body'] as object),
          );
          return { body: completionsBatch(create(metadata['gateway_cli'], entries)) };
        },
      };
    if (line.startsWith('GET /v1/batches?'))
      return { kind: 'list', act: () => ({ body: { data: list(completionsBatch), has_more: false } }) };
    const [, file] = /^GET \/v1\/files\/([\w-]+)\/content$/.exec(line) ?? [];
    if (file !== undefined) return { kind: 'results', act: () => ({ body: files.get(file) ?? '' }) };
    const [, id = '', rest] = /^(?:GET|POST) \/v1\/batches\/(\w+)(\/cancel)?$/.exec(line) ?? [];
    if (rest) return { kind: 'cancel', act: () => cancel(id, completionsBatch) };
    return id === '' ? unknown : { kind: 'poll', act: () => poll(id, completionsBatch) };
  };
}

function linesIn(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function entryOf(key: string, body: object): Entry {
  const { contents, messages } = body as {
    contents?: { parts: { text?: string }[] }[];
    messages?: { content: string }[];
  };
  return {
    key,
    body,
    prompt: contents?.at(-1)?.parts.find(({ text }) => text !== undefined)?.text ?? messages?.at(-1)?.content ?? '',
  };
}

type Answered = Extract<Ending, { text: string }>;

function contentReply({ text, reason = 'STOP' }: Answered): object {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: reason, index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    modelVersion: 'm',
  };
}

function messagesReply({ text, reason = 'end_turn' }: Answered): object {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text }],
    stop_reason: reason,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2, service_tier: 'batch' },
  };
}

export function completionsReply({ text, reason = 'stop' }: Answered): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: reason }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    service_tier: 'default',
  };
}
