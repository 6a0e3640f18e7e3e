import type { Command, Option } from 'commander';
import type { Action } from '../../cli/context.ts';
import { commandRows, isRepeatable, orDefault, topics } from '../../cli/help/help.ts';
import { services } from '../../vendors/services.ts';
import { configPath, readConfig } from '../../settings/config-file.ts';
import { readCachedModels } from '../../settings/model-cache.ts';
import { resolvePartialSettings, useDefaults } from '../../settings/resolve.ts';
import { listVariables } from '../../settings/sources.ts';
import { type LoadedConfig, useNames } from '../../settings/types.ts';
import { splitShellLine } from '../../shell-word.ts';
import type { Io } from '../../terminal/io.ts';

/** `__complete <shell> …`: what the scripts call at every TAB. They ask the program, so they cannot be out of date. */
export function completeCommand(command: Command, openTree: (words: readonly string[]) => Promise<Command>): Action {
  command.argument('[words...]');
  return async ({ io }, [shell = '', ...rest]) => {
    const takesLine = shell === 'bash' || shell === 'powershell';
    const line = takesLine ? splitTypedLine(rest[0] ?? '').slice(1) : rest;
    const found = await completeLast(await openTree(line), line, io);
    await io.stdout.write(formatLines(found, shell, line.at(-1) ?? ''));
  };
}

/** The last word is the one being typed: empty after a blank. */
function splitTypedLine(line: string): string[] {
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

/** What can be typed at the cursor: values with their descriptions, and whether file names can be typed too. */
interface Completion {
  values: (readonly [value: string, text: string])[];
  files: boolean;
}

/** What can replace the last word of a line, according to the program's own command tree. */
async function completeLast(program: Command, line: readonly string[], io: Io): Promise<Completion> {
  const current = line.at(-1) ?? '';
  const isHelp = line[0] === 'help' && line.length > 1;
  const cursor = readLine(program, line.slice(isHelp ? 1 : 0, -1));
  const { values, files } = await completeWord(cursor, current, { line, io });
  const names = new Set(values.map(([value]) => value));
  // A topic can have the name of a command.
  const more = isHelp && line.length === 2 ? topics.filter((topic) => !names.has(topic)) : [];
  return { values: [...values, ...toCompletion(more).values].filter(([value]) => value.startsWith(current)), files };
}

/** A place in the command tree. */
interface Cursor {
  command: Command;
  /** The flag whose value comes next. */
  flag: Option | undefined;
  /** Words that are not flags or commands. */
  words: string[];
  /** Long names of the flags before the cursor. */
  used: Set<string>;
  /** After `--` nothing is a flag. */
  flagsEnded: boolean;
}

function readLine(program: Command, before: readonly string[]): Cursor {
  const at: Cursor = { command: program, flag: undefined, words: [], used: new Set(), flagsEnded: false };
  for (const word of before) {
    if (at.flag) at.flag = undefined;
    else if (at.flagsEnded || !word.startsWith('-') || word === '-') readArgument(at, word);
    else if (word === '--') at.flagsEnded = true;
    else {
      const name = word.split('=')[0] ?? '';
      const option = optionNamed(at.command, name) ?? optionNamed((at.command = orDefault(at.command)), name);
      if (option) at.used.add(option.long ?? '');
      if (option?.required && !word.includes('=')) at.flag = option;
    }
  }
  return at;
}

function readArgument(at: Cursor, word: string): void {
  const inner = at.words.length === 0 ? at.command.commands.find((sub) => sub.name() === word) : undefined;
  at.command = inner ?? orDefault(at.command);
  if (inner === undefined) at.words.push(word);
}

function optionNamed(command: Command, name: string): Option | undefined {
  return command.options.find((option) => option.long === name || option.short === name);
}

/** The typed line, and where values come from that are known only at run time. */
interface LineSource {
  line: readonly string[];
  io: Io;
}

async function completeWord(at: Cursor, current: string, source: LineSource): Promise<Completion> {
  const command = orDefault(at.command);
  if (at.flag) return completeFlagValue(at.flag, source);
  const [assigned] = at.flagsEnded ? [] : (/^--[^=]*=/.exec(current) ?? []);
  if (assigned !== undefined) {
    const flag = optionNamed(command, assigned.slice(0, -1));
    const { values, files } = flag?.required ? await completeFlagValue(flag, source) : toCompletion([]);
    return { values: values.map(([value, text]) => [assigned + value, text]), files };
  }
  if (!at.flagsEnded && current.startsWith('-')) return { values: completeFlags(command, at.used), files: false };
  const { values, files } = await completeArgument(command, at.words, source.io);
  return { values: at.words.length > 0 ? values : [...commandRows(at.command), ...values], files };
}

/** The flags that are not in the line yet, and those that repeat. */
function completeFlags(command: Command, used: ReadonlySet<string>): Completion['values'] {
  const free = command.options.filter(
    (option) => !option.hidden && (isRepeatable(option) || !used.has(option.long ?? '')),
  );
  return [
    ...free.map((option) => [option.long ?? option.flags, option.description] as const),
    ['--help', 'print this help'],
  ];
}

async function completeFlagValue({ argChoices, long, flags }: Option, { line, io }: LineSource): Promise<Completion> {
  if (argChoices) return toCompletion(argChoices);
  if (long === '--model') return toCompletion(await models(line, io));
  if (long === '--profile' || long === '--upstream') return toCompletion(await profiles(io));
  if (long === '--template') return toCompletion(await listPromptNames(io), true);
  if (long === '--session') return toCompletion(await listNamesOfSessions(), true);
  return toCompletion([], isPath(/<([^>]*)>/.exec(flags)?.[1] ?? ''));
}

async function completeArgument(
  { registeredArguments: known }: Command,
  words: readonly string[],
  io: Io,
): Promise<Completion> {
  const argument = known[words.length] ?? (known.at(-1)?.variadic ? known.at(-1) : undefined);
  if (argument === undefined) return toCompletion([]);
  if (argument.argChoices) return toCompletion(argument.argChoices);
  const name = argument.name();
  if (name === 'key') return toCompletion((await import('../config/keys.ts')).configKeys);
  if (name === 'value|-') return toCompletion((await import('../config/keys.ts')).listKeyValues(words[0] ?? ''));
  if (name === 'profile') return toCompletion(await profiles(io));
  if (/^(name|session)s?\b/.test(name)) return toCompletion(await listNamesOfSessions(), true);
  return toCompletion([], isPath(name));
}

/** Whether a placeholder such as `path|-` or `jobs` means a file or a folder. */
function isPath(placeholder: string): boolean {
  return /path|file|dir|folder|jobs/.test(placeholder);
}

function toCompletion(values: readonly string[], files = false): Completion {
  return { values: values.map((value) => [value, '']), files };
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

// What lists values is loaded for these alone: most TABs are for a command or a flag.

async function listNamesOfSessions(): Promise<string[]> {
  const { listSessionNames } = await import('../../chat/session-path.ts');
  return listSessionNames().catch(() => []);
}

async function listPromptNames(io: Io): Promise<string[]> {
  const { listPrompts } = await import('../../cli/input/named-prompts.ts');
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
  const recommended = services[settings.service.value].models[use];
  return [...(recommended === undefined ? [] : [recommended]), ...(await readCachedModels(settings, now()))];
}

function flagValue(line: readonly string[], flag: string): string | undefined {
  const at = line.indexOf(flag);
  return at < 0 ? line.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) : line[at + 1];
}
