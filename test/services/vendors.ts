import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { anthropicKey, startAnthropic } from '../fake-servers/anthropic.ts';
import { geminiKey, startGemini } from '../fake-servers/gemini.ts';
import { startOllama } from '../fake-servers/ollama.ts';
import { openAiKey, startOpenAi } from '../fake-servers/openai.ts';
import { openRouterKey, startOpenRouter } from '../fake-servers/openrouter.ts';
import type { FakeServer } from '../fake-servers/start.ts';
import { vendorPair } from '../library/transport/certificates.ts';

/** The services that have an address of their own. */
export const vendorNames = ['gemini', 'anthropic', 'openai', 'openrouter', 'ollama'] as const;
export type VendorName = (typeof vendorNames)[number];

/** The variable of a vendor's key, and a key that its fake server takes. */
export const keys = {
  gemini: { GEMINI_API_KEY: geminiKey },
  anthropic: { ANTHROPIC_API_KEY: anthropicKey },
  openai: { OPENAI_API_KEY: openAiKey },
  openrouter: { OPENROUTER_API_KEY: openRouterKey },
} as const;

const hosts: Readonly<Record<string, VendorName>> = {
  'generativelanguage.googleapis.com': 'gemini',
  'api.anthropic.com': 'anthropic',
  'api.openai.com': 'openai',
  'openrouter.ai': 'openrouter',
};

/** Every vendor on this machine. */
export interface Vendors {
  fakeServers: Readonly<Record<VendorName, FakeServer>>;
  /** A proxy for HTTPS behind which they have the vendors' own origins. */
  proxy: string;
  close(): Promise<void>;
}

/** Starts a fake server of every vendor, but for those that are given, and a proxy that has them at the vendors' own hosts, with TLS. */
export async function startVendors(given: Partial<Vendors['fakeServers']> = {}): Promise<Vendors> {
  const fakeServers = {
    gemini: given.gemini ?? (await startGemini()),
    anthropic: given.anthropic ?? (await startAnthropic()),
    openai: given.openai ?? (await startOpenAi()),
    openrouter: given.openrouter ?? (await startOpenRouter()),
    ollama: given.ollama ?? (await startOllama()),
  };
  const ports = Object.entries(hosts).map(([host, name]) => [host, Number(new URL(fakeServers[name].url).port)]);
  const proxy = await startHostProxy(Object.fromEntries(ports) as Record<string, number>);
  return {
    fakeServers,
    proxy: proxy.url,
    async close() {
      proxy.close();
      for (const name of vendorNames) await fakeServers[name].close();
    },
  };
}

const secureContext = createSecureContext(vendorPair);

/** A proxy for HTTPS behind which hosts are servers on this machine, by their ports. */
export async function startHostProxy(ports: Readonly<Record<string, number>>): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const proxy = createServer().on('connect', (request, socket: Socket) => {
    const target = ports[String(request.url).replace(/:443$/, '')];
    if (target === undefined) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const inside = new TLSSocket(socket, { isServer: true, secureContext });
    const onward = connect(target, '127.0.0.1');
    for (const each of [inside, onward]) {
      sockets.add(each.on('error', () => {}));
      each.on('close', () => [inside, onward].forEach((other) => other.destroy()));
    }
    inside.pipe(onward).pipe(inside);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}
