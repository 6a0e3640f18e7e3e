import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on a free port of 127.0.0.1. */
export interface Loopback {
  /** `http://127.0.0.1:port` without a trailing slash. */
  url: string;
  http: Server;
  /** Ends all connections. */
  close(): Promise<void>;
}

export async function listenOnLoopback(listener: RequestListener): Promise<Loopback> {
  const http = createServer(listener).listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    http,
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Waits for what a test observes. */
export interface Watch {
  /** Resolves when it is so, at once or at a later `look`. */
  until(isSo: () => boolean): Promise<void>;
  /** Something happened. */
  look(): void;
}

/** Removes its listener: a long run waits many times. */
export function createWatch(): Watch {
  const waiting = new Set<() => void>();
  return {
    until: (isSo) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!isSo()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    look() {
      for (const check of waiting) check();
    },
  };
}
