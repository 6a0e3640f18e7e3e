import { connect } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import { createApp, type AppOptions } from '../../src/gateway/app.ts';
import { listen, type Listening } from '../../src/gateway/listen.ts';

export const key = 'local-test-key';

export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  json: unknown;
}

export interface GatewayUnderTest extends Listening {
  /** A POST as `fetch` sends it, with the key as a bearer token and the version header. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answered>;
  /** Writes literal bytes and reads until the server closes. */
  raw(bytes: string): Promise<string>;
}

/** A gateway on an ephemeral port. */
export async function startGateway(options: AppOptions = {}): Promise<GatewayUnderTest> {
  const listening = await listen(createApp({ key, faultDelay: 60, ...options }));
  return {
    ...listening,
    post: async (path, body, headers = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const sent = { ...usualHeaders, ...headers };
      const response = await fetch(listening.url + path, {
        method: 'POST',
        headers: sent,
        body: text,
        redirect: 'manual',
      });
      return readAnswer(response);
    },
    raw: (bytes) => exchangeBytes(listening.port, bytes),
  };
}

/** A gateway for all tests of a file. */
export function sharedGateway(options: AppOptions = {}): GatewayUnderTest {
  const gateway = {} as GatewayUnderTest;
  beforeAll(async () => void Object.assign(gateway, await startGateway(options)));
  afterAll(() => gateway.close(0));
  return gateway;
}

const usualHeaders = {
  'content-type': 'application/json',
  authorization: `Bearer ${key}`,
  'vendor-b-version': '2023-06-01',
};

export const textPath = '/v1beta/models/local-text:generateContent';
export const imagePath = '/v1beta/models/local-image:generateContent';
export const editPath = '/v1beta/models/local-edit:generateContent';

/** A user turn of the content format. */
export function turn(text: string, more: object = {}): object {
  return { contents: [{ role: 'user', parts: [{ text }] }], ...more };
}

/** A message of the messages format. */
export function message(content: unknown, more: object = {}): object {
  return { model: 'local-chat', max_tokens: 1000, messages: [{ role: 'user', content }], ...more };
}

/** A request of the completions format. */
export function completion(content: unknown, more: object = {}): object {
  return { model: 'local-chat', messages: [{ role: 'user', content }], ...more };
}

/** A request of the responses format. */
export function responseTo(input: unknown, more: object = {}): object {
  return { model: 'local-chat', input, ...more };
}

/** The data of each event of a stream with names, parsed by hand; each has the name that its data has, and its number. */
export function readEvents(text: string): Record<string, unknown>[] {
  const blocks = text.split('\n\n');
  if (blocks.pop() !== '') throw new Error('the stream ends inside an event');
  return blocks.map((block, index) => {
    const [, name, data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    const event = JSON.parse(data) as Record<string, unknown>;
    if (event['type'] !== name || event['sequence_number'] !== index) throw new Error(`not event ${index}: ${block}`);
    return event;
  });
}

/** The data of each event of a stream without names, parsed by hand. */
export function readChunks(text: string): unknown[] {
  const lines = text.split('\n\n');
  return lines.slice(0, -1).map((line) => {
    const data = /^data: (.*)$/.exec(line)?.[1] ?? '';
    return data === '[DONE]' ? data : JSON.parse(data);
  });
}

/** A PNG of one pixel, Base64. */
export const dotPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

async function readAnswer(response: Response): Promise<Answered> {
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, json: text.startsWith('{') || text.startsWith('[') ? parse(text) : undefined };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function exchangeBytes(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => (received += String(chunk)));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}

/** The value at a path of keys and indexes; undefined where there is none. */
export function dig(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, step) => (at === undefined || at === null ? undefined : Reflect.get(Object(at), step)),
    value,
  );
}

/** The text of the first candidate. */
export function contentText(json: unknown): string {
  return String(dig(json, 'candidates', 0, 'content', 'parts', 0, 'text'));
}

/** The first image of a candidate, decoded. */
export function imageOf(json: unknown, candidate = 0): { mimeType: string; bytes: Buffer } {
  const parts = dig(json, 'candidates', candidate, 'content', 'parts');
  const blob = (Array.isArray(parts) ? parts : [])
    .map((part) => dig(part, 'inlineData'))
    .find((found) => found !== undefined);
  return { mimeType: String(dig(blob, 'mimeType')), bytes: Buffer.from(String(dig(blob, 'data')), 'base64') };
}
