import { Command } from 'commander';
import { type Tree, tree } from './command-tree.ts';
import { wordsOf } from './run/argv.ts';
import type { Action } from './context.ts';
import { addFlags } from './flags/flag.ts';
import { rootFlags } from './flags/shared.ts';
import { formatHelp, setExamples, setNotes } from './help/help.ts';
import { topics } from './help/topics.ts';
import { hintingAtReply } from './run/reply-hint.ts';
import { throwFound } from './run/usage-error.ts';
import { version } from '../version.ts';

/** What commander's callbacks lead to. */
export interface Hooks {
  act(action: Action, command: Command): Promise<void>;
  /** How wide the help is. */
  readonly columns: number;
  out(text: string): void;
  err(text: string): void;
}

const silent: Hooks = { columns: 80, act: async () => undefined, out: () => undefined, err: () => undefined };
const openSilent = (words: readonly string[]): Promise<Command> => buildProgram(words, silent);

/** The program with every command's name, and the flags of those whose words stand in argv. */
export async function buildProgram(argv: readonly string[], hooks: Hooks): Promise<Command> {
  const full = argv.some((word) => word === '--verbose' || word === '-v');
  const program = new Command('gateway-cli')
    .description('The command line of a generation gateway: text, images and chat for scripts, CI jobs and pipes.')
    .usage('<command> [words…] [flags]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .enablePositionalOptions()
    .showSuggestionAfterError(true)
    .configureOutput({ writeOut: hooks.out, writeErr: hooks.err, outputError: () => undefined })
    .configureHelp({ formatHelp: (command) => formatHelp(command, { full, width: hooks.columns }) });
  program.exitOverride((error) => throwFound(error, program));
  setExamples(program, rootExamples);
  setNotes(program, rootNotes);
  addFlags(program, 'Everywhere', rootFlags);
  await addTree(program, tree, { words: wordsOf(argv), hooks });
  return program;
}

const rootExamples = [
  'gateway-cli text --offline "three names for a lighthouse cat"',
  'gateway-cli image gen --prompt "a lighthouse at dusk" --aspect 16:9 -o dusk.png',
  'git diff | gateway-cli chat "write a commit message"',
];

const rootNotes = [
  `Topics: gateway-cli help <topic> explains ${topics.join(', ')}.`,
  'Codes: 0 done, 2 usage, 3 key, 4 rejected, 5 quota, 6 gateway, 7 not sent, 8 no reply, 9 bad reply, 10 nothing usable, 11 incomplete, 12 not written. They never change meaning; an unknown one is a failure.',
  'Try it without an account: add --offline to text, image or chat.',
];

async function addTree(parent: Command, entries: Tree, at: { words: readonly string[]; hooks: Hooks }): Promise<void> {
  const [word, ...rest] = at.words;
  for (const [name, entry] of Object.entries(entries)) {
    const command = parent
      .command(name, { hidden: entry.hidden ?? false, isDefault: entry.isDefault ?? false })
      .summary(entry.summary)
      .description(entry.summary)
      .enablePositionalOptions();
    command.helpOption('-h, --help', 'print this help');
    if (name !== word && !entry.isDefault) continue;
    command.exitOverride((error) => throwFound(error, command));
    if (entry.commands) {
      addFlags(command, 'Everywhere', rootFlags);
      command.usage('<command> [words…] [flags]');
      await addTree(command, entry.commands, { words: rest, hooks: at.hooks });
    }
    if (!entry.load) continue;
    const action = hintingAtReply((await entry.load(openSilent))(command));
    addFlags(command, 'Everywhere', rootFlags);
    command.action(() => at.hooks.act(action, command));
  }
}
