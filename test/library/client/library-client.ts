import { type Client, type ClientOptions, createClient } from '../../../src/index.ts';
import { canaryKey, test as base } from '../../helpers/with-server.ts';

/** A scripted server, and clients of the library that are closed when the test is over. */
export const test = base.extend<{ client: (more?: Partial<ClientOptions>) => Client }>({
  client: async ({ server }, use) => {
    const open: Client[] = [];
    await use((more) => {
      const client = createClient({ baseUrl: server.url, apiKey: canaryKey, ...more });
      open.push(client);
      return client;
    });
    for (const client of open) await client.close();
  },
});
