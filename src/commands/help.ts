import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { usageError } from '../errors.ts';
import { closest } from '../settings/closest.ts';
import { writePaged } from '../terminal/pager.ts';
import { wantsColor } from '../terminal/style.ts';
import type { Action } from '../cli/context.ts';
import { quote } from '../cli/flags/values.ts';
import { formatHelp, setExamples, setNotes } from '../cli/help/help.ts';
import { topics, topicSummaries } from '../cli/help/topics.ts';

/** Two folders up from here is the package's root, and so it is from the bundle of this file. */
const shipped = new URL('../../', import.meta.url);

/** The JSON Schemas that topics describe; `--json` shows them beside the text. */
const schemas: Readonly<Record<string, string>> = { output: 'result', settings: 'config' };

/** `help <topic>`. The help of a command is printed by commander: `help text` is `text --help`. */
export function helpCommand(command: Command, openProgram: (words: readonly string[]) => Promise<Command>): Action {
  command.argument('<topic>', 'one of those below').usage('<command or topic>');
  setExamples(command, ['gateway-cli help exit-codes', 'gateway-cli help image gen']);
  setNotes(command, ['Topics:', Object.entries(topicSummaries)]);
  return async ({ io, root, report }, [name = '']) => {
    if (!topics.includes(name)) throw unknownTopic(name);
    const text = await readShipped(`src/help/${name}.md`);
    if (root.json) {
      report.own = { schema: 'gateway-cli/help@1', text, jsonSchema: await schemaOf(name) };
      return;
    }
    const { isTTY, columns: width } = io.stdout;
    const colored = wantsColor({ env: io.env, isTTY, color: root.color });
    // A command of the same name comes first: `help batch` is `batch --help` too.
    const named = (await openProgram([name])).commands.find((found) => found.name() === name);
    const flags = named === undefined ? '' : `${formatHelp(named, { full: false, width, colored })}\n`;
    const { blocksOf, renderMarkdown } = await import('../terminal/markdown.ts');
    await writePaged(flags + renderMarkdown(blocksOf(text), { width, colored }), io);
  };
}

async function schemaOf(topic: string): Promise<unknown> {
  const name = schemas[topic];
  return name && JSON.parse(await readShipped(`dist/${name}.schema.json`));
}

function readShipped(path: string): Promise<string> {
  return readFile(new URL(path, shipped), 'utf8');
}

function unknownTopic(name: string): Error {
  const near = closest(name, topics);
  const hint = near === undefined ? `topics are ${topics.join(', ')}` : `did you mean: gateway-cli help ${near}?`;
  return usageError(`${quote(name)} is not a command or a topic`, hint);
}
