import { usageError } from '../errors.ts';
import { type Connections, openConnections } from './connections.ts';
import { type Connector, createConnector } from './connector.ts';
import { startExchange } from './exchange.ts';
import { openTrust } from './trust.ts';
import type { Transport, TransportOptions } from './types.ts';
import { checkUploads } from './upload-stream.ts';
import { isLoopback } from './url.ts';

const defaultConnectTimeoutMs = 10_000;
const defaultIdleTimeoutMs = 120_000;

interface Opened {
  connections: Connections;
  connector: Connector;
}

/**
 * Opens the way to gateways: HTTP/1.1 with kept connections, no redirects, no encodings, proxies by the environment (design.md 5).
 * Nothing is connected before the first exchange. Settings that do not work are thrown by the exchange (GatewayError usage).
 */
export function openTransport(options: TransportOptions): Transport {
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const idleTimeoutMs = options.idleTimeoutMs ?? defaultIdleTimeoutMs;
  let opened: Promise<Opened> | undefined;

  async function open(): Promise<Opened> {
    const secureContext = await openTrust(options);
    const connector = createConnector({ env: options.env, secureContext, connectTimeoutMs });
    return { connections: openConnections(connector.connect), connector };
  }

  return {
    async exchange(request, { signal, onSent }) {
      requireChecks(request.url, options.env);
      await checkUploads(request.body);
      opened ??= open();
      const { connections } = await opened;
      return await startExchange(connections, request, { signal, onSent, connectTimeoutMs, idleTimeoutMs });
    },
    async close() {
      // Settings that did not work were told by the exchange: there is nothing to close then.
      const ways = await opened?.catch(() => undefined);
      ways?.connector.destroy();
      await ways?.connections.destroy();
    },
  };
}

/** The variable turns every certificate check off without a word (faults.md 2a). */
function requireChecks(url: URL, env: TransportOptions['env']): void {
  if (url.protocol !== 'https:' || env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || isLoopback(url)) return;
  throw usageError(
    'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off',
    'unset it; to trust a certificate, add its authority',
  ).with({ reason: 'unchecked' });
}
