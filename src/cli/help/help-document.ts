import type { Command, Option } from 'commander';
import { outcomes } from '../../errors.ts';
import type { OwnDocument } from '../context.ts';
import { examplesOf, factsOf, isAdvanced } from '../flags/flag.ts';
import { readShipped } from '../shipped.ts';
import { documentsOf } from './documents.ts';
import { commandRows, fullName, isList, orDefault, usageOf, visible } from './help.ts';

/**
 * The help of a command as a document, with what `--json` prints: the JSON Schema of the result, for a command that prints one and
 * for the program, and the keys of other documents.
 */
export async function helpDocument(command: Command, text: string): Promise<OwnDocument> {
  const described = describeCommand(command);
  const help = { schema: 'gateway-cli/help@1', text, ...described };
  const printsResult = described.documents.some(
    ({ schema, when }) => schema === 'gateway-cli/result@1' && when === undefined,
  );
  if (!printsResult && command.parent !== null) return help;
  return { ...help, resultSchema: JSON.parse(await readShipped('dist/result.schema.json')) as unknown };
}

/** What a program needs to know of a command: its arguments, flags and exit codes. */
export function describeCommand(command: Command) {
  const shown = orDefault(command);
  return {
    command: fullName(command),
    summary: command.description(),
    usage: usageOf(command),
    examples: examplesOf(shown),
    commands: commandRows(command).map(([name, summary]) => ({ name, summary })),
    arguments: shown.registeredArguments.map((argument) => ({
      name: argument.name(),
      // Commands that say more than commander where it is missing check it themselves.
      required: argument.required || usageOf(command).includes(`<${argument.name()}>`),
      repeatable: argument.variadic,
      text: argument.description,
    })),
    flags: visible(shown).map((option) => describeFlag(option, visible(shown))),
    documents: documentsOf(fullName(shown).replace('gateway-cli ', '')),
    exitCodes: Object.entries(outcomes).map(([name, outcome]) => ({ class: name, ...outcome })),
  };
}

/** A flag as data. A key that says nothing is absent. */
interface FlagData {
  name: string;
  short?: string;
  type: 'boolean' | 'integer' | 'number' | 'string';
  /** The placeholder of the value in help: `<path|->`. */
  value?: string;
  minimum?: number;
  maximum?: number;
  default?: string;
  /** All values that it takes. */
  values?: readonly string[];
  /** Some of the values that it takes. */
  suggestions?: readonly string[];
  repeatable?: true;
  conflicts?: readonly string[];
  advanced?: true;
  group: string;
  text: string;
}

function describeFlag(option: Option, all: readonly Option[]): FlagData {
  const { type, minimum, maximum, isChoice, values } = factsOf(option);
  const value = /[<[].*$/.exec(option.flags)?.[0];
  const standard = /\(default: ([^)]*)\)$/.exec(option.description)?.[1];
  const excluded = conflictsOf(option, all);
  return {
    name: option.long ?? option.flags,
    ...(option.short && { short: option.short }),
    type: value === undefined ? 'boolean' : type,
    ...(value !== undefined && { value }),
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(standard !== undefined && { default: standard }),
    ...(values && (isChoice ? { values } : { suggestions: values })),
    ...(isList(option) && { repeatable: true }),
    ...(excluded.length > 0 && { conflicts: excluded }),
    ...(isAdvanced(option) && { advanced: true }),
    group: option.helpGroupHeading ?? 'Flags',
    text: option.description,
  };
}

/** A conflict is named on one side, and holds for both. */
function conflictsOf({ long: name = '' }: Option, all: readonly Option[]): string[] {
  const names = all.flatMap(({ long }) => long ?? []);
  return names.filter((other) => conflicts[name]?.includes(other) || conflicts[other]?.includes(name));
}

/** Flags that exclude each other, whatever their values: exit code 2. The commands check it; this is what they say in data. */
const conflicts: Readonly<Record<string, readonly string[]>> = {
  '--csv': ['--json'],
  '--curl': ['--field', '--json', '--jsonl', '--raw'],
  '--continue': ['--no-save', '--raw', '--session'],
  '--dry-run': ['--curl', '--field', '--jsonl', '--raw'],
  '--field': ['--json', '--jsonl', '--raw'],
  '--json': ['--jsonl'],
  '--no-vars': ['--var'],
  '--offline': ['--base-url'],
  '--prompt': ['--prompt-file'],
  '--raw': ['--code', '--json', '--jsonl', '--output', '--preview', '--sidecar', '--strict'],
  '--session': ['--no-save', '--raw'],
  '--stream': ['--data', '--estimate', '--prompts', '--shard', '--template'],
  '--system': ['--system-file'],
};
