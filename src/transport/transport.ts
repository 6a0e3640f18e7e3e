import AgentPart from 'undici/lib/dispatcher/agent.js';
import { usageError } from '../errors.ts';
import { type Connector, createConnector } from './connector.ts';
import { startExchange } from './exchange.ts';
import { openTrust } from './trust.ts';
import type { Transport, TransportOptions } from './types.ts';
import { checkUploads } from './upload-stream.ts';
import { isLoopback } from './url.ts';
import { stopWasmTierUp } from './wasm-tiering.ts';

const defaultConnectTimeoutMs = 10_000;
const defaultIdleTimeoutMs = 120_000;

interface Connections {
  agent: AgentPart;
  connector: Connector;
}

/**
 * Opens the way to gateways: HTTP/1.1 with kept connections, no redirects, no encodings, proxies by the environment (design.md 5).
 * Nothing is connected before the first exchange. Settings that do not work are thrown by the exchange (GatewayError usage).
 */
export function openTransport(options: TransportOptions): Transport {
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const idleTimeoutMs = options.idleTimeoutMs ?? defaultIdleTimeoutMs;
  if (options.ownProcess === true) stopWasmTierUp();
  let connections: Promise<Connections> | undefined;

  async function openConnections(): Promise<Connections> {
    const secureContext = await openTrust(options);
    const connector = createConnector({ env: options.env, secureContext, connectTimeoutMs });
    const agent = new AgentPart({ connect: connector.connect });
    return { agent, connector };
  }

  return {
    async exchange(request, exchangeOptions) {
      requireChecks(request.url, options.env);
      await checkUploads(request.body);
      connections ??= openConnections();
      const { agent } = await connections;
      return await startExchange(agent, request, { ...exchangeOptions, connectTimeoutMs, idleTimeoutMs });
    },
    async close() {
      // Settings that did not work were told by the exchange: there is nothing to close then.
      const opened = await connections?.catch(() => undefined);
      opened?.connector.destroy();
      await opened?.agent.destroy();
    },
  };
}

/** The variable turns every certificate check off without a word (faults.md 2a). */
function requireChecks(url: URL, env: TransportOptions['env']): void {
  if (url.protocol !== 'https:' || env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || isLoopback(url)) return;
  throw usageError(
    'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off',
    'unset it; to trust a certificate, use --cacert <file>',
  );
}
