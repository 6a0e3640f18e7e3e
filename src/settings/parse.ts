import * as v from 'valibot';
import { type GatewayError, usageError } from '../errors.ts';
import { isObject } from '../json.ts';
import { configDefinition } from './definition.ts';
import { findJsonFault } from './json-position.ts';
import type { Config } from './config.ts';
import { namesIn } from './profile.ts';

/**
 * Reads the text of a config file. An empty text has no profiles. Throws usage naming `path`, and the line for syntax errors
 * or the place (`profiles.work.timeout`) for the rest.
 */
export function parseConfig(source: string, path: string): Config {
  const json = source.startsWith('\uFEFF') ? source.slice(1) : source;
  if (json.trim() === '') return { profiles: {} };
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw syntaxError(json, path);
  }
  return checkConfig(value, path);
}

/** Checks a parsed config, and returns it as it is. Throws usage naming the path and the place. */
export function checkConfig(value: unknown, path: string): Config {
  const [issue] = v.safeParse(configDefinition, value).issues ?? [];
  if (issue !== undefined) {
    // Of the forms that a value can have, the one that fits as far as some part of it says what is wrong with that part.
    const inner = issue.issues?.find((part) => part.path !== undefined && part.input !== undefined);
    throw wrong([...(issue.path ?? []), ...(inner?.path ?? [])], (inner ?? issue).message, path);
  }
  const config = isObject(value) && !('profiles' in value) ? { ...value, profiles: {} } : (value as Config);
  const { profile, profiles }: Config = config;
  const named = typeof profile === 'object' ? Object.entries(profile) : [['', profile] as const];
  for (const [use, name] of named) {
    if (name === undefined || Object.hasOwn(profiles, name)) continue;
    const at = use === '' ? [] : [{ key: use }];
    throw wrong([{ key: 'profile' }, ...at], `names a profile that is not there; ${namesIn(config)}`, path);
  }
  return config;
}

function wrong(place: readonly { key?: unknown }[], reason: string, path: string): GatewayError {
  const at = place.map(({ key }) => step(key)).join('');
  return usageError(
    `${path}: ${at === '' ? 'the whole' : at.replace(/^\./, '')} ${reason}`,
    `edit ${path}, or type: gateway-cli config --help`,
  );
}

function step(key: unknown): string {
  if (typeof key === 'number') return `[${key}]`;
  const name = String(key);
  return `.${/^[\w$.-]{1,64}$/.test(name) ? name : JSON.stringify(name.slice(0, 64))}`;
}

function syntaxError(json: string, path: string): GatewayError {
  const fault = findJsonFault(json);
  return usageError(
    `${path}:${fault.line}:${fault.column}: not JSON: expected ${fault.expected}`,
    `edit line ${fault.line} of ${path}`,
  );
}
