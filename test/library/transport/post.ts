import { setImmediate } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { openHttpConnection } from '../../../src/library/transport/connection.ts';
import type { HttpReply, HttpRequest, Connection, ConnectionOptions } from '../../../src/library/transport/types.ts';
import { type Body, segmentBody } from '../../../src/library/body.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { type ScriptedServer, startScriptedServer } from '../../helpers/scripted-server.ts';

/** A server that checks for leftover replies after the test. */
export async function serve(options?: Parameters<typeof startScriptedServer>[0]): Promise<ScriptedServer> {
  const server = await startScriptedServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** A transport that is closed after the test. */
export function open(options: Partial<ConnectionOptions> = {}): Connection {
  const transport = openHttpConnection({ env: {}, ...options });
  onTestFinished(() => transport.close());
  return transport;
}

export function requestTo(url: string, body: Body = { n: 1 }, headers: Record<string, string> = {}): HttpRequest {
  return { url: new URL(url), headers: { 'content-type': 'application/json', ...headers }, body: segmentBody(body) };
}

export interface PostOptions extends Partial<ConnectionOptions> {
  body?: Body;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  transport?: Connection;
}

/** How one exchange ended, body included. */
export interface Ending {
  reply?: HttpReply;
  /** The part of the body that arrived. */
  text: string;
  /** Whether the head was sent. */
  sent: boolean;
  error?: unknown;
}

/** Sends one request and reads its reply to the end. */
export async function post(url: string, options: PostOptions = {}): Promise<Ending> {
  const { body, headers, signal = new AbortController().signal, transport = open(options) } = options;
  const ending: Ending = { text: '', sent: false };
  try {
    ending.reply = await transport.fetch(requestTo(url, body, headers), {
      signal,
      onSent: () => (ending.sent = true),
    });
    const decoder = new TextDecoder();
    for await (const chunk of ending.reply.body) ending.text += decoder.decode(chunk, { stream: true });
  } catch (error) {
    ending.error = error;
  }
  return ending;
}

/** The error of an exchange, which must be a GatewayError. */
export function failureOf({ error }: Ending): GatewayError {
  if (error instanceof GatewayError) return error;
  throw new Error(`not a GatewayError: ${String(error)}`, { cause: error });
}

/** How a promise settled, or that it is still pending after many turns of the event loop. */
export async function settled(promise: Promise<unknown>): Promise<unknown> {
  const turns = async (): Promise<string> => {
    for (let turn = 0; turn < 500; turn++) await setImmediate();
    return 'still pending';
  };
  return Promise.race([promise.catch((error: unknown) => error), turns()]);
}
