import { closest, shellWord, usageError } from '../../library/index.ts';
import type { Config, LoadedConfig, SourcedValue } from './types.ts';

/** The names that a profile can have. Names of members of every object are left out. */
export const profileNameForm = /^(?!(?:constructor|prototype)$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** The rule of `profileNameForm` in words. */
export const profileNameRule = 'use letters, digits, ".", "_" and "-", a letter or digit first';

/** Throws usage for a name that a profile cannot have. */
export function requireProfileName(name: string): string {
  if (profileNameForm.test(name)) return name;
  throw usageError(`${JSON.stringify(name.slice(0, 64))} cannot name a profile`, profileNameRule);
}

/** The profiles of a config, for a message. */
export function listProfileNames(config: Config): string {
  const names = Object.keys(config.profiles);
  return names.length === 0 ? 'there are none yet' : `there are: ${names.join(', ')}`;
}

/** The hint for a profile that does not exist: the command that makes it. */
export function makeProfileHint(name: string): string {
  return `make it: gateway-cli config init --profile ${profileNameForm.test(name) ? name : '<name>'}`;
}

/** The error for a profile that does not exist, with the names of existing ones; `from` is the flag, variable or file that named it. */
export function unknownProfile({ value, origin }: SourcedValue<string>, loaded: LoadedConfig): Error {
  const { from } = origin;
  const { path, config, exists } = loaded;
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return urlAsProfile(new URL(value), from);
  const wanted = JSON.stringify(value.slice(0, 64));
  const make = makeProfileHint(value);
  if (!exists) return usageError(`no profile ${wanted} (${from}): there is no ${path}`, make);
  const near = closest(value, Object.keys(config.profiles));
  const flag = origin.kind === 'flag' ? origin.name : '--profile';
  const meant = origin.kind === 'job' ? `"profile":"${near}"` : `${flag} ${near}`;
  const hint = near === undefined ? make : `did you mean ${meant}?`;
  return usageError(`no profile ${wanted} (${from}) in ${path}; ${listProfileNames(config)}`, hint);
}

/** Says how to make a profile of a URL. The parts that may be secret are not repeated. */
function urlAsProfile({ origin, pathname }: URL, from: string): Error {
  const baseUrl = shellWord(`${origin}${pathname === '/' ? '' : pathname}`);
  return usageError(
    `a profile is needed, not a URL (${from})`,
    `make one: gateway-cli config set baseUrl ${baseUrl} --profile work
give it its key: gateway-cli config set apiKey - --profile work
then name it: work`,
  );
}
