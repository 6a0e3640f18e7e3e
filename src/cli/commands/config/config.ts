import { readPriceFile } from './price-file.ts';
import type { Command } from 'commander';
import {
  closest,
  findOwn,
  listUses,
  maxOf,
  services,
  shellWord,
  usageError,
  type Use,
  useNames,
} from '../../../library/index.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { getProfileService, withNameFor } from '../../settings/profile.ts';
import { listProfileNames, makeProfileHint } from '../../settings/profile-name.ts';
import { rowName, type SettingRow, settingRows } from '../../settings/setting-rows.ts';
import { resolveEveryUse } from '../../settings/resolve.ts';
import type { Config, LoadedConfig, Profile } from '../../settings/types.ts';
import { escapeLine } from '../../terminal/escape.ts';
import type { Action, Context } from '../../context.ts';
import { addFlags, quoteWord, setExamples, setNotes } from '../../flags/flag.ts';
import { readTextFlag } from '../../input/input-files.ts';
import {
  changeConfig,
  configDocument,
  describeMap,
  joinWords,
  type OpenProfile,
  openConfig,
  openProfile,
  warnOfAddress,
} from './file.ts';
import { isSecretKey, keyGroups, keysText, requireKey, settingCommand, withoutConfigKey, withValue } from './keys.ts';

/** `config set <key> <value|->`: one key of the profile; secrets come from stdin or are asked for. */
export function configSetCommand(command: Command): Action {
  command.argument('<key>', 'such as models.text').argument('<value|->', 'its value; - reads stdin or asks');
  command.usage('<key> <value|-> [flags]');
  setExamples(command, [
    'gateway-cli config set baseUrl https://gateway.example.com',
    'gateway-cli config set models.image some-image-model --profile work',
    'pass show gateway | gateway-cli config set apiKey -',
    `gateway-cli config set apiKeyCommand '["pass", "show", "gateway"]'`,
    `gateway-cli config set prices.${services.gemini.models.image} '{"image":"0.067"}'`,
    'gateway-cli config set prices @https://models.dev/api.json --profile work',
  ]);
  setNotes(command, [`Keys: ${keysText}`]);
  return async (context, [key = '', typed = '']) => {
    requireKey(key);
    if (isSecretKey(key) && typed !== '-') {
      throw usageError(`${key} in argv would show it to every user of this machine`, `type: ${settingCommand(key)}`);
    }
    const opened = await openProfile(context);
    const { loaded, profile } = opened;
    const word = typed === '-' ? await readNewValue(key, context) : typed;
    if (word === '')
      throw usageError(`the value of ${key} is empty`, `to remove it: gateway-cli config unset ${shellWord(key)}`);
    const file =
      key === 'prices' && word.startsWith('@') ? await readPriceFile(word.slice(1), opened, context) : undefined;
    const config = (await changeConfig(opened.loaded.path, (current) =>
      withValue(current, profile, { key, word: file?.word(current.config) ?? word }),
    )) as Config;
    if (file) await context.ui.note(file.told);
    await context.ui.note(`${key} is set in profile ${profile} (${loaded.path})`);
    if (key.startsWith('models.')) await warnOfService(config.profiles[profile] ?? {}, profile, context);
    if (key === 'baseUrl') await warnOfAddress(config, profile, context);
    if (loaded.config.profile === undefined && profile !== 'default')
      await context.ui.note(`to use it without --profile: gateway-cli config use ${profile}`);
    return { document: configDocument(opened, { key }) };
  };
}

/** Reads stdin, or asks on a terminal, where a secret is not echoed. */
async function readNewValue(key: string, context: Context): Promise<string> {
  const { openDialog } = context.io;
  if (context.io.stdin.kind !== 'terminal' || !openDialog)
    return (await readTextFlag(`config set ${key}`, '-', context)).replace(/^\uFEFF/, '').trim();
  const dialog = await openDialog();
  context.atEnd(async () => dialog.close());
  return (await dialog.ask(`${key}: `, { hidden: isSecretKey(key) })).trim();
}

/** Warns if GATEWAY_SERVICE names another service: the models of a profile apply to its own service only. */
async function warnOfService(profile: Profile, name: string, { io, ui }: Context): Promise<void> {
  const service = getProfileService(profile);
  const named = io.env['GATEWAY_SERVICE'];
  if (!named || (profile.service ?? profile.baseUrl) === undefined || service === named) return;
  const word = shellWord(named);
  await ui.warn(
    `profile ${name} is for ${services[service].title}, and GATEWAY_SERVICE is ${word}; for that one: gateway-cli config set service ${word} --profile ${word}`,
  );
}

/** `config unset <key>`: removes a key, or a whole group of keys, from the profile. */
export function configUnsetCommand(command: Command): Action {
  command.argument('<key>', 'such as models.text, or models').usage('<key> [flags]');
  setExamples(command, ['gateway-cli config unset apiKey', 'gateway-cli config unset models --profile work']);
  setNotes(command, [`Keys: ${keysText}, ${keyGroups.join(', ')}`]);
  return async (context, [key = '']) => {
    if (!keyGroups.includes(key)) requireKey(key);
    const opened = await openProfile(context);
    const { loaded, profile } = opened;
    const changed = await changeConfig(opened.loaded.path, (current) => withoutConfigKey(current, profile, key));
    const done = changed ? 'was removed from' : 'is not in';
    await context.ui.note(`${key} ${done} profile ${profile} (${loaded.path})`);
    return { document: configDocument(opened, { key }) };
  };
}

/** `config use <profile> [--for <uses>]`: sets the default profile, for all uses or for some. */
export function configUseCommand(command: Command): Action {
  command.argument('<profile>', 'a profile of the config file').usage('<profile> [flags]');
  setExamples(command, [
    'gateway-cli config use work',
    'gateway-cli config use gemini --for text,image',
    'gateway-cli config use claude --for chat',
  ]);
  const text = `only for these, with commas: ${useNames.join(', ')} (all)`;
  addFlags(command, 'Flags', { for: { flags: '--for <uses>', text, parse: parseUses, values: useNames } });
  return async (context, [name = ''], flags) => {
    const opened = await openConfig(context);
    const { for: uses } = flags as { for?: Use[] };
    const config = await changeConfig(opened.loaded.path, (current) => withProfileInUse(current, name, uses));
    const profile = config?.profile ?? name;
    const named = context.io.env['GATEWAY_PROFILE'];
    if (named !== undefined && named !== '' && named !== name)
      await context.ui.warn(`GATEWAY_PROFILE=${named} wins over it; unset that`);
    const inUse = typeof profile === 'object' ? `in use: ${describeMap(profile)}` : `profile ${profile} is in use`;
    await context.ui.note(`${inUse} (${opened.loaded.path})`);
    return { document: configDocument({ ...opened, profile }, {}) };
  };
}

/** Reads `--for`: uses with commas. Throws GatewayError usage. */
function parseUses(word: string): Use[] {
  const words = word.split(',').map((part) => part.trim());
  return words.map((part) => {
    const use = useNames.find((known) => known === part);
    if (use !== undefined) return use;
    const near = closest(part, useNames);
    const example = 'for example: --for text,image';
    throw usageError(
      `--for takes ${useNames.join(', ')}, not ${quoteWord(part)}`,
      near === undefined ? example : `did you mean ${near}? ${example}`,
    );
  });
}

/** Throws GatewayError usage for a profile that does not exist, or whose service does not have one of the uses. */
function withProfileInUse({ config, path }: LoadedConfig, name: string, uses: readonly Use[] | undefined): Config {
  const profile = findOwn(config.profiles, name);
  if (profile === undefined) {
    const near = closest(name, Object.keys(config.profiles));
    const hint = near === undefined ? makeProfileHint(name) : `did you mean: gateway-cli config use ${near}`;
    throw usageError(`there is no profile ${quoteWord(name)} in ${path}; ${listProfileNames(config)}`, hint);
  }
  if (uses === undefined) return { ...config, profile: name };
  const service = getProfileService(profile);
  const known = listUses(service);
  const missing = uses.filter((use) => !known.includes(use));
  if (missing.length === 0) return { ...config, profile: withNameFor(config.profile, name, uses) };
  throw usageError(
    `profile ${name} is for ${services[service].title}, which does not have ${joinWords(missing)}`,
    `gateway-cli config use ${name} --for ${known.join(',')}`,
  );
}

/** `config path`: the path of the file, which need not exist. */
export function configPathCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli config path', '"$EDITOR" "$(gateway-cli config path)"']);
  return async ({ io, root }) => {
    const path = await configPath(io);
    if (!root.json) return io.stdout.write(`${path}\n`);
    const { exists, config } = await readConfig(path);
    return { document: { schema: 'gateway-cli/config@1', path, exists, profile: config.profile } };
  };
}

/** `config list`: every setting with its origin, keys redacted. */
export function configListCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli config list', 'gateway-cli config list --profile work --json | jq .settings']);
  return async (context) => {
    const { io, root } = context;
    const opened = await openConfig(context);
    const { exists, path, config } = opened.loaded;
    const rows = listSettings(context, opened);
    const profiles = Object.keys(config.profiles);
    if (root.json) {
      const settings = Object.fromEntries(rows.flatMap(toEntries));
      return { document: configDocument(opened, { exists, profiles, settings }) };
    }
    if (profiles.length > 0) rows.unshift({ key: 'profiles', value: profiles.join(', '), from: path });
    const width = maxOf(rows.map((row) => rowName(row).length));
    const lines = rows.map((row) => `${rowName(row).padEnd(width)}  ${rowText(row)}  (${escapeLine(row.from)})\n`);
    return io.stdout.write(lines.join(''));
  };
}

/** The value as text; a price is JSON. */
function rowText({ value }: Pick<SettingRow, 'value'>): string {
  return escapeLine(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Entries of the JSON document: the key `baseUrl`, or `baseUrl.text` and so on if uses differ. */
function toEntries({ key, uses, value, from }: SettingRow): [string, Omit<SettingRow, 'key' | 'uses'>][] {
  const keys = uses === undefined ? [key] : uses.map((use) => `${key}.${use}`);
  return keys.map((name) => [name, { value, from }]);
}

/** `config get <key>`: the value that a command would use; an API key is redacted. */
export function configGetCommand(command: Command): Action {
  command.argument('<key>', 'such as models.text').usage('<key> [flags]');
  setExamples(command, ['gateway-cli config get baseUrl', 'gateway-cli config get models.image --profile work']);
  setNotes(command, [`Keys: ${keysText}`]);
  return async (context, [key = '']) => {
    const { io, root } = context;
    const opened = await openConfig(context);
    requireKey(key);
    const name = key.startsWith('headers.') ? key.toLowerCase() : key;
    const isAll = key === 'prices';
    const rows = listSettings(context, opened).filter((row) =>
      isAll ? row.key.startsWith('prices.') : row.key === name,
    );
    const [found] = rows;
    if (rows.some(({ uses }) => uses !== undefined)) throw differsByUse(rows, opened);
    if (found === undefined) throw notInUse(key, opened);
    const value = isAll
      ? Object.fromEntries(rows.map((row) => [row.key.slice('prices.'.length), row.value]))
      : found.value;
    const from = [...new Set(rows.map((row) => row.from))].join(', ');
    if (root.json) return { document: configDocument(opened, { key, value, from }) };
    return io.stdout.write(`${typeof value === 'object' ? JSON.stringify(value) : String(value)}\n`);
  };
}

/** The error for a key without a value in use. The profile can have a value that no command uses: its key is for another address. */
function notInUse(key: string, { loaded, profile }: OpenProfile): Error {
  const own = typeof profile === 'string' ? findOwn(loaded.config.profiles, profile) : undefined;
  if (own && Object.hasOwn(own, key))
    return usageError(`${key} is in profile ${profile}, and no command uses it`, 'to see why: gateway-cli doctor');
  return usageError(`${key} is not set`, `set it: ${settingCommand(key)}`);
}

function differsByUse(rows: readonly SettingRow[], { profile }: OpenProfile): Error {
  const values = rows.map((row) => `${rowName(row)} is ${rowText(row)}`);
  const names = typeof profile === 'object' ? [...new Set(Object.values(profile))] : [];
  const hint = names.map((name) => `--profile ${name}`).join(', or ');
  return usageError(`uses differ: ${values.join('; ')}`, hint === '' ? undefined : `say which: ${hint}`);
}

/** Every setting as commands would use it. Throws GatewayError usage for wrong values. */
function listSettings({ io, root }: Context, { loaded }: OpenProfile): SettingRow[] {
  return settingRows(resolveEveryUse({ flags: { profile: root.profile }, env: io.env, config: loaded }));
}
