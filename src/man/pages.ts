import type { Command } from 'commander';
import { openSilent } from '../cli/cli.ts';
import { type Tree, tree } from '../cli/command-tree.ts';
import { commandRows, flagSections, fullName, orDefault, usageOf } from '../cli/help/help.ts';
import { examplesOf, notesOf } from '../cli/flags/flag.ts';
import { exampleText } from '../cli/help/help-layout.ts';
import { topics, topicSummaries } from '../cli/help/topics.ts';
import { blocksOf } from '../terminal/markdown.ts';
import { version } from '../version.ts';
import { bold, italic, paragraph, roffOf, roffText, section, term, verbatim } from './roff.ts';

/** Columns of an example in a terminal of 80, inside the margins of its page. */
const exampleWidth = 68;

/** Topics that every command needs. */
const commonTopics = new Set(['exit-codes', 'output', 'settings']);

/** The man pages of the program, of each command (section 1) and of each topic (section 7), by their file names. */
export async function manPages(textOf: (topic: string) => string): Promise<Map<string, string>> {
  const pages = await Promise.all([[], ...pathsOf(tree)].map(commandPage));
  return new Map([...pages, ...topics.map((topic) => topicPage(topic, textOf(topic)))]);
}

/** The words of every command and group. */
function pathsOf(commands: Tree): string[][] {
  return Object.entries(commands)
    .filter(([name]) => !name.startsWith('__'))
    .flatMap(([name, { commands: inside = {} }]) => [[name], ...pathsOf(inside).map((words) => [name, ...words])]);
}

/** What `--help --verbose` prints, as a page. */
async function commandPage(words: readonly string[]): Promise<[file: string, text: string]> {
  const program = await openSilent(words);
  const command = words.reduce<Command>((at, word) => at.commands.find((sub) => sub.name() === word) ?? at, program);
  const shown = orDefault(command);
  const names = fullName(command);
  const about = command.description().replace(/\.$/, '');
  const examples = examplesOf(shown).flatMap((line) => exampleText(line, exampleWidth).map((part) => part.slice(2)));
  const commands = commandRows(command).map(([sub, text]) => [reference([...words, sub], 1), text] as const);
  const notes = notesOf(shown).filter((note) => note !== '');
  return page(words, 1, about.charAt(0).toLowerCase() + about.slice(1), [
    section('Synopsis'),
    bold(names) + roffText(usageOf(command).slice(names.length)),
    section('Description'),
    roffText(`${about.charAt(0).toUpperCase()}${about.slice(1)}.`),
    ...notes.flatMap((note) =>
      typeof note === 'string'
        ? paragraph(roffText(note))
        : note.flatMap(([name, text]) => term(bold(name), roffText(text))),
    ),
    ...listOf('Commands', commands),
    ...listOf(
      'Topics',
      words.length > 0 ? [] : Object.entries(topicSummaries).map(([name, text]) => [reference([name], 7), text]),
    ),
    section('Options'),
    ...flagSections(shown, { full: true }).flatMap(({ heading, rows }) => [
      `.SS ${roffText(heading)}`,
      ...rows.flatMap(([flags, text]) => term(flagText(flags), roffText(text))),
    ]),
    ...(examples.length === 0 ? [] : [section('Examples'), ...verbatim(examples)]),
  ]);
}

function topicPage(topic: string, text: string): [file: string, text: string] {
  // The title is the name of the page.
  const [, ...blocks] = blocksOf(text);
  return page([topic], 7, topicSummaries[topic] ?? '', [section('Description'), ...roffOf(blocks)]);
}

function page(words: readonly string[], number: 1 | 7, summary: string, lines: readonly string[]): [string, string] {
  const name = pageName(words);
  const text = [
    // Shell words are not hyphenated, and the spaces between them are not stretched.
    '.nr HY 0',
    // No date: the same source makes the same page.
    `.TH ${roffText(name.toUpperCase())} ${number} "" "gateway\\-cli ${version}" "gateway\\-cli"`,
    '.ad l',
    section('Name'),
    `${roffText(name)} \\- ${roffText(summary)}`,
    ...lines,
    section('See also'),
    seeAlso(words, number),
  ];
  return [`${name}.${number}`, `${text.join('\n')}\n`];
}

/** `gateway-cli-image-gen` */
function pageName(words: readonly string[]): string {
  return ['gateway-cli', ...words].join('-');
}

function reference(words: readonly string[], number: 1 | 7): string {
  return `${bold(pageName(words))}(${number})`;
}

function listOf(title: string, rows: readonly (readonly [marked: string, text: string])[]): string[] {
  return rows.length === 0 ? [] : [section(title), ...rows.flatMap(([marked, text]) => term(marked, roffText(text)))];
}

/** `-m, --model <id>` with its names bold and its value in italics. */
function flagText(flags: string): string {
  const pieces = flags.match(/--?\w[\w-]*|<[^>]*>|[^-<]+/g) ?? [];
  return pieces
    .map((piece) => (piece.startsWith('-') ? bold(piece) : piece.startsWith('<') ? italic(piece) : roffText(piece)))
    .join('');
}

/** The program, the command and the topic that the first word names, and the common topics; without the page itself. */
function seeAlso(words: readonly string[], number: 1 | 7): string {
  const [first = ''] = words;
  const named = topics.filter((topic) => topic === first || commonTopics.has(topic));
  const references = [[], ...(first in tree ? [[first]] : [])].map((path) => reference(path, 1));
  const all = [...references, ...named.map((topic) => reference([topic], 7))];
  return all.filter((other) => other !== reference(words, number)).join(', ');
}
