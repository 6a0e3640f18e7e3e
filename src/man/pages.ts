import { openSilent } from '../cli/cli.ts';
import { type Tree, tree } from '../cli/command-tree.ts';
import { toCommandFacts } from '../cli/help/facts.ts';
import {
  commandRows,
  exampleText,
  findCommand,
  flagSections,
  formatUsage,
  orDefault,
  topics,
  topicSummaries,
} from '../cli/help/help.ts';
import type { CommandFacts } from '../cli/help/types.ts';
import { version } from '../version.ts';

/** Columns of an example in a terminal of 80, inside the margins of its page. */
const exampleWidth = 68;

/** Topics that every command needs. */
const commonTopics = new Set(['exit-codes', 'output', 'settings']);

/** The man pages of the program and of each command, by their file names. */
export async function manPages(): Promise<Map<string, string>> {
  return new Map(await Promise.all([[], ...listCommandPaths(tree)].map(commandPage)));
}

/** What help and completion know of the program and of each command that is not hidden, with all flags. */
export async function describeProgram(words: readonly string[] = []): Promise<CommandFacts> {
  const facts = await readCommandFacts(words);
  const shown = facts.commands.filter(({ hidden }) => !hidden);
  const commands = shown.map(({ name }) => describeProgram(name.split(' ').slice(1)));
  return { ...facts, commands: await Promise.all(commands) };
}

/** A command with its flags. */
async function readCommandFacts(words: readonly string[]): Promise<CommandFacts> {
  return words.reduce((at, word) => findCommand(at, word) ?? at, toCommandFacts(await openSilent(words)));
}

/** The words of every command and group. */
function listCommandPaths(commands: Tree): string[][] {
  return Object.entries(commands)
    .filter(([name]) => !name.startsWith('__'))
    .flatMap(([name, { commands: inside = {} }]) => [
      [name],
      ...listCommandPaths(inside).map((words) => [name, ...words]),
    ]);
}

/** What `--help --verbose` prints, as a page. */
async function commandPage(words: readonly string[]): Promise<[file: string, text: string]> {
  const command = await readCommandFacts(words);
  const shown = orDefault(command);
  const about = command.summary.replace(/\.$/, '');
  const examples = shown.examples.flatMap((line) => exampleText(line, exampleWidth).map((part) => part.slice(2)));
  const commands = commandRows(command).map(([sub, text]) => [reference([...words, sub]), text] as const);
  const notes = shown.notes.filter((note) => note !== '');
  return page(words, about.charAt(0).toLowerCase() + about.slice(1), [
    section('Synopsis'),
    boldText(command.name) + roffText(formatUsage(command).slice(command.name.length)),
    section('Description'),
    roffText(`${about.charAt(0).toUpperCase()}${about.slice(1)}.`),
    ...notes.flatMap((note) =>
      typeof note === 'string'
        ? ['.PP', escapeRoffLine(roffText(note))]
        : note.flatMap(([name, text]) => term(boldText(name), roffText(text))),
    ),
    ...definitionList('Commands', commands),
    ...definitionList(
      'Topics',
      words.length > 0 ? [] : Object.entries(topicSummaries).map(([name, text]) => [topicReference(name), text]),
    ),
    section('Options'),
    ...flagSections(shown, { full: true }).flatMap(({ heading, rows }) => [
      `.SS ${roffText(heading)}`,
      ...rows.flatMap(([flags, text]) => term(flagText(flags), roffText(text))),
    ]),
    ...(examples.length === 0 ? [] : [section('Examples'), ...verbatim(examples)]),
  ]);
}

function page(words: readonly string[], summary: string, lines: readonly string[]): [string, string] {
  const name = pageName(words);
  const text = [
    // Shell words are not hyphenated, and the spaces between them are not stretched.
    '.nr HY 0',
    // No date: the same source makes the same page.
    `.TH ${roffText(name.toUpperCase())} 1 "" "gateway\\-cli ${version}" "gateway\\-cli"`,
    '.ad l',
    section('Name'),
    `${roffText(name)} \\- ${roffText(summary)}`,
    ...lines,
    section('See also'),
    formatSeeAlso(words),
  ];
  return [`${name}.1`, `${text.join('\n')}\n`];
}

/** `gateway-cli-image-gen` */
function pageName(words: readonly string[]): string {
  return ['gateway-cli', ...words].join('-');
}

function reference(words: readonly string[]): string {
  return `${boldText(pageName(words))}(1)`;
}

function topicReference(topic: string): string {
  return boldText(`gateway-cli help ${topic}`);
}

function definitionList(title: string, rows: readonly (readonly [marked: string, text: string])[]): string[] {
  return rows.length === 0 ? [] : [section(title), ...rows.flatMap(([marked, text]) => term(marked, roffText(text)))];
}

/** `-m, --model <id>` with its names bold and its value in italics. */
function flagText(flags: string): string {
  return flags.replaceAll(/--?\w[\w-]*|<[^>]*>|[^-<]+/g, (piece) => {
    if (piece.startsWith('-')) return boldText(piece);
    return piece.startsWith('<') ? `\\fI${roffText(piece)}\\fR` : roffText(piece);
  });
}

/** The program, the command and the topic that the first word names, and the common topics; without the page itself. */
function formatSeeAlso(words: readonly string[]): string {
  const [first = ''] = words;
  const references = [[], ...(first in tree ? [[first]] : [])].map(reference);
  const named = topics.filter((topic) => topic === first || commonTopics.has(topic)).map(topicReference);
  return [...references.filter((other) => other !== reference(words)), ...named].join(', ');
}

/** Characters that roff reads as requests, or prints as others. */
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/** Text without markup. */
function roffText(text: string): string {
  return text.replaceAll(/[\\'`^~"-]|[^\n\x20-\x7e]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return escapes[character] ?? `\\[u${hex}]`;
  });
}

function boldText(text: string): string {
  return `\\fB${roffText(text)}\\fR`;
}

function section(title: string): string {
  return `.SH ${roffText(title.toUpperCase())}`;
}

/** A line of marked text. A dot at its beginning would be a request. */
function escapeRoffLine(marked: string): string {
  return marked.replace(/^\./, '\\&.');
}

/** A term and its meaning. */
function term(marked: string, meaning: string): string[] {
  return ['.TP', escapeRoffLine(marked), escapeRoffLine(meaning)];
}

/** Lines that stay as they are. */
function verbatim(lines: readonly string[]): string[] {
  return ['.PP', '.RS 2', '.EX', ...lines.map((text) => escapeRoffLine(roffText(text))), '.EE', '.RE'];
}
