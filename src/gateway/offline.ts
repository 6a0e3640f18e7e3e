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
  // The command is over or aborted when it closes its gateway, so no request is in flight.
  return { url: new URL(url), key, close: () => close(0) };
}

/** A random key for one start of a local gateway; its prefix distinguishes it from a real key. */
export function createKey(): string {
  return `local-${randomBytes(24).toString('base64url')}`;
}
