import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the stand-in received it. */
export interface StandInRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** What a stand-in answers: literal bytes, in as many chunks as there are. */
export interface StandInReply {
  status: number;
  headers: Record<string, string>;
  body: string | readonly string[];
}

/** A stand-in of a real service on loopback. */
export interface StandIn {
  /** `http://127.0.0.1:port` without a trailing slash. */
  url: string;
  requests: readonly StandInRequest[];
  close(): Promise<void>;
}

/** Serves what `answer` returns on a free port of 127.0.0.1. */
export async function startStandIn(answer: (request: StandInRequest) => StandInReply): Promise<StandIn> {
  const requests: StandInRequest[] = [];
  const server = createServer((incoming, response) => {
    void read(incoming).then((request) => {
      requests.push(request);
      send(response, answer(request));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function read(incoming: IncomingMessage): Promise<StandInRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const [path = '', query = ''] = (incoming.url ?? '').split('?', 2);
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  return {
    method: incoming.method ?? '',
    path,
    query: new URLSearchParams(query),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.concat(chunks).toString(),
  };
}

function send(response: ServerResponse, { status, headers, body }: StandInReply): void {
  response.writeHead(status, headers);
  for (const chunk of typeof body === 'string' ? [body] : body) response.write(chunk);
  response.end();
}
