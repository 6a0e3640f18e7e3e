import type { Settings } from '../settings/types.ts';

/** What jobs of one gateway have in common: all of the connection follows from the profile. */
export function gatewayKey({ offline, profile }: Settings): string {
  return offline ? '' : (profile ?? '');
}

const origins = new WeakMap<Settings, string>();

/** Scheme and host that requests with these settings go to, or `offline`. Thousands of jobs have the same settings. */
export function getRequestOrigin(settings: Settings): string {
  const { offline, baseUrl } = settings;
  const known = origins.get(settings);
  if (known !== undefined) return known;
  const origin = offline ? 'offline' : new URL(baseUrl ?? 'http://127.0.0.1').origin;
  origins.set(settings, origin);
  return origin;
}
