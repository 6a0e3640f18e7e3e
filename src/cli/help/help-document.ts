import type { Command, Option } from 'commander';
import { exitCodes } from '../../library/index.ts';
import type { OwnDocument } from '../context.ts';
import { getFlagFacts, isAdvanced } from '../flags/flag.ts';
import { findDefaultName, isRepeatable, toCommandFacts } from './facts.ts';
import { commandRows, formatUsage, orDefault } from './help.ts';

/** The help of a command as a document of `--json`. */
export function helpDocument(command: Command, text: string): OwnDocument {
  return { schema: 'gateway-cli/help@1', text, ...describeCommand(command) };
}

/** The facts of a command that a program needs: its arguments, flags and exit codes. */
export function describeCommand(command: Command) {
  const facts = toCommandFacts(command);
  const usage = formatUsage(facts);
  const shown = command.commands.find((sub) => sub.name() === findDefaultName(command)) ?? command;
  const flags = shown.options.filter((option) => !option.hidden);
  return {
    command: facts.name,
    summary: command.description(),
    usage,
    examples: orDefault(facts).examples,
    commands: commandRows(facts).map(([name, summary]) => ({ name, summary })),
    arguments: shown.registeredArguments.map((argument) => ({
      name: argument.name(),
      // Some commands check a required argument themselves, to give a better message than commander.
      required: argument.required || usage.includes(`<${argument.name()}>`),
      repeatable: argument.variadic,
      text: argument.description,
    })),
    flags: flags.map(describeFlag),
    exitCodes: Object.entries(exitCodes).map(([name, outcome]) => ({ class: name, ...outcome })),
  };
}

/**
 * A flag as data. A key without a value is absent. `value` is the placeholder of the value in help: `<path|->`; `values` are all
 * values that the flag takes, `suggestions` some of them.
 */
function describeFlag(option: Option) {
  const { type, minimum, maximum, isChoice, values } = getFlagFacts(option);
  const value = /[<[].*$/.exec(option.flags)?.[0];
  const standard = /\(default: ([^)]*)\)$/.exec(option.description)?.[1];
  return {
    name: option.long ?? option.flags,
    ...(option.short && { short: option.short }),
    type: value === undefined ? ('boolean' as const) : type,
    ...(value !== undefined && { value }),
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(standard !== undefined && { default: standard }),
    ...(values && (isChoice ? { values } : { suggestions: values })),
    ...(isRepeatable(option) && { repeatable: true }),
    ...(isAdvanced(option) && { advanced: true }),
    group: option.helpGroupHeading ?? 'Flags',
    text: option.description,
  };
}
