import { expect } from 'vitest';
import { dig, key, type GatewayUnderTest } from '../gateway-under-test.ts';
import { png } from '../../replies/deviation.ts';

/** What a batch API answers; a reply that does not come is a status of 0. */
export interface Spoken {
  status: number;
  json: unknown;
  text: string;
}

/** One of the batch APIs, spoken by hand. */
export interface BatchApi {
  /** Creates a batch with one request for each id. */
  create(model: string, ids: readonly string[]): Promise<Spoken>;
  /** The id in a reply. */
  idOf(json: unknown): string;
  get(id: string): Promise<Spoken>;
  cancel(id: string): Promise<Spoken>;
  list(): Promise<unknown>;
  /** The state, in the words of the API. */
  stateOf(json: unknown): unknown;
  isOver(json: unknown): boolean;
  /** Each result as its id and how it ended, in the order in which it comes. */
  results(json: unknown): Promise<string[]>;
}

/** Speaks HTTP to a gateway. */
export type Speak = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Spoken>;

export function speaker(gateway: GatewayUnderTest, own: Record<string, string>): Speak {
  return async (method, path, body, headers = {}) => {
    const isJson = body !== undefined && !(body instanceof FormData) && typeof body !== 'string';
    const sent = { ...own, ...(isJson && { 'content-type': 'application/json' }), ...headers };
    const shown = isJson ? JSON.stringify(body) : (body as FormData | string | undefined);
    try {
      const reply = await fetch(path.startsWith('http') ? path : gateway.url + path, {
        method,
        headers: sent,
        ...(shown !== undefined && { body: shown }),
      });
      const text = await reply.text();
      const json: unknown = /^\{.*\}$/s.test(text) && !text.includes('}\n{') ? JSON.parse(text) : undefined;
      return { status: reply.status, json, text };
    } catch {
      return { status: 0, json: undefined, text: '' };
    }
  };
}

export function linesOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

export function anthropicApi(gateway: GatewayUnderTest): BatchApi {
  const speak = speaker(gateway, { 'x-api-key': key, 'anthropic-version': '2023-06-01' });
  const path = '/v1/messages/batches';
  return {
    create: (model, ids) =>
      speak('POST', path, {
        requests: ids.map((custom_id) => ({
          custom_id,
          params: { model, max_tokens: 50, messages: [{ role: 'user', content: custom_id }] },
        })),
      }),
    idOf: (json) => String(dig(json, 'id')),
    get: (id) => speak('GET', `${path}/${id}`),
    cancel: (id) => speak('POST', `${path}/${id}/cancel`),
    list: async () => dig((await speak('GET', path)).json, 'data', 0),
    stateOf: (json) => dig(json, 'processing_status'),
    isOver: (json) => dig(json, 'processing_status') === 'ended',
    async results(json) {
      const { text } = await speak('GET', String(dig(json, 'results_url')));
      return linesOf(text).map((line) => `${dig(line, 'custom_id')} ${dig(line, 'result', 'type')}`);
    },
  };
}

export function openAiApi(
  gateway: GatewayUnderTest,
  endpoint: 'chat/completions' | 'responses' | 'images/edits',
): BatchApi {
  const speak = speaker(gateway, { authorization: `Bearer ${key}` });
  const read = async (file: unknown): Promise<unknown[]> =>
    typeof file === 'string' ? linesOf((await speak('GET', `/v1/files/${file}/content`)).text) : [];
  return {
    async create(model, ids) {
      const url = `/v1/${endpoint}`;
      const lines = ids.map((custom_id) => {
        const turns = [{ role: 'user', content: custom_id }];
        const asked = {
          'chat/completions': { messages: turns },
          responses: { input: turns },
          'images/edits': { prompt: custom_id, images: [{ image_url: `data:image/png;base64,${png}` }] },
        };
        const body = { model, ...asked[endpoint] };
        return `${JSON.stringify({ custom_id, method: 'POST', url, body })}\n`;
      });
      const form = new FormData();
      form.append('purpose', 'batch');
      form.append('file', new Blob(lines), 'jobs.jsonl');
      const uploaded = await speak('POST', '/v1/files', form);
      expect(uploaded).toMatchObject({ status: 200, json: { bytes: Buffer.byteLength(lines.join('')) } });
      const input_file_id = dig(uploaded.json, 'id');
      return speak('POST', '/v1/batches', { input_file_id, endpoint: url, completion_window: '24h' });
    },
    idOf: (json) => String(dig(json, 'id')),
    get: (id) => speak('GET', `/v1/batches/${id}`),
    cancel: (id) => speak('POST', `/v1/batches/${id}/cancel`),
    list: async () => dig((await speak('GET', '/v1/batches')).json, 'data', 0),
    stateOf: (json) => dig(json, 'status'),
    isOver: (json) => /completed|expired|cancelled|failed/.test(String(dig(json, 'status'))),
    async results(json) {
      const lines = [...(await read(dig(json, 'output_file_id'))), ...(await read(dig(json, 'error_file_id')))];
      const ending = (line: unknown): unknown => dig(line, 'response', 'status_code') ?? dig(line, 'error', 'code');
      return lines.map((line) => `${dig(line, 'custom_id')} ${ending(line)}`);
    },
  };
}

/** The Gemini API; by file the requests are uploaded and the results downloaded. */
export function geminiApi(gateway: GatewayUnderTest, isByFile: boolean, version = 'v1beta'): BatchApi {
  const speak = speaker(gateway, { 'x-goog-api-key': key });
  const ask = (text: string): object => ({ contents: [{ parts: [{ text }] }] });
  const upload = async (lines: string): Promise<unknown> => {
    const resumable = { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' };
    const started = await fetch(`${gateway.url}/upload/${version}/files`, {
      method: 'POST',
      headers: { 'x-goog-api-key': key, 'content-type': 'application/json', ...resumable },
      body: '{"file":{"display_name":"jobs"}}',
    });
    // As in the service's own example, the second request has no key of its own.
    const finalize = { 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' };
    const place = started.headers.get('x-goog-upload-url') ?? '';
    const ended = await fetch(place, { method: 'POST', headers: finalize, body: lines });
    expect(ended.headers.get('x-goog-upload-status')).toBe('final');
    return dig(await ended.json(), 'file', 'name');
  };
  const inputOf = async (ids: readonly string[]): Promise<object> => {
    const lines = ids.map((id) => `${JSON.stringify({ key: id, request: ask(id) })}\n`);
    if (isByFile) return { fileName: await upload(lines.join('')) };
    return { requests: { requests: ids.map((id) => ({ request: ask(id), metadata: { key: id } })) } };
  };
  return {
    async create(model, ids) {
      const batch = { displayName: 'ours', inputConfig: await inputOf(ids) };
      return speak('POST', `/${version}/models/${model}:batchGenerateContent`, { batch });
    },
    idOf: (json) => String(dig(json, 'name')),
    get: (id) => speak('GET', `/${version}/${id}`),
    cancel: (id) => speak('POST', `/${version}/${id}:cancel`),
    list: async () => dig((await speak('GET', `/${version}/batches?pageSize=1`)).json, 'operations', 0),
    stateOf: (json) => dig(json, 'metadata', 'state'),
    isOver: (json) => dig(json, 'done') === true,
    async results(json) {
      const inline = dig(json, 'response', 'inlinedResponses', 'inlinedResponses');
      const file = dig(json, 'response', 'responsesFile');
      const lines =
        typeof file === 'string'
          ? linesOf((await speak('GET', `/download/${version}/${file}:download?alt=media`)).text)
          : (inline as unknown[] | undefined);
      const keyOf = (line: unknown): unknown => dig(line, 'key') ?? dig(line, 'metadata', 'key');
      return (lines ?? []).map((line) => `${keyOf(line)} ${dig(line, 'error', 'code') ?? 'succeeded'}`);
    },
  };
}
