import { Command, CommanderError } from 'commander';
import { type Tree, tree } from './command-tree.ts';
import { findCommandWords } from './command-words.ts';
import type { Action, OwnDocument } from './context.ts';
import { addFlags, setExamples, setNotes } from './flags/flag.ts';
import { rootFlags } from './flags/shared.ts';
import { toCommandFacts } from './help/facts.ts';
import { formatHelp, topics } from './help/help.ts';
import type { Note } from './help/types.ts';
import { firstServiceNames, services, version } from '../library/index.ts';
import { helpDocument } from './help/help-document.ts';

/** The functions that commander calls. */
export interface CommanderHooks {
  act(action: Action, command: Command): Promise<void>;
  /** Width of the help. */
  readonly columns: number;
  isColored(stream: 'stdout' | 'stderr'): boolean;
  out(text: string): void;
  err(text: string): void;
}

const silent: CommanderHooks = {
  columns: 80,
  isColored: () => false,
  act: async () => undefined,
  out: () => undefined,
  err: () => undefined,
};

/** The program for some words, without running a command: to examine its flags. */
export const openSilent = (words: readonly string[]): Promise<Command> => buildProgram(words, silent);

/** The program with the names of all commands; only commands named in argv have their flags loaded. */
export async function buildProgram(argv: readonly string[], hooks: CommanderHooks): Promise<Command> {
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
      getOutHasColors: () => hooks.isColored('stdout'),
      getErrHasColors: () => hooks.isColored('stderr'),
    })
    // Commander removes the colour if the stream gets none.
    .configureHelp({
      formatHelp: (command) => formatHelp(toCommandFacts(command), { full, width: hooks.columns, colored: true }),
    });
  program.exitOverride((error) => throwFound(error, program));
  setExamples(program, rootExamples);
  setNotes(program, rootNotes);
  addFlags(program, 'Everywhere', rootFlags);
  const words = findCommandWords(argv);
  // Commander has a command help in each group: `image help gen`.
  await addTree(program, tree, words[0] === 'help' ? words : words.filter((word) => word !== 'help'), hooks);
  return program;
}

const rootExamples = [
  'gateway-cli text --offline "three names for a lighthouse cat"',
  'gateway-cli image gen --prompt "a lighthouse at dusk" --aspect 3:2 -o dusk.png',
  'git diff | gateway-cli chat "write a commit message"',
];

const vendors = firstServiceNames.filter((name) => services[name].keyVariables.length > 0);
const [firstVariable, ...otherVariables] = vendors.map((name) => services[name].keyVariables[0]);

const rootNotes: readonly Note[] = [
  'To connect, do one of these, then check it with gateway-cli doctor:',
  [
    ['One key', `export ${firstVariable}=…, or ${otherVariables.join(', ')}`],
    ['Several keys', `add --service ${vendors.slice(0, -1).join(', ')} or ${vendors.at(-1)}`],
    ['This machine', 'add --service ollama -m <model>, or --service openai --base-url http://127.0.0.1:<port>'],
    ['Other services', 'gateway-cli help services lists all that have a name, such as Groq, Mistral and Azure'],
    ['Your gateway', 'gateway-cli config init asks for its URL and key, and saves them'],
    ['No account', 'add --offline to text, image, chat or batch'],
  ],
  '',
  `For more, run gateway-cli help <command> or gateway-cli help <topic>. Topics: ${topics.join(', ')}.`,
];

/** The flags of the program, in a command: all scripts need the first two, so its short help has them, too. */
function addRootFlags(command: Command): void {
  const { json, quiet, ...others } = rootFlags;
  addFlags(command, 'Output', { json, quiet });
  addFlags(command, 'Everywhere', others);
}

async function addTree(
  parent: Command,
  entries: Tree,
  [word, ...rest]: readonly string[],
  hooks: CommanderHooks,
): Promise<void> {
  for (const [name, entry] of Object.entries(entries)) {
    const command = parent
      .command(name, { hidden: entry.hidden ?? false, isDefault: entry.isDefault ?? false })
      .summary(entry.summary)
      .description(entry.summary)
      .helpOption('-h, --help', 'print this help')
      .enablePositionalOptions();
    if (entry.heading) command.helpGroup(entry.heading);
    if (name !== word && !entry.isDefault) continue;
    command.exitOverride((error) => throwFound(error, command));
    if (entry.commands) {
      addRootFlags(command);
      command.usage('<command> [words…] [flags]');
      setExamples(command, entry.examples ?? []);
      await addTree(command, entry.commands, rest, hooks);
    }
    if (!entry.load) continue;
    const action = (await entry.load())(command, openSilent);
    addRootFlags(command);
    command.action(() => hooks.act(action, command));
  }
}

/** Whether commander only printed help or the version. */
export function isShown({ exitCode }: CommanderError): boolean {
  return exitCode === 0;
}

/** The command in which commander found each mistake, or printed its help. */
const places = new WeakMap<CommanderError, Command>();

/** Remembers the command in which commander found a mistake, and throws it. */
function throwFound(error: CommanderError, command: Command): never {
  places.set(error, command);
  throw error;
}

/** Help or the version as a document, for `--json`. */
export function shownDocument(error: CommanderError, text: string): OwnDocument {
  const command = places.get(error);
  if (error.code === 'commander.version' || command === undefined)
    return { schema: 'gateway-cli/version@1', version: text.trim() };
  return helpDocument(command, text);
}

/** Throws the error of parsing, explained if argv has a mistake. Returns if help or the version was printed. */
export async function throwParsed(error: unknown, argv: readonly string[]): Promise<void> {
  if (!(error instanceof CommanderError)) throw error;
  if (isShown(error)) return;
  const { explainMistake } = await import('./mistake.ts');
  throw explainMistake(error, { argv, command: places.get(error) });
}

/** Throws GatewayError usage for a flag with a dash that a text editor made: as a prompt it would be paid for, and a key would be sent. */
export async function refuseOtherDash(argv: readonly string[], command: Command): Promise<void> {
  if (!command.args.some((word) => /^[\u2010-\u2015\u2212]/.test(word))) return;
  const { explainOtherDash } = await import('./mistake.ts');
  const error = explainOtherDash({ argv, command });
  if (error) throw error;
}
