import { Argument, type Command } from 'commander';
import { complete, type Completion, type Sources } from './complete.ts';
import { scripts, shells } from './scripts.ts';
import { usageError } from '../../errors.ts';
import { services } from '../../services.ts';
import { splitShellLine } from '../../shell-word.ts';
import { listSessions, sessionsFolder } from '../../chat/session-path.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { keptModels } from '../../settings/kept-models.ts';
import { surveySettings, useDefaults } from '../../settings/resolve.ts';
import { variablesOf } from '../../settings/sources.ts';
import { type Config, type LoadedConfig, useNames } from '../../settings/types.ts';
import { configKeys, valuesOfKey } from '../config/keys.ts';
import type { Action, Context } from '../../cli/context.ts';
import { quote, setExamples } from '../../cli/flags/flag.ts';

/** `completion <shell>`: prints the script that a shell loads. */
export function completionCommand(command: Command): Action {
  const argument = new Argument('<shell>', shells.join(', '));
  argument.argChoices = [...shells];
  command.addArgument(argument).usage('<bash|zsh|fish|powershell> [flags]');
  setExamples(command, [
    'eval "$(gateway-cli completion bash)"          # in ~/.bashrc',
    'source <(gateway-cli completion zsh)           # in ~/.zshrc, after compinit',
    'gateway-cli completion fish | source           # in ~/.config/fish/config.fish',
    'gateway-cli completion powershell | Out-String | Invoke-Expression',
  ]);
  return async ({ io, root, report }, [name = '']) => {
    const shell = shells.find((known) => known === name);
    if (shell === undefined)
      throw usageError(`completion does not support ${quote(name)}`, `name one of these shells: ${shells.join(', ')}`);
    if (root.json) report.own = { schema: 'gateway-cli/completion@1', shell, script: scripts[shell] };
    else await io.stdout.write(scripts[shell]);
  };
}

/** `__complete <shell> …`: what the scripts call at every TAB. They ask the program, so they cannot be out of date. */
export function completeCommand(command: Command, openTree: (words: readonly string[]) => Promise<Command>): Action {
  command.argument('[words...]');
  return async (context, [shell = '', ...rest]) => {
    const takesLine = shell === 'bash' || shell === 'powershell';
    const line = takesLine ? wordsOf(rest[0] ?? '').slice(1) : rest;
    const found = await complete(await openTree(line), line, sourcesFor(context));
    await context.io.stdout.write(formatLines(found, shell, line.at(-1) ?? ''));
  };
}

/** The last word is the one being typed: empty after a blank. */
function wordsOf(line: string): string[] {
  const { words, isComplete } = splitShellLine(line);
  return isComplete ? [...words, ''] : words;
}

/** bash replaces only what follows the last `=` or `:` of a word, zsh what follows `--flag=`. */
const keptByShell: Readonly<Record<string, RegExp>> = { bash: /^.*[=:]/, zsh: /^--[^=]*=/ };

function formatLines({ values, files }: Completion, shell: string, current: string): string {
  const kept = keptByShell[shell]?.exec(current)?.[0].length ?? 0;
  const rows = values.map(([value, text]) => (text === '' ? value.slice(kept) : `${value.slice(kept)}\t${text}`));
  return [...rows, files ? ':files' : ':none'].map((row) => `${row.replaceAll(/[\r\n]/g, ' ')}\n`).join('');
}

/** A wrong config or a missing home folder only lacks its own values. */
function orNone(read: () => Promise<string[]>): Promise<string[]> {
  return read().catch(() => []);
}

function sourcesFor({ io }: Context): Sources {
  const load = async (): Promise<LoadedConfig> => readConfig(await configPath({ env: io.env, cwd: io.cwd }));
  return {
    models: async (line) => modelsFor(line, await load().catch(() => undefined), io),
    profiles: () => orNone(async () => Object.keys((await load()).config.profiles)),
    sessions: () => orNone(async () => (await listSessions(await sessionsFolder())).map(({ name }) => name)),
    keys: configKeys,
    valuesOf: valuesOfKey,
  };
}

/** Models of the environment, the profile, the service and the saved list; offline the local ones. */
async function modelsFor(
  line: readonly string[],
  loaded: LoadedConfig | undefined,
  io: Context['io'],
): Promise<string[]> {
  if (line.includes('--offline')) return Object.values(useDefaults).map(({ local }) => local);
  const ofEnvironment = useNames.flatMap((use) => variablesOf('model', use).map((name) => io.env[name]));
  const listed = loaded === undefined ? [] : await orNone(() => listedModels(loaded, line, io));
  const all = [...ofEnvironment, ...modelsOfProfiles(loaded?.config, line, io.env), ...listed];
  return [...new Set(all.filter((model) => model !== undefined && model !== ''))] as string[];
}

function modelsOfProfiles(config: Config | undefined, line: readonly string[], env: Context['io']['env']): string[] {
  const named = flagValue(line, '--profile') ?? (env['GATEWAY_PROFILE'] || config?.profile) ?? 'default';
  const profiles = typeof named === 'object' ? Object.values(named) : [named];
  return profiles.flatMap((profile) => Object.values(config?.profiles[profile]?.models ?? {}));
}

/** A model of the service, and the list that `models` saved. TAB sends no request: it needs no key and does not wait. */
async function listedModels(config: LoadedConfig, line: readonly string[], io: Context['io']): Promise<string[]> {
  const use = useNames.find((name) => line.includes(name)) ?? 'text';
  const flags = {
    profile: flagValue(line, '--profile'),
    service: flagValue(line, '--service'),
    baseUrl: flagValue(line, '--base-url'),
  };
  const settings = surveySettings({ flags, env: io.env, config, use });
  const recommended = services[settings.service.value].models[use];
  return [...(recommended === undefined ? [] : [recommended]), ...(await keptModels(settings, io.now()))];
}

function flagValue(line: readonly string[], flag: string): string | undefined {
  const at = line.indexOf(flag);
  return at < 0 ? line.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) : line[at + 1];
}
