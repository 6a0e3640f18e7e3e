import { findCommand, formatHelp, topics } from './cli/help/help.ts';
import { unpackFacts } from './cli/help/packed.ts';
import type { CommandFacts } from './cli/help/types.ts';
import { completeLine, formatCompletion, readTypedLine } from './commands/completion/complete-line.ts';

/**
 * What the program would print in a pipe, where the facts of its commands and its pages are enough for that: help, and most TABs.
 * Undefined for all other words. `readShipped` gives the text of a file of the package. It is a bundle of its own, and takes a
 * tenth of the time in which the program starts.
 */
export function answerQuickly(
  [word, ...rest]: readonly string[],
  readShipped: (path: string) => string,
): string | undefined {
  const readProgram = () => unpackFacts(readShipped('dist/commands.json'));
  if (word === '__complete') return complete(rest, readProgram());
  const names = word === 'help' ? rest : [word ?? '', ...rest.slice(0, -1)];
  const [topic = ''] = names;
  const page =
    word === 'help' && rest.length === 1 && topics.includes(topic) ? readShipped(`src/help/${topic}.md`) : '';
  const command = findByNames(readProgram(), names);
  const help = command === undefined ? '' : formatHelp(command, { full: false, width: 80, colored: false });
  return [help, page].filter((text) => text !== '').join('\n') || undefined;
}

function complete([shell = '', ...rest]: readonly string[], program: CommandFacts): string | undefined {
  const line = readTypedLine([shell, ...(rest[0] === '--' ? rest.slice(1) : rest)]);
  const found = completeLine(program, line.words);
  return found.listed === undefined ? formatCompletion(found, line) : undefined;
}

function findByNames(program: CommandFacts, names: readonly string[]): CommandFacts | undefined {
  return names.reduce<CommandFacts | undefined>((at, name) => at && findCommand(at, name), program);
}
