import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenOnLoopback, readText } from '../helpers/loopback.ts';

/** A request as the fake server received it. */
export interface FakeRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** What a fake server answers: literal bytes, in as many chunks as there are. */
export interface FakeReply {
  status: number;
  headers: Record<string, string>;
  body: string | readonly string[];
}

/** A fake server of a real service on loopback. */
export interface FakeServer {
  /** `http://127.0.0.1:port` without a trailing slash. */
  url: string;
  requests: readonly FakeRequest[];
  close(): Promise<void>;
}

/** What a test changes in the replies of a fake server. */
export type Amend = (reply: FakeReply, request: FakeRequest) => FakeReply;

/** Serves what `answer` returns on a free port of 127.0.0.1. */
export async function startFakeServer(answer: (request: FakeRequest) => FakeReply): Promise<FakeServer> {
  const requests: FakeRequest[] = [];
  const { url, close } = await listenOnLoopback((incoming, response) => {
    void read(incoming).then((request) => {
      requests.push(request);
      send(response, answer(request));
    });
  });
  return { url, requests, close };
}

async function read(incoming: IncomingMessage): Promise<FakeRequest> {
  const [path = '', query = ''] = (incoming.url ?? '').split('?', 2);
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  return {
    method: incoming.method ?? '',
    path,
    query: new URLSearchParams(query),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: await readText(incoming),
  };
}

function send(response: ServerResponse, { status, headers, body }: FakeReply): void {
  response.writeHead(status, headers);
  for (const chunk of typeof body === 'string' ? [body] : body) response.write(chunk);
  response.end();
}
