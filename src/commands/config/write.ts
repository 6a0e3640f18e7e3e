import type { Command } from 'commander';
import { usageError } from '../../errors.ts';
import { closest } from '../../settings/closest.ts';
import type { Config, LoadedConfig, Profile } from '../../settings/types.ts';
import { namesIn, withNameFor } from '../../settings/profile.ts';
import { serviceOfProfile } from '../../settings/profile.ts';
import { type Use, useNames } from '../../settings/types.ts';
import {
  changeConfig,
  configDocument,
  describeMap,
  listed,
  type Opened,
  openConfig,
  openProfile,
  warnOfAddress,
} from './file.ts';
import { isSecretKey, keyGroups, keysText, requireKey, settingCommand, withoutKey, withValue } from './keys.ts';
import type { Action, Context } from '../../cli/context.ts';
import { addFlags, quote } from '../../cli/flags/flag.ts';
import { setExamples, setNotes } from '../../cli/help/help.ts';
import { readTextFlag } from '../../cli/input/input-files.ts';
import { services, usesOf } from '../../services.ts';
import { shellWord } from '../../shell-word.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { rowName, type SettingRow, settingRows, type SurveyPlace } from '../../settings/survey.ts';

/** `config set <key> <value|->`: one key of the profile; secrets come from stdin or are asked for. */
export function configSetCommand(command: Command): Action {
  command.argument('<key>', 'such as models.text').argument('<value|->', 'its value; - reads stdin or asks');
  command.usage('<key> <value|-> [flags]');
  setExamples(command, [
    'gateway-cli config set baseUrl https://gateway.example.com',
    'gateway-cli config set models.image some-image-model --profile work',
    'pass show gateway | gateway-cli config set apiKey -',
    `gateway-cli config set apiKeyCommand '["pass", "show", "gateway"]'`,
    `gateway-cli config set prices.${services.gemini.models.image}.image 0.067`,
  ]);
  setNotes(command, [`Keys: ${keysText}`]);
  return async (context, [key = '', word = '']) => {
    requireKey(key);
    if (isSecretKey(key) && word !== '-') {
      throw usageError(`${key} in argv would show it to every user of this machine`, `type: ${settingCommand(key)}`);
    }
    const opened = await openProfile(context);
    const value = word === '-' ? await readValue(key, context) : word;
    if (value === '')
      throw usageError(`the value of ${key} is empty`, `to remove it: gateway-cli config unset ${shellWord(key)}`);
    const set = (current: LoadedConfig): Config => withValue(current, opened.profile, { key, word: value });
    const config = (await changeConfig(opened, set)) as Config;
    await tell(`${key} is set in profile ${opened.profile} (${opened.loaded.path})`, opened, { key, context });
    if (key.startsWith('models.')) await warnOfService(config.profiles[opened.profile] ?? {}, opened.profile, context);
    if (key === 'baseUrl') await warnOfAddress(config, opened.profile, context);
    if (opened.loaded.config.profile === undefined && opened.profile !== 'default')
      await context.ui.note(`to use it without --profile: gateway-cli config use ${opened.profile}`);
  };
}

/** The models of a profile hold for its own service alone. */
async function warnOfService(profile: Profile, name: string, { io, ui }: Context): Promise<void> {
  const named = io.env['GATEWAY_SERVICE'];
  const isTied = (profile.service ?? profile.baseUrl) !== undefined;
  if (!named || !isTied || serviceOfProfile(profile) === named) return;
  const word = shellWord(named);
  await ui.warn(
    `profile ${name} is for ${services[serviceOfProfile(profile)].title}, and GATEWAY_SERVICE is ${word}; for that one: gateway-cli config set service ${word} --profile ${word}`,
  );
}

/** `config unset <key>`: takes a key, or a whole group, out of the profile. */
export function configUnsetCommand(command: Command): Action {
  command.argument('<key>', 'such as models.text, or models').usage('<key> [flags]');
  setExamples(command, ['gateway-cli config unset apiKey', 'gateway-cli config unset models --profile work']);
  setNotes(command, [`Keys: ${keysText}, ${keyGroups.join(', ')}`]);
  return async (context, [key = '']) => {
    if (!keyGroups.includes(key)) requireKey(key);
    const opened = await openProfile(context);
    const next = await changeConfig(opened, (current) => withoutKey(current, opened.profile, key));
    const done = next ? 'is gone from' : 'is not in';
    await tell(`${key} ${done} profile ${opened.profile} (${opened.loaded.path})`, opened, { key, context });
  };
}

/** `config use <profile> [--for <uses>]`: the profile of every command that names no other, or of some uses. */
export function configUseCommand(command: Command): Action {
  command.argument('<profile>', 'a profile of the config file').usage('<profile> [flags]');
  setExamples(command, [
    'gateway-cli config use work',
    'gateway-cli config use gemini --for text,image',
    'gateway-cli config use claude --for chat',
  ]);
  const text = `for these alone, with commas: ${useNames.join(', ')} (all)`;
  addFlags(command, 'Flags', { for: { flags: '--for <uses>', text, parse: parseUses, values: useNames } });
  return async (context, [name = ''], flags) => {
    const opened = await openConfig(context);
    const { path } = opened.loaded;
    const { for: uses } = flags as { for?: Use[] };
    const written = await changeConfig(opened, (current) => withProfileInUse(current, name, uses));
    const profile = written?.profile ?? name;
    const shadow = context.io.env['GATEWAY_PROFILE'];
    if (shadow !== undefined && shadow !== '' && shadow !== name)
      await context.ui.warn(`GATEWAY_PROFILE=${shadow} wins over it; unset that`);
    const use = typeof profile === 'object' ? `in use: ${describeMap(profile)}` : `profile ${profile} is in use`;
    await tell(`${use} (${path})`, { ...opened, profile }, { context });
  };
}

/** Throws GatewayError usage for a profile that is not there, or that lacks one of the uses. */
function withProfileInUse(current: LoadedConfig, name: string, uses: readonly Use[] | undefined): Config {
  const { config } = current;
  const known = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  if (known === undefined) throw unknownProfile(name, current);
  if (uses === undefined) return { ...config, profile: name };
  requireUses(name, known, uses);
  return { ...config, profile: withNameFor(config.profile, name, uses) };
}

/** Reads `--for`: uses with commas. Throws GatewayError usage. */
function parseUses(word: string): Use[] {
  const given = word.split(',').map((part) => part.trim());
  return given.map((part) => {
    const use = useNames.find((known) => known === part);
    if (use !== undefined) return use;
    const near = closest(part, useNames);
    const example = 'for example: --for text,image';
    throw usageError(
      `--for takes ${useNames.join(', ')}, not ${quote(part)}`,
      near === undefined ? example : `did you mean ${near}? ${example}`,
    );
  });
}

/** Throws usage where the profile's service does not have a use that was asked for. */
function requireUses(name: string, profile: Profile, uses: readonly Use[]): void {
  const service = services[serviceOfProfile(profile)];
  const missing = uses.filter((use) => !usesOf(service.name).includes(use));
  if (missing.length === 0) return;
  throw usageError(
    `profile ${name} is for ${service.title}, which does not have ${listed(missing)}`,
    `gateway-cli config use ${name} --for ${usesOf(service.name).join(',')}`,
  );
}

function unknownProfile(name: string, loaded: LoadedConfig): Error {
  const near = closest(name, Object.keys(loaded.config.profiles));
  const make = `make it: gateway-cli config init --profile ${/^[\w.-]{1,64}$/.test(name) ? name : '<name>'}`;
  const hint = near === undefined ? make : `did you mean: gateway-cli config use ${near}`;
  return usageError(`there is no profile ${quote(name)} in ${loaded.path}; ${namesIn(loaded.config)}`, hint);
}

/** A line for a person or the JSON document; stdout stays empty, for nothing was asked for. */
async function tell(text: string, opened: Opened, { key, context }: { key?: string; context: Context }): Promise<void> {
  context.report.own = configDocument(opened, { key });
  await context.ui.note(text);
}

/** stdin, or what a person types; a secret is not echoed. */
async function readValue(key: string, context: Context): Promise<string> {
  const { openDialog } = context.io;
  if (context.io.stdin.kind !== 'terminal' || !openDialog)
    return (await readTextFlag(`config set ${key}`, '-', context)).replace(/^\uFEFF/, '').trim();
  const dialog = await openDialog();
  context.atEnd(async () => dialog.close());
  return (await dialog.ask(`${key}: `, { hidden: isSecretKey(key) })).trim();
}

/** `config path`: where the file is, or would be. */
export function configPathCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli config path', '"$EDITOR" "$(gateway-cli config path)"']);
  return async ({ io, root, report }) => {
    const path = await configPath({ env: io.env, cwd: io.cwd });
    if (root.json) {
      const { exists, config } = await readConfig(path);
      report.own = { schema: 'gateway-cli/config@1', ok: true, path, exists, profile: config.profile };
    } else await io.stdout.write(`${path}\n`);
  };
}

/** `config list`: every setting with its origin, keys redacted. */
export function configListCommand(command: Command): Action {
  command.usage('[flags]');
  setNotes(command, ['--verbose adds the defaults of settings that the service in use does not look at.']);
  setExamples(command, ['gateway-cli config list', 'gateway-cli config list --profile work --json | jq .settings']);
  return async (context) => {
    const opened = await openConfig(context);
    const rows = surveyOf(context, opened.loaded, context.root.json || context.root.verbose ? 'all' : 'used');
    const profiles = Object.keys(opened.loaded.config.profiles);
    if (context.root.json) {
      const settings = Object.fromEntries(rows.flatMap(entriesOf));
      context.report.own = configDocument(opened, { exists: opened.loaded.exists, profiles, settings });
      return;
    }
    const names =
      profiles.length === 0 ? [] : [{ key: 'profiles', value: profiles.join(', '), from: opened.loaded.path }];
    await context.io.stdout.write(table([...names, ...rows]));
  };
}

/** `config get <key>`: the value that a command would use; nothing of a key. */
export function configGetCommand(command: Command): Action {
  command.argument('<key>', 'such as models.text').usage('<key> [flags]');
  setExamples(command, ['gateway-cli config get baseUrl', 'gateway-cli config get models.image --profile work']);
  setNotes(command, [`Keys: ${keysText}`]);
  return async (context, [key = '']) => {
    const opened = await openConfig(context);
    const name = requireKey(key).startsWith('headers.') ? key.toLowerCase() : key;
    const rows = surveyOf(context, opened.loaded).filter((row) => row.key === name);
    const [found] = rows;
    if (found?.uses !== undefined) throw differsByUse(rows, opened);
    if (found === undefined) throw usageError(`${key} is not set`, `set it: ${settingCommand(key)}`);
    if (context.root.json) context.report.own = configDocument(opened, { key, value: found.value, from: found.from });
    else await context.io.stdout.write(`${String(found.value)}\n`);
  };
}

/** For scripts: `baseUrl`, or `baseUrl.text` and so on where uses differ. */
function entriesOf({ key, uses, value, from }: SettingRow): [string, Omit<SettingRow, 'key' | 'uses'>][] {
  const keys = uses === undefined ? [key] : uses.map((use) => `${key}.${use}`);
  return keys.map((name) => [name, { value, from }]);
}

function differsByUse(rows: readonly SettingRow[], { profile }: Opened): Error {
  const values = rows.map((row) => `${rowName(row)} is ${escapeLine(String(row.value))}`);
  const names = typeof profile === 'object' ? [...new Set(Object.values(profile))] : [];
  const hint = names.map((name) => `--profile ${name}`).join(', or ');
  return usageError(`uses differ: ${values.join('; ')}`, hint === '' ? undefined : `say which: ${hint}`);
}

function surveyOf(
  { io, root }: Context,
  config: SurveyPlace['config'],
  which?: Parameters<typeof settingRows>[1],
): SettingRow[] {
  return settingRows({ flags: { profile: root.profile }, env: io.env, config }, which);
}

/** Columns: key, value, origin in brackets. */
export function table(rows: readonly SettingRow[]): string {
  const width = Math.max(...rows.map((row) => rowName(row).length));
  const shown = rows.map(
    (row) => `${rowName(row).padEnd(width)}  ${escapeLine(String(row.value))}  (${escapeLine(row.from)})\n`,
  );
  return shown.join('');
}
