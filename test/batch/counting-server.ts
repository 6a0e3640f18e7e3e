import type { IncomingHttpHeaders } from 'node:http';
import { createWatch, listenOnLoopback, readText } from '../helpers/loopback.ts';
import { textReply } from '../helpers/with-server.ts';

/** What the server says to one request; the default is a text that repeats the prompt. */
interface CountedReply {
  status?: number;
  headers?: Record<string, string>;
  body?: object | string;
  /** Answers only then. */
  after?: Promise<unknown>;
  /** Destroys the connection instead. */
  drop?: true;
}

/** A gateway that counts the requests of each prompt: its own word for who was billed how often. */
export interface CountingServer {
  url: string;
  /** Requests that came whole, by prompt. */
  counts: Map<string, number>;
  /** Bodies in the order in which they came. */
  bodies: { path: string; body: Record<string, unknown> }[];
  /** Their headers. */
  headers: IncomingHttpHeaders[];
  readonly connections: number;
  /** Requests that are being answered, and the most at once. */
  readonly most: number;
  answer: (prompt: string, count: number, path: string) => CountedReply | undefined;
  /** Resolves after this number of requests. */
  received(total: number): Promise<void>;
  close(): Promise<void>;
}

export async function startCountingServer(): Promise<CountingServer> {
  const state = { connections: 0, running: 0, most: 0 };
  const watch = createWatch();
  const { url, http, close } = await listenOnLoopback(async (request, response) => {
    const body = JSON.parse((await readText(request)) || '{}') as Record<string, unknown>;
    const prompt = promptOf(body);
    const count = (server.counts.get(prompt) ?? 0) + 1;
    server.counts.set(prompt, count);
    server.headers.push(request.headers);
    server.bodies.push({ path: request.url ?? '', body });
    state.most = Math.max(state.most, ++state.running);
    watch.look();
    const {
      status = 200,
      headers = {},
      body: reply,
      after,
      drop,
    } = server.answer(prompt, count, request.url ?? '') ?? {};
    await after;
    state.running--;
    if (drop) return void request.socket.destroy();
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof reply === 'string' ? reply : JSON.stringify(reply ?? textReply(`answer to ${prompt}`)));
  });
  http.on('connection', () => void state.connections++);
  const server: CountingServer = {
    url,
    counts: new Map(),
    bodies: [],
    headers: [],
    get connections() {
      return state.connections;
    },
    get most() {
      return state.most;
    },
    answer: () => undefined,
    received: (total) => watch.until(() => server.bodies.length >= total),
    close,
  };
  return server;
}

function promptOf(body: Record<string, unknown>): string {
  const contents = body['contents'] as { parts: { text?: string }[] }[] | undefined;
  const messages = body['messages'] as { content: unknown }[] | undefined;
  const last = messages?.at(-1)?.content;
  return contents?.at(-1)?.parts.find(({ text }) => text !== undefined)?.text ?? (typeof last === 'string' ? last : '');
}
