import type { CommandFacts } from './types.ts';

/** A place of the help that has some words, as two columns: the words to type, and the sentence with the words. */
type HelpHit = readonly [typed: string, text: string];

/** Lines of one topic that a search shows at most. */
const linesOfTopic = 3;

/** Finds words, of which the last may be a beginning, in names and texts of commands and flags, and in topics by their names. */
export function searchHelp(
  words: string,
  program: CommandFacts,
  topics: readonly (readonly [name: string, text: string])[],
): HelpHit[] {
  const has = (text: string): boolean => plainWords(text).includes(plainWords(words).trimEnd());
  const ofCommands = searchCommand(program, has);
  // Commands share flags: the first one shows them.
  const unlike = ofCommands.filter(([, text], at) => ofCommands.findIndex(([, other]) => other === text) === at);
  const ofTopics = topics.flatMap(([name, text]) => {
    const lines = text.split('\n').filter(has).slice(0, linesOfTopic);
    return lines.map((line): HelpHit => [`gateway-cli help ${name}`, line.replaceAll(/^[#|*\s-]+|[|\s]+$/g, '')]);
  });
  return [...unlike, ...ofTopics];
}

function searchCommand(command: CommandFacts, has: (text: string) => boolean): HelpHit[] {
  const own: HelpHit[] = has(command.summary) ? [[command.name, command.summary]] : [];
  const flags = command.flags
    .filter((flag) => !flag.hidden && (has(flag.flags) || has(flag.text)))
    .map((flag): HelpHit => [`${command.name} ${flag.flags.replace(/^-\w, /, '')}`, flag.text]);
  return [...own, ...flags, ...command.commands.flatMap((sub) => searchCommand(sub, has))];
}

/** ` dry run ` of `--dry-run`: words in small letters, each after a blank. */
function plainWords(text: string): string {
  return ` ${text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .join(' ')} `;
}
