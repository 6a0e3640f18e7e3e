import {
  type ConnectionOptions,
  isLoopback,
  openHttpConnection,
  proxyFor,
  startDeadline,
} from '../../../library/index.ts';
import { type Check, examine, type Finding, toCheck } from './checks.ts';

/** The options for examining the connection to a gateway. */
export interface NetworkOptions {
  baseUrl: URL;
  transport: ConnectionOptions;
  signal: AbortSignal;
  /** Time limit for the connection, and then for the reply, in ms. */
  timeoutMs?: number;
}

/** Connects as a request does, without a key. The first failure is the last check. Rejects with the reason of the signal. */
export async function examineNetwork(options: NetworkOptions): Promise<Check[]> {
  const { signal } = options;
  const proxy = await examine('proxy', () => findProxy(options), signal);
  if (proxy.state === 'failed') return [proxy];
  const trust = listAuthorities(options);
  const connection = await examine('connection', () => requestHead(options), signal);
  return [proxy, ...(trust === undefined ? [] : [toCheck('trust', trust)]), connection];
}

function findProxy({ baseUrl, transport }: NetworkOptions): string {
  const proxy = proxyFor(baseUrl, transport);
  if (proxy) return `${proxy.url.protocol}//${proxy.url.host} (${proxy.from})`;
  if (transport.proxy === undefined) return 'none';
  const why = isLoopback(baseUrl) ? 'the gateway is on this machine' : 'NO_PROXY names the gateway';
  return `none: ${why}, so the proxy of ${transport.proxy.from} is not used`;
}

function listAuthorities({ baseUrl, transport }: NetworkOptions): string | undefined {
  const proxy = proxyFor(baseUrl, transport);
  if (baseUrl.protocol !== 'https:' && proxy?.url.protocol !== 'https:') return undefined;
  const extra = transport.env['NODE_EXTRA_CA_CERTS'];
  const sources = [
    "Node's own authorities",
    transport.systemCa && "the system's certificate store",
    extra && `NODE_EXTRA_CA_CERTS ${extra}`,
    transport.ca !== undefined && '--cacert',
  ];
  return sources.filter(Boolean).join(', ');
}

/**
 * Sends one HEAD without a key: whether the host can be reached, and speaks HTTP. If not, the error of the connection has the
 * reason.
 */
async function requestHead({ baseUrl, transport, signal, timeoutMs = 10_000 }: NetworkOptions): Promise<Finding> {
  const opened = openHttpConnection({ ...transport, connectTimeoutMs: timeoutMs });
  // The connection has a time limit of its own, which is over first.
  const deadline = startDeadline(2 * timeoutMs, signal);
  let isSent = false;
  try {
    const request = { method: 'HEAD', url: baseUrl, headers: {}, body: { segments: [], bytes: 0 } };
    const onSent = (): void => void (isSent = true);
    const { status } = await opened.fetch(request, { signal: deadline.signal, onSent, acceptsAnyHead: true });
    return `HTTP ${status} to HEAD ${baseUrl.pathname} without a key; any status will do`;
  } catch (error) {
    signal.throwIfAborted();
    const failure = deadline.explain(error, isSent ? 'sent' : 'unsent');
    if (!isSent) throw failure;
    const { message } = failure as Error;
    return {
      state: 'warning',
      text: `HEAD ${baseUrl.pathname} without a key: ${message}`,
      fix: 'check that the base URL is that of the gateway; the real test is: gateway-cli doctor --live',
    };
  } finally {
    deadline.end();
    await opened.close();
  }
}
