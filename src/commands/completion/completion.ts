import { Argument, type Command } from 'commander';
import { complete, type Completion, type Sources } from './complete.ts';
import { scripts, type Shell, shells } from './scripts.ts';
import { usageError } from '../../errors.ts';
import { services } from '../../services.ts';
import { splitShellLine } from '../../shell-word.ts';
import { listSessions, sessionsFolder } from '../../chat/session-path.ts';
import { readConfig, configPath } from '../../settings/sources.ts';
import { keptModels } from '../../settings/kept-models.ts';
import { surveySettings } from '../../settings/resolve.ts';
import { useDefaults } from '../../settings/service.ts';
import { variablesOf } from '../../settings/table.ts';
import type { Config, LoadedConfig } from '../../settings/config-types.ts';
import { useNames } from '../../settings/types.ts';
import { configKeys, valuesOfKey } from '../config/keys.ts';
import type { Action, Context } from '../../cli/context.ts';
import { quote } from '../../cli/flags/flag.ts';
import { setExamples } from '../../cli/help/help.ts';

/** `completion <shell>`: prints the script that a shell loads. */
export function completionCommand(command: Command): Action {
  const argument = new Argument('<shell>', shells.join(', '));
  argument.argChoices = [...shells];
  command.addArgument(argument).usage('<bash|zsh|fish|powershell> [flags]');
  setExamples(command, [
    'eval "$(gateway-cli completion bash)"          # in ~/.bashrc',
    'source <(gateway-cli completion zsh)           # in ~/.zshrc, behind compinit',
    'gateway-cli completion fish | source           # in ~/.config/fish/config.fish',
    'gateway-cli completion powershell | Out-String | Invoke-Expression',
  ]);
  return async ({ io, root, report }, [name = '']) => {
    const shell = shells.find((known) => known === name);
    if (shell === undefined)
      throw usageError(`completion does not support ${quote(name)}`, `name one of these shells: ${shells.join(', ')}`);
    if (root.json) report.own = { schema: 'gateway-cli/completion@1', ok: true, shell, script: scripts[shell] };
    else await io.stdout.write(scripts[shell]);
  };
}

/** `__complete <shell> …`: what the scripts ask at every TAB. The program itself is the source, so nothing goes stale. */
export function completeCommand(command: Command, openTree: (words: readonly string[]) => Promise<Command>): Action {
  command.argument('[words...]');
  return async (context, [shell = '', ...rest]) => {
    const takesLine = shell === 'bash' || shell === 'powershell';
    const line = takesLine ? wordsOf(rest[0] ?? '').slice(1) : rest;
    const found = await complete(await openTree(line), line, sourcesOf(context));
    await context.io.stdout.write(lines(found, { shell: shell as Shell, current: line.at(-1) ?? '' }));
  };
}

/** The last word is the one being typed, empty behind a blank. */
function wordsOf(line: string): string[] {
  const { words, isComplete } = splitShellLine(line);
  return isComplete ? [...words, ''] : words;
}

/** bash replaces only what stands behind the last `=` or `:` of a word, zsh what stands behind `--flag=`. */
function lines({ candidates, rest }: Completion, { shell, current }: { shell: Shell; current: string }): string {
  const flag = /^--[^=]*=/.exec(current)?.[0] ?? '';
  const cuts = { bash: /^.*[=:]/.exec(current)?.[0] ?? '', zsh: flag, fish: '', powershell: '' };
  const cut = (cuts[shell] ?? '').length;
  const rows = candidates.map(({ value, text }) => (text === '' ? value.slice(cut) : `${value.slice(cut)}\t${text}`));
  return [...rows, `:${rest}`].map((row) => `${row.replaceAll(/[\r\n]/g, ' ')}\n`).join('');
}

/** A broken config or a missing home is no reason to complete nothing else. */
function orNone(read: () => Promise<string[]>): Promise<string[]> {
  return read().catch(() => []);
}

function sourcesOf({ io }: Context): Sources {
  const load = async (): Promise<LoadedConfig> => readConfig(await configPath({ env: io.env, cwd: io.cwd }));
  return {
    models: async (words) => modelsFor(words, await load().catch(() => undefined), io),
    profiles: () => orNone(async () => Object.keys((await load()).config.profiles)),
    sessions: () => orNone(async () => (await listSessions(await sessionsFolder())).map(({ name }) => name)),
    keys: () => configKeys,
    valuesOf: valuesOfKey,
  };
}

/** Models of the profile, the environment and the kept list; offline the local ones. */
async function modelsFor(
  words: readonly string[],
  config: LoadedConfig | undefined,
  io: Context['io'],
): Promise<string[]> {
  if (words.includes('--offline')) return Object.values(useDefaults).map(({ local }) => local);
  const listed = config === undefined ? [] : await orNone(() => listedModels(config, words, io));
  return [...new Set([...modelsOf(config?.config, words, io.env), ...listed])];
}

/** A model of the service that the line names, and what `models` kept of its list. A TAB asks nobody: it sends no key, and it does not wait. */
async function listedModels(config: LoadedConfig, words: readonly string[], io: Context['io']): Promise<string[]> {
  const use = useNames.find((name) => words.includes(name)) ?? 'text';
  const flags = {
    profile: flagValue(words, '--profile'),
    service: flagValue(words, '--service'),
    baseUrl: flagValue(words, '--base-url'),
  };
  const settings = surveySettings({ flags, env: io.env, config, use });
  const recommended = services[settings.service.value].models[use];
  return [...(recommended === undefined ? [] : [recommended]), ...(await keptModels(settings, io.now()))];
}

function flagValue(words: readonly string[], flag: string): string | undefined {
  const at = words.indexOf(flag);
  return at < 0 ? words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) : words[at + 1];
}

function modelsOf(config: Config | undefined, words: readonly string[], env: Context['io']['env']): string[] {
  const named = flagValue(words, '--profile') ?? (env['GATEWAY_PROFILE'] || config?.profile) ?? 'default';
  const names = typeof named === 'object' ? Object.values(named) : [named];
  const models = names.flatMap((name) => Object.values(config?.profiles[name]?.models ?? {}));
  const all = [...useNames.flatMap((use) => variablesOf('model', use).map((variable) => env[variable])), ...models];
  return [...new Set(all.filter((model) => model !== undefined && model !== ''))] as string[];
}
