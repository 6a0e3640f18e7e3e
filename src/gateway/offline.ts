import { randomBytes } from 'node:crypto';
import { createApp, type AppOptions } from './app.ts';
import { listen } from './listen.ts';

/** A gateway inside this process, for the length of one command. */
export interface OfflineGateway {
  url: URL;
  key: string;
  close(): Promise<void>;
}

/** Starts the local gateway on an ephemeral loopback port with a key of its own: what `--offline` talks to. */
export async function startOffline(options: Omit<AppOptions, 'key'> = {}): Promise<OfflineGateway> {
  const key = createKey();
  const { url, close } = await listen(createApp({ varied: true, refuseUnknown: true, ...options, key }));
  // The command is over or aborted when it closes its gateway: nothing is left to be drained.
  return { url: new URL(url), key, close: () => close(0) };
}

/** A key for one start of a local gateway, random and easy to tell from a real one. */
export function createKey(): string {
  return `local-${randomBytes(24).toString('base64url')}`;
}
