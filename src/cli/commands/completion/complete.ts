import type { Command } from 'commander';
import type { Action } from '../../context.ts';
import { toCommandFacts } from '../../help/facts.ts';
import { services, useNames } from '../../../library/index.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { readKeptModels } from '../../settings/memory.ts';
import { resolvePartialSettings, useDefaults } from '../../settings/resolve.ts';
import { listVariables } from '../../settings/sources.ts';
import type { LoadedConfig } from '../../settings/types.ts';
import type { Io } from '../../terminal/io.ts';
import { completeLine, type Completion, formatCompletion, readTypedLine, withoutTexts } from './complete-line.ts';
import { listSessionNames } from '../../chat/session-path.ts';
import { listPrompts } from '../../input/named-prompts.ts';
import { configKeys, listKeyValues } from '../config/keys.ts';

/** `__complete <shell> …`: the scripts call it at every TAB. They ask the program, so they cannot be out of date. */
export function completeCommand(command: Command, openTree: (words: readonly string[]) => Promise<Command>): Action {
  command.argument('[words...]');
  return async ({ io }, typed) => {
    const line = readTypedLine(typed);
    const { words } = line;
    const program = await openTree(words[0] === 'help' ? words.slice(1) : words);
    const found = completeLine(toCommandFacts(program), words);
    const more = found.listed === undefined ? [] : await listValues(found.listed, words, io);
    const values = [...found.values, ...withoutTexts(more.map((value) => `${found.listed?.before}${value}`))];
    await io.stdout.write(formatCompletion({ ...found, values }, line));
  };
}

async function listValues(
  { kind, argument = '' }: NonNullable<Completion['listed']>,
  line: readonly string[],
  io: Io,
): Promise<readonly string[]> {
  switch (kind) {
    case 'models':
      return models(line, io);
    case 'profiles':
      return profiles(io);
    case 'prompts':
      return listPromptNames(io);
    case 'sessions':
      return listNamesOfSessions();
    case 'keys':
      return configKeys;
    case 'values':
      return listKeyValues(argument);
  }
}

/** The config; undefined if it is invalid, or without a home folder: completion then lacks only its values. */
async function loadConfig(io: Io): Promise<LoadedConfig | undefined> {
  return configPath(io)
    .then(readConfig)
    .catch(() => undefined);
}

async function profiles(io: Io): Promise<string[]> {
  return Object.keys((await loadConfig(io))?.config.profiles ?? {});
}

// Modules that list values are loaded only for these: most TABs are for a command or a flag.

async function listNamesOfSessions(): Promise<string[]> {
  return listSessionNames().catch(() => []);
}

async function listPromptNames(io: Io): Promise<string[]> {
  return (await listPrompts(io).catch(() => [])).map(({ name }) => name);
}

/** Models of the environment, the profile, the service and the saved list; offline the local ones. */
async function models(line: readonly string[], io: Io): Promise<string[]> {
  if (line.includes('--offline')) return Object.values(useDefaults).map(({ local }) => local);
  const { env } = io;
  const loaded = await loadConfig(io);
  const ofEnvironment = useNames.flatMap((use) => listVariables('model', use).map((name) => env[name] ?? ''));
  const inUse = flagValue(line, '--profile') ?? (env['GATEWAY_PROFILE'] || loaded?.config.profile) ?? 'default';
  const ofProfiles = (typeof inUse === 'object' ? Object.values(inUse) : [inUse]).flatMap((profile) =>
    Object.values(loaded?.config.profiles[profile]?.models ?? {}),
  );
  const ofService = loaded === undefined ? [] : await serviceModels(loaded, line, io).catch(() => []);
  return [...new Set([...ofEnvironment, ...ofProfiles, ...ofService])].filter((model) => model !== '');
}

/** A model of the service, and the list that `models` saved. TAB sends no request: it needs no key and does not wait. */
async function serviceModels(config: LoadedConfig, line: readonly string[], { env, now }: Io): Promise<string[]> {
  const use = useNames.find((name) => line.includes(name)) ?? 'text';
  const flags = {
    profile: flagValue(line, '--profile'),
    service: flagValue(line, '--service'),
    baseUrl: flagValue(line, '--base-url'),
  };
  const settings = resolvePartialSettings({ flags, env, config, use });
  const recommended = services[settings.service].models[use];
  return [...(recommended === undefined ? [] : [recommended]), ...(await readKeptModels(settings, now()))];
}

function flagValue(line: readonly string[], flag: string): string | undefined {
  const at = line.indexOf(flag);
  return at < 0 ? line.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) : line[at + 1];
}
