import type { Command } from 'commander';
import { closest, type GatewayError, usageError } from '../../library/index.ts';
import { wantsColor } from '../terminal/style.ts';
import type { Action } from '../context.ts';
import { addFlags, quoteWord, setExamples, setNotes } from '../flags/flag.ts';
import { commandsNamed, describeTree, listedNames, toCommandFacts } from '../help/facts.ts';
import { findCommand, formatHelp, topics, topicSummaries, twoColumns } from '../help/help.ts';
import { searchHelp } from '../help/search.ts';
import { listShipped, readShipped } from '../shipped.ts';

/** The names that `help` takes. */
const helpNames = [...topics, ...listedNames];

/** Builds the program with the flags of the command that the words name. */
type OpenTree = (words: readonly string[]) => Promise<Command>;

/** The JSON Schemas of topics, which `--json` includes. */
const schemas: Readonly<Record<string, string>> = { output: 'result', settings: 'config' };

/** `help <topic>`. The name of a command was turned into its flag: `help text` is `text --help`. */
export function helpCommand(command: Command, openTree: OpenTree): Action {
  command.argument('<topic>', 'one of those below, or a word to look for').usage('<command, topic or word>');
  setExamples(command, ['gateway-cli help exit-codes', 'gateway-cli help image gen', 'gateway-cli help proxy']);
  setNotes(command, ['Topics:', Object.entries(topicSummaries)]);
  addFlags(command, 'Flags', {
    recipe: { flags: '--recipe <name>', text: 'print a file to copy, of the topic batch, ci or recipes' },
  });
  return async ({ io, root }, [name = ''], flags) => {
    const { recipe } = flags as { recipe?: string };
    if (!topics.includes(name)) {
      const text = await findInHelp(name, openTree, io.stdout.columns);
      return root.json ? { document: { schema: 'gateway-cli/help@1', text } } : io.stdout.write(text);
    }
    if (recipe !== undefined) return io.stdout.write(await readRecipe(name, recipe));
    const text = await readShipped(`src/cli/help/topics/${name}.md`);
    if (root.json) {
      const schema = schemas[name];
      const jsonSchema: unknown = schema && JSON.parse(await readShipped(`dist/${schema}.schema.json`));
      return { document: { schema: 'gateway-cli/help@1', text, jsonSchema } };
    }
    const { isTTY, columns: width } = io.stdout;
    const colored = wantsColor({ env: io.env, isTTY, color: root.color });
    // The help of a command with the same name comes first: `help batch` includes `batch --help`.
    const named = findCommand(toCommandFacts(await openTree([name])), name);
    const usage = named === undefined ? '' : `${formatHelp(named, { full: false, width, colored })}\n`;
    // A terminal gets the page laid out; a pipe, for `grep` and for programs, whole sentences and rows in one line.
    if (!isTTY && !colored) return io.stdout.write(usage + text);
    const { renderMarkdown } = await import('../terminal/markdown.ts');
    return io.stdout.write(usage + renderMarkdown(text, { width, colored }));
  };
}

/** The places of the help that have a word, as rows. Throws GatewayError usage if there are none. */
async function findInHelp(word: string, openTree: OpenTree, width: number): Promise<string> {
  // A mistyped name is refused first: with one wrong letter it may be another word, which the help could have anywhere.
  if (commandsNamed(word).length > 0 || closest(word, helpNames, 1) !== undefined) throw unknownTopic(word);
  const texts = topics.map(async (name) => [name, await readShipped(`src/cli/help/topics/${name}.md`)] as const);
  const found = searchHelp(word, await describeTree(openTree), await Promise.all(texts));
  if (found.length === 0) throw unknownTopic(word);
  return `${twoColumns(found, width).join('\n')}\n`;
}

function unknownTopic(name: string): GatewayError {
  const grouped = commandsNamed(name);
  const near = grouped.length > 0 ? grouped : [closest(name, helpNames)];
  const meant = near.map((found) => `gateway-cli help ${found}`).join(', or ');
  const hint =
    near[0] === undefined
      ? `topics: ${Object.keys(topicSummaries).join(', ')}; commands: gateway-cli help`
      : `did you mean: ${meant}`;
  return usageError(`there is no command or topic ${quoteWord(name)}`, hint);
}

/** A recipe of a topic, by its name without the extension. Throws GatewayError usage. */
async function readRecipe(topic: string, name: string): Promise<string> {
  const files = await listShipped('src/cli/help/topics/recipes/');
  const own = files.filter((file) => file.startsWith(`${topic}-`)).toSorted();
  const names = own.map((file) => file.slice(topic.length + 1).replace(/\.\w+$/, ''));
  const file = own[names.indexOf(name)];
  if (file !== undefined) return readShipped(`src/cli/help/topics/recipes/${file}`);
  if (own.length === 0) throw usageError(`the topic ${topic} has no recipes`, 'gateway-cli help ci --recipe github');
  const near = closest(name, names);
  const hint =
    near === undefined ? `it has: ${names.join(', ')}` : `did you mean: gateway-cli help ${topic} --recipe ${near}?`;
  throw usageError(`the topic ${topic} has no recipe ${quoteWord(name)}`, hint);
}
