import type { GatewaySettings } from './types.ts';

/** The name of a gateway in a batch: all of the connection follows from the profile. */
export function gatewayKey({ offline, profile }: GatewaySettings): string {
  return offline ? '' : (profile ?? '');
}

const origins = new WeakMap<GatewaySettings, string>();

/** Scheme and host that receive requests with these settings, or `offline`. Thousands of jobs have the same settings. */
export function getRequestOrigin(settings: GatewaySettings): string {
  const { offline, baseUrl } = settings;
  const known = origins.get(settings);
  if (known !== undefined) return known;
  const origin = offline ? 'offline' : new URL(baseUrl ?? 'http://127.0.0.1').origin;
  origins.set(settings, origin);
  return origin;
}
