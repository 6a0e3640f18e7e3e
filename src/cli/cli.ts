import { Command } from 'commander';
import { type Tree, tree } from './command-tree.ts';
import type { Action } from './context.ts';
import { addFlags } from './flags/flag.ts';
import { rootFlags } from './flags/shared.ts';
import { formatHelp, type Note, setExamples, setNotes } from './help/help.ts';
import { topics } from './help/topics.ts';
import { version } from '../version.ts';
import { throwFound, wordsOf } from './run/argv.ts';

/** What commander's callbacks do. */
export interface Hooks {
  act(action: Action, command: Command): Promise<void>;
  /** Width of the help. */
  readonly columns: number;
  readonly colored: { out: boolean; err: boolean };
  out(text: string): void;
  err(text: string): void;
}

const silent: Hooks = {
  columns: 80,
  colored: { out: false, err: false },
  act: async () => undefined,
  out: () => undefined,
  err: () => undefined,
};

/** The program for some words, to be examined and not run. */
export const openSilent = (words: readonly string[]): Promise<Command> => buildProgram(words, silent);

/** The program with the names of all commands, and the flags of those that argv names. */
export async function buildProgram(argv: readonly string[], hooks: Hooks): Promise<Command> {
  const full = argv.some((word) => word === '--verbose' || word === '-v');
  const program = new Command('gateway-cli')
    .description(
      'Text, images and chat from Gemini, OpenAI, Anthropic, OpenRouter, Ollama or your own gateway, for scripts, CI jobs and pipes.',
    )
    .usage('<command> [words…] [flags]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .enablePositionalOptions()
    .showSuggestionAfterError(true)
    .configureOutput({
      writeOut: hooks.out,
      writeErr: hooks.err,
      outputError: () => undefined,
      getOutHasColors: () => hooks.colored.out,
      getErrHasColors: () => hooks.colored.err,
    })
    // Commander removes the colour if the stream gets none.
    .configureHelp({ formatHelp: (command) => formatHelp(command, { full, width: hooks.columns, colored: true }) });
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

const rootNotes: readonly Note[] = [
  'To connect, do one of these, then check it with gateway-cli doctor:',
  [
    ['One key', 'export GEMINI_API_KEY=…, or ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY'],
    ['Several keys', 'add --service gemini, anthropic, openai or openrouter'],
    ['This machine', 'add --service ollama -m <model>, or --service openai --base-url http://127.0.0.1:<port>'],
    ['Your gateway', 'gateway-cli config init asks for its URL and key, and saves them'],
    ['No account', 'add --offline to text, image, chat or batch'],
  ],
  '',
  `For more, run gateway-cli help <command> or gateway-cli help <topic>. Topics: ${topics.join(', ')}.`,
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
    const action = (await entry.load(openSilent))(command);
    addFlags(command, 'Everywhere', rootFlags);
    command.action(() => at.hooks.act(action, command));
  }
}
