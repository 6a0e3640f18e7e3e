import { lstat, readlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  chooseHint,
  describeOwner,
  describeWriteError,
  GatewayError,
  getErrorCode,
  type Lock,
  makeFolder,
  shellWord,
  takeLock,
  usageError,
  type Use,
  useNames,
  version,
  writeAtomically,
} from '../../../library/index.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { nameFor } from '../../settings/profile.ts';
import { requireProfileName } from '../../settings/profile-name.ts';
import type { Config, LoadedConfig } from '../../settings/types.ts';
import type { Context, OwnDocument } from '../../context.ts';
import { readAddress } from '../doctor/checks.ts';

/** The config file and the profile that a `config` command is about. */
export interface OpenProfile {
  loaded: LoadedConfig;
  /**
   * The profile of `--profile`, of GATEWAY_PROFILE or of the file, otherwise `default`. It may not exist yet. A map if none of
   * them was named.
   */
  profile: NonNullable<Config['profile']>;
}

/** Reads the config file. Throws GatewayError usage if it is wrong. */
export async function openConfig({ io, root, ui }: Context): Promise<OpenProfile> {
  const loaded = await readConfig(await configPath(io));
  for (const warning of loaded.warnings) await ui.warn(warning);
  const named = root.profile ?? io.env['GATEWAY_PROFILE'];
  return { loaded, profile: named === undefined || named === '' ? (loaded.config.profile ?? 'default') : named };
}

/** Reads the config file to edit one profile. Throws GatewayError usage if each use has its own and none was named. */
export async function openProfile(context: Context): Promise<OpenProfile & { profile: string }> {
  const { loaded, profile } = await openConfig(context);
  if (typeof profile === 'string') return { loaded, profile: requireProfileName(profile) };
  const ways = [...new Set(Object.values(profile))].map((name) => `--profile ${name}`);
  throw usageError(
    `${loaded.path} has a profile for each use: ${describeMap(profile)}`,
    `say which: ${ways.join(', or ')}`,
  );
}

/** `gemini for text and image, claude for chat`. */
export function describeMap(map: Partial<Record<Use, string>>): string {
  const names = [...new Set(Object.values(map))];
  const findProfileUses = (name: string): Use[] => useNames.filter((use) => nameFor(map, use) === name);
  return names.map((name) => `${name} for ${joinWords(findProfileUses(name))}`).join(', ');
}

/** `text, image and chat`. */
export function joinWords(words: readonly string[]): string {
  return words.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

/**
 * The schema of the config file, where editors find its keys: of the newest version that reads the file. A file with another
 * schema keeps it.
 */
const configSchema = `https://unpkg.com/gateway-cli@${version.split('.')[0]}/dist/config.schema.json`;

/** Changes take milliseconds. */
const longestWaitMs = 10_000;

/**
 * Makes one change to the config file as it is now: other programs may have changed it since it was opened. Returns the config
 * that was written; undefined if `change` leaves all as it is. The file is written whole or not at all, with mode 0600, a new
 * folder with 0700; a symbolic link stays one and its target is written. Throws GatewayError usage.
 */
export async function changeConfig(
  path: string,
  change: (current: LoadedConfig) => Config | undefined,
): Promise<Config | undefined> {
  try {
    const target = await followLinks(path);
    const folder = dirname(target);
    await makeFolder(folder, 0o700);
    const lock = await lockConfig(path, `${target}.lock`);
    try {
      const current = await readConfig(path);
      const config = change(current);
      if (config === undefined) return undefined;
      refuseForeignCommand(current, config);
      const written = current.exists ? config : { $schema: configSchema, ...config };
      await writeAtomically(target, (handle) => handle.writeFile(`${JSON.stringify(written, null, 2)}\n`));
      return config;
    } finally {
      await lock.release();
    }
  } catch (error) {
    if (error instanceof GatewayError || getErrorCode(error) === undefined) throw error;
    const message = `${path}: cannot be written: ${describeWriteError(error)}`;
    throw usageError(message, 'name another file: GATEWAY_CONFIG=<file>', error);
  }
}

async function lockConfig(path: string, file: string): Promise<Lock> {
  const lock = await takeLock(file, { waitMs: longestWaitMs });
  if ('release' in lock) return lock;
  throw usageError(
    `${path}: is being changed by ${describeOwner(lock.heldBy)}`,
    `try again, or if it no longer runs: rm ${shellWord(file)}`,
  );
}

/** A written file belongs to the user. Throws GatewayError usage for a command that others may have put there: it would be run. */
function refuseForeignCommand({ distrust, config: before }: LoadedConfig, config: Config): void {
  const kept = Object.entries(config.profiles).find(
    ([name, { apiKeyCommand }]) =>
      apiKeyCommand !== undefined &&
      JSON.stringify(before.profiles[name]?.apiKeyCommand) === JSON.stringify(apiKeyCommand),
  );
  if (distrust === undefined || kept === undefined) return;
  const hint = `${distrust.hint}; or take it out: gateway-cli config unset apiKeyCommand --profile ${kept[0]}`;
  throw usageError(`apiKeyCommand of profile ${kept[0]} would be run from now on, and ${distrust.reason}`, hint);
}

/** The file that a path leads to, also if a link's target does not exist yet. */
async function followLinks(path: string): Promise<string> {
  let at = path;
  for (let hops = 0; hops < 40; hops++) {
    const kind = await lstat(at).catch(() => undefined);
    if (kind === undefined || kind.isFile()) return at;
    if (!kind.isSymbolicLink())
      throw usageError(`${path}: is not a regular file`, 'name another file: GATEWAY_CONFIG=<file>');
    at = resolve(dirname(at), await readlink(at));
  }
  throw usageError(`${path}: the links lead in a circle`);
}

/** The JSON document of every `config` command. */
export function configDocument({ loaded, profile }: OpenProfile, more: object): OwnDocument {
  return { schema: 'gateway-cli/config@1', path: loaded.path, profile, ...more };
}

/** Warns at once of a base URL that the first request would refuse: plain http to another machine, a query, a password. */
export async function warnOfAddress(config: Config, profile: string, { ui }: Context): Promise<void> {
  const { baseUrl, allowHttp = false } = config.profiles[profile] ?? {};
  if (baseUrl === undefined) return;
  try {
    readAddress({ value: baseUrl, from: 'baseUrl' }, allowHttp);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    await ui.warn(`no request will go there: ${error.message}; ${chooseHint(error)}`);
  }
}
