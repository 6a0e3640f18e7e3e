import type { Exchanges } from '../../client/send.ts';
import type { ClientOptions } from '../../client/client-types.ts';
import { startOffline } from '../../gateway/app.ts';

/** Starts the local gateway of `--offline`, which ends with the exchanges. Its code is loaded with the first command that needs it. */
export async function openOffline(
  exchanges: Exchanges,
  headerNames: ClientOptions['headerNames'],
): Promise<{ exchanges: Exchanges; gateway: Pick<ClientOptions, 'apiKey' | 'baseUrl'> }> {
  const local = await startOffline({ headerNames });
  return {
    exchanges: {
      // Its port is another one each time; for recordings it is always the same gateway.
      at: () => exchanges.at(new URL('http://offline')),
      close: () => exchanges.close().then(() => local.close()),
    },
    gateway: { baseUrl: local.url, apiKey: local.key },
  };
}
