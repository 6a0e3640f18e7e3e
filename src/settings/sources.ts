import { usageError, codeOf, GatewayError } from '../errors.ts';
import { closest } from './closest.ts';
import type { PickedProfile, Profile, LoadedConfig } from './config-types.ts';
import { parseDurationOf } from './duration.ts';
import { attributeOf, flagOf, type Row, type SettingName, settingNames, settings, variablesOf } from './table.ts';
import type { Distrust, Origin, SettingsFlags, SettingsInput, Sourced, ValueOf } from './types.ts';
import { shellWord } from '../shell-word.ts';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import system from 'node:process';
import { readReason } from '../files/file-reason.ts';
import { isAbsolute, join, resolve } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a flag says of a setting, else a variable. Throws usage for what its kind cannot be. */
export function given<N extends SettingName>(
  name: N,
  { flags, env, use }: Omit<SettingsInput, 'config'>,
): Sourced<ValueOf<N>> | undefined {
  const row: Row = settings[name];
  const found = fromFlagOf(name, flags) ?? fromFirst(variablesOf(name, use), env);
  return mapValue(found, (value, from) => readValue(row, value, from) as ValueOf<N>);
}

/** The first variable that is set. */
export function fromFirst(names: readonly string[], env: Environment): Sourced<string> | undefined {
  return names.map((name) => fromEnvironment(env, name)).find((found) => found !== undefined);
}

/** What a flag says of a setting. Throws usage for an empty value (`-m "$UNSET"`). */
export function fromFlagOf(name: SettingName, flags: SettingsFlags): Sourced<unknown> | undefined {
  const flag = flagOf(name);
  const value = (flags as Readonly<Record<string, unknown>>)[attributeOf(flag)];
  if (settings[name].kind !== 'switch') return fromFlag(flag, value);
  // `--no-markdown` turns on what is off by default, and off what is on.
  const isGiven = value === !flag.startsWith('--no-');
  return isGiven ? fromFlag<unknown>(flag, settings[name].default === false) : undefined;
}

/** A flag's value. An empty one (`-m "$UNSET"`) is a mistake: throws usage. */
export function fromFlag<T>(name: string, value: T | undefined): Sourced<T> | undefined {
  if (value === undefined) return undefined;
  if (value === '') throw usageError(`${name} is empty`, `give ${name} a value or leave it out`);
  return { value, from: `flag ${name}`, origin: { kind: 'flag', name } };
}

/** A variable's value; an empty one counts as unset, as CI gives for a secret that is not there. */
export function fromEnvironment(env: Environment, name: string): Sourced<string> | undefined {
  const value = env[name];
  if (value === undefined || value === '') return undefined;
  return { value, from: `environment ${name}`, origin: { kind: 'variable', name } };
}

/** What a profile says of a setting, as `given` reads it. */
export function inProfile<N extends SettingName>(
  name: N,
  picked: PickedProfile | undefined,
): Sourced<ValueOf<N>> | undefined {
  const row: Row = settings[name];
  const found = fromProfile(picked, (profile) => profile[row.key as keyof Profile]);
  return mapValue(found, (value, from) => readValue(row, value, from) as ValueOf<N>);
}

/** What a profile says, where it says something. */
export function fromProfile<T>(
  picked: PickedProfile | undefined,
  read: (profile: Profile) => T | undefined,
): Sourced<T> | undefined {
  return picked && sourced(read(picked.profile), picked.label, 'profile');
}

/** What counts where nobody says anything. */
export function byDefault<T>(value: T): Sourced<T> {
  return { value, from: 'default', origin: { kind: 'default' } };
}

/** A value with its origin, where there is one. */
export function sourced<T>(
  value: T | undefined,
  from: string,
  kind: Exclude<Origin['kind'], 'flag' | 'variable'>,
): Sourced<T> | undefined {
  return value === undefined ? undefined : { value, from, origin: { kind } };
}

/** The same origin with the value read further. */
export function mapValue<T, U>(
  source: Sourced<T> | undefined,
  read: (value: T, from: string) => U,
): Sourced<U> | undefined {
  return source && { ...source, value: read(source.value, source.from) };
}

/**
 * The flags that led to a gateway, each behind a blank, so that a command in a hint asks the same one. A URL that may hold a
 * password is not repeated, nor is a header, which may hold a secret.
 */
export function typedFlags(flags: SettingsFlags): string {
  const typed: Readonly<Record<string, unknown>> = { ...flags, profile: flags.jobProfile ?? flags.profile };
  return settingNames
    .filter((name) => (settings[name] as Row).inHints)
    .map((name) => {
      const flag = flagOf(name);
      const value = typed[attributeOf(flag)];
      if (value === undefined || value === false) return '';
      if (value === true) return ` ${flag}`;
      return ` ${flag} ${/^https?:.*[@?]/i.test(String(value)) ? '<url>' : shellWord(String(value))}`;
    })
    .join('');
}

const onWords = new Set(['1', 'true', 'yes', 'on']);
const offWords = new Set(['', '0', 'false', 'no', 'off']);

/** How a value is read that a flag, a variable or a profile gives. Throws usage naming where it is from. */
export function readValue({ kind, values = [], noun }: Row, value: unknown, from: string): unknown {
  const text = String(value);
  const name = from.replace(/^(?:flag|environment) /, '');
  switch (kind) {
    case 'choice':
      return readChoice(text, { values, noun, from });
    case 'count':
      if (Number.isSafeInteger(Number(value)) && Number(value) >= 1) return Number(value);
      throw usageError(`${name} takes a whole number from 1, not '${text}'`, `for example: ${name} 1000`);
    case 'duration':
      return parseDurationOf(from, text);
    case 'switch':
      return typeof value === 'boolean' ? value : readSwitch(text, { name, from });
    case 'url':
      if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
      throw usageError(
        `${from}: not a URL that begins with https:// or http://`,
        'for example --base-url https://gateway.example',
      );
    default:
      return value;
  }
}

function readChoice(
  text: string,
  { values, noun, from }: { values: readonly string[]; noun: string | undefined; from: string },
): string {
  if (values.includes(text)) return text;
  if (noun === undefined) throw usageError(`${from}: must be one of ${values.join(', ')}`);
  const near = closest(text, values);
  const list = `the ${noun}s are ${values.join(', ')}`;
  throw usageError(
    `${from}: ${JSON.stringify(text.slice(0, 64))} is not a ${noun}`,
    near === undefined ? list : `did you mean ${near}? ${list}`,
  );
}

/** Words of any case; an empty one is off. */
function readSwitch(text: string, { name, from }: { name: string; from: string }): boolean {
  const word = text.trim().toLowerCase();
  if (onWords.has(word) || offWords.has(word)) return onWords.has(word);
  throw usageError(
    `${from}: ${JSON.stringify(text.slice(0, 40))} is neither on nor off`,
    `on: ${name}=1; off: ${name}=0`,
  );
}

const maxBytes = 1024 * 1024;

/**
 * Reads the config file. A file that is not there has no profiles. Warns where the group or others may read or write it.
 * Throws usage naming the path.
 */
export async function readConfig(path: string): Promise<LoadedConfig> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { path, exists: false, config: { profiles: {} }, warnings: [] };
    throw unreadable(path, error);
  }
  try {
    const { mode, size, uid } = await file.stat();
    if (size > maxBytes) throw usageError(`${path}: too large for a config file (${size} bytes)`);
    // Only where there is a file the validator is loaded.
    const { parseConfig } = await import('./parse.ts');
    const config = parseConfig(decode(await file.readFile(), path), path);
    const distrust = distrustOf(path, { mode, uid });
    return { path, exists: true, config, warnings: modeWarnings(path, mode), ...(distrust && { distrust }) };
  } catch (error) {
    throw error instanceof GatewayError ? error : unreadable(path, error);
  } finally {
    await file.close();
  }
}

/** Windows reports made-up modes (0666), so only platforms that have owners are judged. */
function modeWarnings(path: string, mode: number): string[] {
  const regular = (mode & constants.S_IFMT) === constants.S_IFREG;
  if (!regular || constants.O_NOFOLLOW === undefined || (mode & 0o066) === 0) return [];
  return [`${path} is open to other users (mode ${(mode & 0o777).toString(8)}); type: chmod 600 ${shellWord(path)}`];
}

/** Whoever else can write the file could run programs through it. Root can anyway. */
function distrustOf(path: string, { mode, uid }: { mode: number; uid: number }): Distrust | undefined {
  const own = system.geteuid?.();
  if (own === undefined) return undefined;
  if (uid !== own && uid !== 0)
    return {
      reason: `${path} belongs to another user (uid ${uid})`,
      hint: `look at what it runs, then copy it to a file of your own`,
    };
  const isRegular = (mode & constants.S_IFMT) === constants.S_IFREG;
  if (!isRegular || (mode & 0o022) === 0) return undefined;
  return {
    reason: `others can write ${path} (mode ${(mode & 0o777).toString(8)})`,
    hint: `chmod 600 ${shellWord(path)}`,
  };
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw usageError(`${path}: not UTF-8`, `save ${path} as UTF-8`, error);
  }
}

function unreadable(path: string, error: unknown): GatewayError {
  return usageError(
    `${path}: cannot be read: ${readReason(error)}`,
    codeOf(error) === 'ENOTDIR'
      ? 'set HOME to your folder, or name another file: GATEWAY_CONFIG=<file>'
      : 'check the rights of the file, or name another: GATEWAY_CONFIG=<file>',
    error,
  );
}

/** The user's folders of this program, by the platform's custom (XDG, ~/Library, %APPDATA%). */
export interface UserFolders {
  config: string;
  /** What must outlive a run but is no setting: conversations, recovered replies. */
  state: string;
  /** What can be asked for again: lists of models. */
  cache: string;
}

/**
 * Asks env-paths, which reads the process itself. It is loaded only when asked, for it fails at once where a container's
 * user has no home. Throws usage then.
 */
export async function userFolders(): Promise<UserFolders> {
  try {
    const { default: envPaths } = await import('env-paths');
    const paths = envPaths('gateway-cli', { suffix: '' });
    return { config: paths.config, state: paths.log, cache: paths.cache };
  } catch (error) {
    throw usageError('your home folder is not known', 'set HOME, or GATEWAY_CONFIG=<file>', error);
  }
}

/**
 * Absolute path of the config file: GATEWAY_CONFIG (relative to `cwd`), else `config.json` in the user's config folder.
 * A relative XDG_CONFIG_HOME is refused (usage): it would read settings from the current folder.
 */
export async function configPath(place: {
  env: Environment;
  cwd: string;
  folders?: () => Promise<UserFolders>;
}): Promise<string> {
  const named = place.env['GATEWAY_CONFIG'];
  if (named !== undefined && named !== '') return resolve(place.cwd, named);
  const { config } = await (place.folders ?? userFolders)();
  if (isAbsolute(config)) return join(config, 'config.json');
  throw usageError(
    `the config folder is not an absolute path: ${config}`,
    'set XDG_CONFIG_HOME to an absolute path, or unset it',
  );
}
