import * as v from 'valibot';
import {
  findJsonFault,
  type GatewayError,
  isObject,
  isTooDeep,
  type Prices,
  tooDeepWords,
  usageError,
} from '../../library/index.ts';
import { configDefinition, pricesDefinition } from './definition.ts';
import type { Config } from './types.ts';
import { listProfileNames } from './profile-name.ts';

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
  if (isTooDeep(json)) throw usageError(`${path}: is ${tooDeepWords}`);
  return checkConfig(value, path);
}

/** Checks a parsed config, and returns it as it is. Throws usage naming the path and the place. */
export function checkConfig(value: unknown, path: string): Config {
  const fault = findConfigFault(configDefinition, value);
  if (fault) throw wrongConfig(fault.place, fault.reason, path);
  const config = isObject(value) && !('profiles' in value) ? { ...value, profiles: {} } : (value as Config);
  const { profile, profiles }: Config = config;
  const named = typeof profile === 'object' ? Object.entries(profile) : [['', profile] as const];
  for (const [use, name] of named) {
    if (name === undefined || Object.hasOwn(profiles, name)) continue;
    const at = use === '' ? [] : [{ key: use }];
    throw wrongConfig(
      [{ key: 'profile' }, ...at],
      `names a profile that does not exist; ${listProfileNames(config)}`,
      path,
    );
  }
  return config;
}

/** Checks prices that are not in a config. Throws usage that names their source, and the place in them. */
export function checkPrices(value: unknown, from: string): Prices {
  const fault = findConfigFault(pricesDefinition, value);
  if (fault === undefined) return value as Prices;
  const example = '{"some-model": {"input": "0.30", "output": "2.50"}}';
  throw usageError(`${from}: ${placeText(fault.place)} ${fault.reason}`, `for example: ${example}`);
}

interface ConfigFault {
  place: readonly { key?: unknown }[];
  reason: string;
}

function findConfigFault(definition: v.GenericSchema, value: unknown): ConfigFault | undefined {
  const [issue] = v.safeParse(definition, value).issues ?? [];
  return issue && innermost(issue);
}

/** The fault in the smallest part of a value: if the value can have several forms, the form that fits best names that part. */
function innermost({ path, message, issues }: v.BaseIssue<unknown>): ConfigFault {
  const part = issues?.find(({ path: inner, input }) => inner !== undefined && input !== undefined);
  if (part === undefined) return { place: path ?? [], reason: message };
  const { place, reason } = innermost(part);
  return { place: [...(path ?? []), ...place], reason };
}

function wrongConfig(place: ConfigFault['place'], reason: string, path: string): GatewayError {
  return usageError(`${path}: ${placeText(place)} ${reason}`, `edit ${path}, or type: gateway-cli config --help`);
}

function placeText(place: ConfigFault['place']): string {
  const at = place.map(({ key }) => formatStep(key)).join('');
  return at === '' ? 'the document' : at.replace(/^\./, '');
}

function formatStep(key: unknown): string {
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
