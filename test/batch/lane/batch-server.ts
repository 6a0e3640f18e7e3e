import type { IncomingMessage, ServerResponse } from 'node:http';
import { createWatch, listenOnLoopback, readText } from '../../helpers/loopback.ts';
import { apis } from './apis.ts';

export const apiNames = ['content', 'messages', 'completions'] as const;
export type ApiName = (typeof apiNames)[number];

/** How one request of a batch ends at the server; by default with a text that repeats its prompt. */
export type Ending =
  | { text: string; reason?: string }
  | { error: string }
  | 'expired'
  | 'cancelled'
  | 'missing'
  | 'odd';

type Fault = 'drop' | 'cut' | 'refuse' | 'limit' | 'busy' | 'busy-after' | 'garble' | 'hold' | 'not-found';

export interface Entry {
  key: string;
  prompt: string;
  body: object;
}

export interface Batch {
  id: string;
  name: string | undefined;
  entries: Entry[];
  polls: number;
  state: 'running' | 'ended' | 'cancelled' | 'failed';
  at: number;
}

/** The batch APIs of three services, with the replies that their documents show. It counts what was submitted: its own word for who was billed how often. */
export interface BatchServer {
  url: string;
  batches: Batch[];
  /** How often the prompt of each request was in a batch that was created. */
  counts: Map<string, number>;
  requests: string[];
  /** Kinds of requests whose key came as `Authorization: Bearer`. */
  withBearer: Set<string>;
  /** Looks until a batch has ended. */
  pollsToEnd: number;
  endingOf: (prompt: string, body: object) => Ending;
  /** What happens to a request: `drop` does its work and breaks the connection, `refuse` answers 400, `limit` 429, `busy` 503, `busy-after` 503 once it is done, `garble` no JSON, `hold` nothing. */
  fault: (kind: string, count: number) => Fault | undefined;
  /** The text that is sent in place of a reply, up to the end of the connection. */
  reshape: (kind: string, text: string) => string | undefined;
  /** Results that no job asked for, by their keys, and keys that come twice. */
  strangers: string[];
  doubles: (key: string) => boolean;
  seen(kind: string): Promise<void>;
  close(): Promise<void>;
}

/** A result that the server has. */
export interface Result {
  key: string;
  ending: Exclude<Ending, 'missing'>;
}

export type Reply = { status?: number; headers?: Record<string, string>; body?: object | string };

export async function startBatchServer(api: ApiName): Promise<BatchServer> {
  const files = new Map<string, string>();
  const kinds = new Map<string, number>();
  const watch = createWatch();
  const { url, close } = await listenOnLoopback((request, response) => void answer(request, response));
  const server: BatchServer = {
    url,
    batches: [],
    counts: new Map(),
    requests: [],
    withBearer: new Set(),
    pollsToEnd: 2,
    endingOf: (prompt) => ({ text: `answer to ${prompt}` }),
    fault: () => undefined,
    reshape: () => undefined,
    strangers: [],
    doubles: () => false,
    seen: (kind) => watch.until(() => kinds.has(kind)),
    close,
  };

  const route = apis[api]({ server, files, create, find, list, poll, cancel, results });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readText(request).catch(() => undefined);
    if (body === undefined) return;
    const path = request.url ?? '';
    const { kind, act } = route(`${request.method} ${path}`, body, request);
    server.requests.push(`${kind} ${path}`);
    if (request.headers.authorization !== undefined) server.withBearer.add(kind);
    const count = (kinds.get(kind) ?? 0) + 1;
    kinds.set(kind, count);
    const fault = server.fault(kind, count);
    const faults = { refuse: 400, limit: 429, busy: 503, 'not-found': 404 } as const;
    const refused = fault !== undefined && fault in faults ? faults[fault as 'refuse'] : undefined;
    const no = { error: { message: 'no', type: 'no' } };
    const acted: Reply = refused ? { status: refused, body: no } : act();
    const reply: Reply = fault === 'busy-after' ? { status: 503, body: no } : acted;
    watch.look();
    if (fault === 'hold') return;
    if (fault === 'drop') return void request.socket.destroy();
    if (fault === 'garble') reply.body = '<html>';
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {});
    const other = server.reshape(kind, text);
    if (other !== undefined) {
      request.socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${other}`);
      return;
    }
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
    if (fault !== 'cut') return void response.end(text);
    response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
  }

  function create(name: string | undefined, entries: Entry[]): Batch {
    for (const { prompt } of entries) server.counts.set(prompt, (server.counts.get(prompt) ?? 0) + 1);
    const id = { content: 'batches/b', messages: 'msgbatch_', completions: 'batch_' }[api];
    const at = 1_700_000_000 + server.batches.length;
    const batch: Batch = {
      id: `${id}${server.batches.length + 1}`,
      name,
      entries,
      polls: 0,
      state: 'running',
      at,
    };
    server.batches.unshift(batch);
    return batch;
  }

  function find(id: string): Batch | undefined {
    return server.batches.find((batch) => batch.id === id);
  }
  function list(show: (batch: Batch) => object): object[] {
    for (const batch of server.batches) step(batch);
    return server.batches.map(show);
  }
  /** Each look brings its end nearer. */
  function step(batch: Batch): void {
    if (batch.state === 'running' && ++batch.polls >= server.pollsToEnd) batch.state = 'ended';
  }
  function poll(id: string, show: (batch: Batch) => object): Reply {
    const batch = find(id);
    if (batch === undefined) return { status: 404, body: { error: { message: 'not found' } } };
    step(batch);
    return { body: show(batch) };
  }
  function cancel(id: string, show: (batch: Batch) => object): Reply {
    const batch = find(id);
    if (batch?.state === 'running') batch.state = 'cancelled';
    return batch ? { body: show(batch) } : { status: 404, body: {} };
  }
  /** In another order than the requests. */
  function results({ entries, state }: Batch): Result[] {
    const own = entries.map(({ key, prompt, body }) => ({
      key,
      ending: state === 'cancelled' ? ('cancelled' as const) : server.endingOf(prompt, body),
    }));
    const came = own.filter(
      (one): one is { key: string; ending: Exclude<Ending, 'missing'> } => one.ending !== 'missing',
    );
    const twice = came.filter(({ key }) => server.doubles(key)).map(({ key }) => ({ key, ending: { text: 'again' } }));
    const strange = server.strangers.map((key) => ({ key, ending: { text: 'whose' } }));
    return [...came.toReversed(), ...twice, ...strange];
  }

  return server;
}
