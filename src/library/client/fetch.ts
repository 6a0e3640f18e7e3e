import type { Connection, ConnectionOptions, Fetch, FetchWrapper } from '../transport/types.ts';
import { checkHeaderKey } from '../transport/request.ts';
import type { ClientOptions } from './client-types.ts';
import type { Endpoint } from './endpoint.ts';
import { requireSystemStore } from '../transport/trust.ts';

/** The layers that a client's requests pass. */
interface Passed {
  endpoint: Endpoint;
  connection: Pick<Connection, 'fetch'>;
  /** The log, recordings and the like, the first outermost. */
  wrappers?: readonly FetchWrapper[] | undefined;
}

/**
 * Composes the function that sends one attempt of a request. From the outside, where `sendWithRetries` calls it and counts: the
 * wrappers, which see no key and may answer in place of the connection; the key, which is read only for requests that are
 * really sent; the connection, which pays for the attempt when nothing but its network can fail any more.
 */
export function composeFetch({ endpoint, connection, wrappers = [] }: Passed): Fetch {
  const keyed = addKeyHeader(endpoint, connection.fetch);
  return wrappers.reduceRight((next, wrap) => wrap(next), keyed);
}

/** Puts the key into the place that a request has for it. */
function addKeyHeader(endpoint: Endpoint, next: Fetch): Fetch {
  const { apiKey } = endpoint;
  let known: Promise<string> | undefined;
  const readKeyOnce = async () => (typeof apiKey === 'function' ? apiKey() : (apiKey ?? ''));
  return async (request, call) => {
    if (request.keyHeader === undefined) return next(request, call);
    // A failure is not kept: the next request reads the key again, for example from a key store that was locked.
    known ??= forgetIfItFails(readKeyOnce(), () => (known = undefined));
    const key = await known;
    const { name, prefix } = request.keyHeader;
    const headers = { ...request.headers };
    headers[name] = prefix + checkHeaderKey(key);
    return next({ ...request, headers }, call);
  };
}

/** Connects when the first request is sent: the HTTP client is loaded then, and not at start-up. */
export function connectLate(options: ClientOptions): Connection {
  const { env = {}, systemCa, ca, clientCert, clientKey } = options;
  const proxy = options.proxy === undefined ? undefined : { value: options.proxy, from: 'option proxy' };
  let opened: Promise<Connection> | undefined;
  return {
    async fetch(request, call) {
      opened ??= forgetIfItFails(
        openConnection({ env, proxy, systemCa, ca, clientCert, clientKey }),
        () => (opened = undefined),
      );
      return (await opened).fetch(request, call);
    },
    async close() {
      // The fetch has thrown for settings that cannot be used: there is nothing to close then.
      await (await opened?.catch(() => undefined))?.close();
    },
  };
}

/** Opens connections. Throws GatewayError usage for an invalid proxy, and for a store of certificates that cannot be read. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const transport = await import('../transport/connection.ts');
  if (options.systemCa) requireSystemStore();
  return transport.openHttpConnection(options);
}

function forgetIfItFails<T>(work: Promise<T>, forget: () => void): Promise<T> {
  work.catch(forget);
  return work;
}
