import { isObject } from '../json.ts';
import { messageOf, usageError } from '../errors.ts';
import type { GatewayError } from '../errors.ts';
import { CheckError, count, fields, flag, oneOf, placeOf, record, text } from './check.ts';
import type { Check } from './check.ts';
import { parseDurationOf } from './duration.ts';
import { invalidNameReason, invalidValueReason } from './header-form.ts';
import { findJsonFault } from './json-position.ts';
import { authForms } from './types.ts';
import type { Config, Profile } from './types.ts';

const profileFields = fields<Profile>({
  baseUrl: checkUrl,
  apiKey: text,
  apiKeyFile: text,
  apiKeyCommand: checkCommand,
  models: fields({ text, image: text, edit: text, chat: text }),
  auth: fields({ text: oneOf(authForms), image: oneOf(authForms), messages: oneOf(authForms) }),
  headerNames: fields({ apiKey: checkHeaderName, version: checkHeaderName }),
  headers: record(checkHeaderValue, checkHeaderName),
  maxTokens: count,
  timeout: checkTimeout,
  allowHttp: flag,
  preview: flag,
});

const keyForms = ['apiKey', 'apiKeyFile', 'apiKeyCommand'] as const;

const checkProfile: Check<Profile> = (value, path) => {
  const profile = profileFields(value, path);
  const given = keyForms.filter((form) => profile[form] !== undefined);
  if (given.length > 1)
    throw new CheckError(placeOf(path, given[1] ?? ''), `cannot stand beside ${given[0]}: keep one`);
  return profile;
};

const configFields = fields<Config>({ $schema: text, profile: text, profiles: record(checkProfile, checkProfileName) });

/**
 * Reads the text of a config file: `{"profile": "<name>", "profiles": {"<name>": {…}}}`. An empty text has no profiles.
 * Throws usage naming `path`, and the line for syntax errors or the place (`profiles.work.timeout`) for the rest.
 */
export function parseConfig(source: string, path: string): Config {
  const json = source.startsWith('\uFEFF') ? source.slice(1) : source;
  if (json.trim() === '') return checkConfig({}, path);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw syntaxError(json, path);
  }
  return checkConfig(value, path);
}

/** Checks a parsed config. Objects of the result have no prototype. Throws usage naming the path and the place. */
export function checkConfig(value: unknown, path: string): Config {
  try {
    const config = configFields(isObject(value) && !('profiles' in value) ? { ...value, profiles: {} } : value, '');
    if (config.profile !== undefined && config.profiles[config.profile] === undefined) {
      throw new CheckError('profile', `names a profile that is not there; ${namesIn(config)}`);
    }
    return config;
  } catch (error) {
    if (!(error instanceof CheckError)) throw error;
    const place = error.path === '' ? 'the whole' : error.path;
    throw usageError(`${path}: ${place} ${error.message}`, `edit ${path}, or type: gateway-cli config --help`);
  }
}

/** What profiles a config has, for a message. */
export function namesIn(config: Config): string {
  const names = Object.keys(config.profiles);
  return names.length === 0 ? 'there are none yet' : `there are: ${names.join(', ')}`;
}

/** Throws usage unless it may name a profile: letters, digits, `.`, `_` and `-`, 64 at most, a letter or digit first. */
export function requireProfileName(name: string): string {
  if (isProfileName(name)) return name;
  throw usageError(`${JSON.stringify(name.slice(0, 64))} cannot name a profile`, profileNameRule);
}

const profileNameRule = 'use letters, digits, ".", "_" and "-", a letter or digit first';

function isProfileName(name: string): boolean {
  return /^[A-Za-z0-9][\w.-]{0,63}$/.test(name);
}

function syntaxError(json: string, path: string): GatewayError {
  const fault = findJsonFault(json);
  return usageError(
    `${path}:${fault.line}:${fault.column}: not JSON: expected ${fault.expected}`,
    `edit line ${fault.line} of ${path}`,
  );
}

function checkProfileName(name: string, path: string): string {
  if (!isProfileName(name)) throw new CheckError(path, `cannot name a profile: ${profileNameRule}`);
  return name;
}

function checkUrl(value: unknown, path: string): string {
  const url = text(value, path);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CheckError(path, 'must be a URL that begins with https:// or http://');
  }
  return url;
}

/** A list of program and arguments, or a string that is split at blanks; what needs quotes needs the list. */
function checkCommand(value: unknown, path: string): string[] {
  if (typeof value === 'string') {
    const words = text(value, path)
      .trim()
      .split(/[ \t]+/);
    if (/["'`$|&;<>(){}*?\n\r]/.test(value))
      throw new CheckError(path, 'is run without a shell: write a list, ["program", "argument"]');
    return words;
  }
  if (!Array.isArray(value) || value.length === 0)
    throw new CheckError(path, 'must be a list of strings, ["program", "argument"]');
  text(value[0], `${path}[0]`);
  return value.map((word: unknown, index) => {
    if (typeof word !== 'string') throw new CheckError(`${path}[${index}]`, 'must be a string');
    return word;
  });
}

function checkHeaderName(value: unknown, path: string): string {
  const name = text(value, path);
  const reason = invalidNameReason(name);
  if (reason !== undefined) throw new CheckError(path, reason);
  return name;
}

function checkHeaderValue(value: unknown, path: string): string {
  const header = text(value, path);
  const reason = invalidValueReason(header);
  if (reason !== undefined) throw new CheckError(path, reason);
  return header;
}

function checkTimeout(value: unknown, path: string): number | string {
  if (typeof value !== 'number' && typeof value !== 'string')
    throw new CheckError(path, 'must be seconds, or a duration such as "90s"');
  try {
    parseDurationOf('it', String(value));
  } catch (error) {
    throw new CheckError(path, messageOf(error).replace('it ', ''));
  }
  return value;
}
