import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import system from 'node:process';
import { describeReadError, GatewayError, getErrorCode, shellWord, usageError } from '../../library/index.ts';
import type { Environment } from './sources.ts';
import type { LoadedConfig } from './types.ts';
import { parseConfig } from './parse.ts';

const maxBytes = 1024 * 1024;

/**
 * Reads the config file. A missing file has no profiles. Warns if the group or others can read or write it.
 * Throws usage naming the path.
 */
export async function readConfig(path: string): Promise<LoadedConfig> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY);
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return { path, exists: false, config: { profiles: {} }, warnings: [] };
    throw unreadableConfig(path, error);
  }
  try {
    const { mode, size, uid } = await file.stat();
    if (size > maxBytes) throw usageError(`${path}: too large for a config file (${size} bytes)`);
    const config = parseConfig(decodeConfig(await file.readFile(), path), path);
    return { path, exists: true, config, ...judgeAccess(path, { mode, uid }) };
  } catch (error) {
    throw error instanceof GatewayError ? error : unreadableConfig(path, error);
  } finally {
    await file.close().catch(() => undefined);
  }
}

/**
 * A warning if others can read or write the file, and the reason that its commands are not run if others own it or can write it:
 * they could run programs through it. Windows has neither modes nor owners to judge.
 */
function judgeAccess(
  path: string,
  { mode, uid }: { mode: number; uid: number },
): Pick<LoadedConfig, 'warnings' | 'distrust'> {
  const own = system.geteuid?.();
  if (own === undefined) return { warnings: [] };
  const isRegular = (mode & constants.S_IFMT) === constants.S_IFREG;
  const octal = (mode & 0o777).toString(8);
  const fix = `chmod 600 ${shellWord(path)}`;
  const isOpen = isRegular && (mode & 0o066) !== 0;
  const warnings = isOpen ? [`${path} is open to other users (mode ${octal}); type: ${fix}`] : [];
  const isForeign = uid !== own && uid !== 0;
  if (!isForeign && !(isRegular && (mode & 0o022) !== 0)) return { warnings };
  const distrust = isForeign
    ? {
        reason: `${path} belongs to another user (uid ${uid})`,
        hint: `look at what it runs, then copy it to a file of your own`,
      }
    : { reason: `others can write ${path} (mode ${octal})`, hint: fix };
  return { warnings, distrust };
}

function decodeConfig(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw usageError(`${path}: not UTF-8`, `save ${path} as UTF-8`, error);
  }
}

function unreadableConfig(path: string, error: unknown): GatewayError {
  return usageError(
    `${path}: cannot be read: ${describeReadError(error)}`,
    getErrorCode(error) === 'ENOTDIR'
      ? 'set HOME to your folder, or name another file: GATEWAY_CONFIG=<file>'
      : 'check the rights of the file, or name another: GATEWAY_CONFIG=<file>',
    error,
  );
}

/** The user's folders of this program, by the platform's custom (XDG, ~/Library, %APPDATA%). */
interface UserFolders {
  config: string;
  /** Data that is not a setting and must outlive a run: conversations, recovered replies. */
  state: string;
  /** The folder of data that can be requested again: lists of models. */
  cache: string;
}

/**
 * Asks env-paths, which reads the process itself. It is loaded only when asked, because it fails if a container's
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

/** Absolute path of the user's state folder. Throws GatewayError usage for a relative one, which is another in each current folder. */
export async function stateFolder(): Promise<string> {
  const { state } = await userFolders();
  if (isAbsolute(state)) return state;
  throw usageError(
    `the state folder is not an absolute path: ${state}`,
    'set XDG_STATE_HOME to an absolute path, or unset it',
  );
}

/**
 * Absolute path of the config file: GATEWAY_CONFIG (relative to `cwd`), otherwise `config.json` in the user's config folder. A
 * relative XDG_CONFIG_HOME is refused (usage): it would read settings from the current folder.
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
