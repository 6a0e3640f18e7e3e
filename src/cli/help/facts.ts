import type { Command, Option } from 'commander';
import { tree } from '../command-tree.ts';
import { getExamples, getNotes, isAdvanced } from '../flags/flag.ts';
import { findCommand } from './help.ts';
import type { CommandFacts, FlagFacts } from './types.ts';

/** The facts of a command, and of the commands below it whose flags are loaded, for help and completion. */
export function toCommandFacts(command: Command): CommandFacts {
  const standard = findDefaultName(command);
  const shown = new Set(command.createHelp().visibleCommands(command));
  return {
    name: fullName(command),
    summary: command.summary() || command.description(),
    heading: command.helpGroup() || undefined,
    usage: command.usage(),
    examples: getExamples(command),
    notes: getNotes(command),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      ...(argument.variadic && { repeatable: true }),
      ...(argument.argChoices && { values: argument.argChoices }),
    })),
    flags: command.options.map(toFlagFacts),
    commands: command.commands.map((sub) => ({ ...toCommandFacts(sub), ...(!shown.has(sub) && { hidden: true }) })),
    ...(standard !== undefined && { standard }),
  };
}

/** A command and all visible commands below it, with their flags: `openTree` loads the flags of only the named command. */
export async function describeTree(
  openTree: (words: readonly string[]) => Promise<Command>,
  words: readonly string[] = [],
): Promise<CommandFacts> {
  const program = toCommandFacts(await openTree(words));
  const facts = words.reduce((at, word) => findCommand(at, word) ?? at, program);
  const shown = facts.commands.filter(({ hidden }) => !hidden);
  const commands = shown.map(({ name }) => describeTree(openTree, name.split(' ').slice(1)));
  return { ...facts, commands: await Promise.all(commands) };
}

function toFlagFacts(option: Option): FlagFacts {
  return {
    flags: option.flags,
    text: option.description,
    heading: option.helpGroupHeading ?? 'Flags',
    ...(option.argChoices && { values: option.argChoices }),
    ...(isRepeatable(option) && { repeatable: true }),
    ...(isAdvanced(option) && { advanced: true }),
    ...(option.hidden && { hidden: true }),
  };
}

/** Whether a flag can be repeated: its parser takes the values before. */
export function isRepeatable(option: Option): boolean {
  return option.parseArg?.length === 2;
}

/** The command of a group that runs if none is named. */
export function findDefaultName(command: Command): string | undefined {
  const name: unknown = Reflect.get(command, '_defaultCommandName');
  return typeof name === 'string' ? name : undefined;
}

/** `gateway-cli config set` */
function fullName(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

/** The names of commands and groups that help shows. */
export const listedNames: readonly string[] = Object.keys(tree).filter((name) => !tree[name]?.hidden);

/** The commands of groups that have this name: `batch gallery` for `gallery`. */
export function commandsNamed(name: string): string[] {
  const groups = Object.entries(tree).filter(([, { commands = {} }]) => Object.hasOwn(commands, name));
  return groups.map(([group]) => `${group} ${name}`);
}
