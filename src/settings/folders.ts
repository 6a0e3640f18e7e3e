import { isAbsolute, join, resolve } from 'node:path';
import { usageError } from '../errors.ts';

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
