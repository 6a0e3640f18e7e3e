import type { Command } from 'commander';
import type { Action } from '../../context.ts';
import { toCommandFacts } from '../../help/facts.ts';
import { services, useNames } from '../../../library/index.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { listKeptModels, openFacts } from '../../settings/memory.ts';
import { resolvePartialSettings, useDefaults } from '../../settings/resolve.ts';
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
    const more = found.listed === undefined ? [] : await listValues(found.listed, words, io).catch(() => []);
    const values = [...found.values, ...withoutTexts(more.map((value) => `${found.listed?.before}${value}`))];
    await io.stdout.write(formatCompletion({ ...found, values }, line));
  };
}

/** Throws GatewayError usage without a home folder, and for a wrong config: completion then lacks only these values. */
async function listValues(
  { kind, argument = '' }: NonNullable<Completion['listed']>,
  line: readonly string[],
  io: Io,
): Promise<readonly string[]> {
  switch (kind) {
    case 'models':
      return models(line, io);
    case 'profiles':
      return Object.keys((await configPath(io).then(readConfig)).config.profiles);
    case 'prompts':
      return (await listPrompts(io)).map(({ name }) => name);
    case 'sessions':
      return listSessionNames();
    case 'keys':
      return configKeys;
    case 'values':
      return listKeyValues(argument);
  }
}

/**
 * The models of the settings, the profile and the service, and the list that `models` saved; offline the local ones. TAB sends no
 * request: it needs no key and does not wait.
 */
async function models(line: readonly string[], { env, now, cwd }: Io): Promise<string[]> {
  if (line.includes('--offline')) return Object.values(useDefaults).map(({ local }) => local);
  const config = await configPath({ env, cwd }).then(readConfig);
  const use = useNames.find((name) => line.includes(name)) ?? 'text';
  const flags = {
    profile: flagValue(line, '--profile'),
    service: flagValue(line, '--service'),
    baseUrl: flagValue(line, '--base-url'),
  };
  const settings = resolvePartialSettings({ flags, env, config, use });
  const { model = [], profile = '', service } = settings;
  const ofProfile = Object.values(config.config.profiles[profile]?.models ?? {});
  const kept = listKeptModels(await openFacts(settings, now));
  return [...new Set([model, ofProfile, services[service].models[use] ?? [], kept].flat())];
}

function flagValue(line: readonly string[], flag: string): string | undefined {
  const at = line.indexOf(flag);
  return at < 0 ? line.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) : line[at + 1];
}
