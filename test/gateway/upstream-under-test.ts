import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test as base } from 'vitest';
import { createApp } from '../../src/gateway/app.ts';
import { listen } from '../../src/gateway/listen.ts';
import type { LogEntry } from '../../src/gateway/types.ts';
import { createUpstreamHandler, type UpstreamOptions } from '../../src/gateway/upstream.ts';
import { openHttpConnection } from '../../src/library/transport/connection.ts';
import { type ScriptedServer, startScriptedServer } from '../helpers/scripted-server.ts';
import { key } from './gateway-under-test.ts';

export const upstreamKey = 'canary-7f3a9c51-upstream';

export interface Passing {
  url: string;
  port: number;
  log: LogEntry[];
}

/** A gateway that passes requests on to a scripted server, and its options. */
export const test = base.extend<{
  server: ScriptedServer;
  options: Partial<UpstreamOptions>;
  gateway: Passing;
}>({
  server: async ({}, use) => {
    const server = await startScriptedServer();
    await use(server);
    await server.close();
  },
  options: {},
  gateway: async ({ server, options }, use) => {
    const transport = openHttpConnection({ env: {} });
    const log: LogEntry[] = [];
    const handler = createUpstreamHandler({
      fetch: transport.fetch,
      address: ({ path }) => ({ url: new URL(`/prefix${path}`, server.url), headers: { 'x-api-key': upstreamKey } }),
      ...options,
    });
    const { url, port, close } = await listen(createApp({ key, handler, log: (entry) => void log.push(entry) }));
    await use({ url, port, log });
    await close(0);
    await transport.close();
  },
});

export const path = '/v1beta/models/some-model:generateContent';

/** A request as `fetch` sends it. */
export function post(
  gateway: Passing,
  more: { path?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
) {
  return fetch(gateway.url + (more.path ?? path), {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...more.headers },
    body: '{"contents":[]}',
    redirect: 'manual',
    ...(more.signal && { signal: more.signal }),
  });
}

/** The same request on a socket of one's own. */
export async function openPost(
  gateway: { port: number; key?: string },
  { body = '{"contents":[]}', target = path }: { body?: string; target?: string } = {},
): Promise<Socket> {
  const socket = connect(gateway.port, '127.0.0.1');
  await once(socket, 'connect');
  const lines = [
    `POST ${target} HTTP/1.1`,
    `host: 127.0.0.1:${gateway.port}`,
    'content-type: application/json',
    'vendor-b-version: 2023-06-01',
    `authorization: Bearer ${gateway.key ?? key}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

/** All bytes until the connection ends, and how it ended. */
export async function readSocket(socket: Socket): Promise<{ bytes: Buffer; error: string | undefined }> {
  const chunks: Buffer[] = [];
  let error: string | undefined;
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  socket.on('error', (failure: NodeJS.ErrnoException) => void (error = failure.code));
  await new Promise((resolve) => socket.on('close', resolve));
  return { bytes: Buffer.concat(chunks), error };
}
