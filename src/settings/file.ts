import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import system from 'node:process';
import { codeOf, GatewayError, usageError } from '../errors.ts';
import { readReason } from '../files/file-reason.ts';
import { shellWord } from '../shell-word.ts';
import type { LoadedConfig } from './config-types.ts';
import type { Distrust } from './types.ts';
import { isAbsolute, join, resolve } from 'node:path';

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

type Environment = Readonly<Record<string, string | undefined>>;

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
