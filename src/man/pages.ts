import type { Command } from 'commander';
import { openSilent } from '../cli/cli.ts';
import { type Tree, tree } from '../cli/command-tree.ts';
import {
  commandRows,
  examplesOf,
  type FlagSection,
  flagSections,
  namesOf,
  type Note,
  notesOf,
  orDefault,
  usageOf,
} from '../cli/help/help.ts';
import { exampleText } from '../cli/help/help-layout.ts';
import { topics, topicSummaries } from '../cli/help/topics.ts';
import { blocksOf } from '../terminal/markdown.ts';
import { version } from '../version.ts';
import { roffOf, bold, italic, paragraph, plain, section, subsection, term, verbatim } from './roff.ts';

/** Columns of an example in a terminal of 80, behind the margins of its page. */
const exampleWidth = 68;

/** Topics that every command needs. */
const commonTopics = new Set(['exit-codes', 'output', 'settings']);

type Section = 1 | 7;
type Page = [file: string, text: string];

/** The man page of the program, of each command and of each topic, by its file name. */
export async function manPages(textOf: (topic: string) => string): Promise<Map<string, string>> {
  const commands = [[], ...pathsOf(tree)];
  const pages = await Promise.all(commands.map(commandPage));
  return new Map([...pages, ...topics.map((topic) => topicPage(topic, textOf(topic)))]);
}

/** The words of every command and group. */
function pathsOf(commands: Tree): string[][] {
  return Object.entries(commands)
    .filter(([name]) => !name.startsWith('__'))
    .flatMap(([name, { commands: inside = {} }]) => [[name], ...pathsOf(inside).map((words) => [name, ...words])]);
}

async function commandPage(words: readonly string[]): Promise<Page> {
  const program = await openSilent(words);
  const command = words.reduce<Command>((at, word) => at.commands.find((sub) => sub.name() === word) ?? at, program);
  const shown = orDefault(command);
  const name = pageName(words);
  return pageOf({ name, number: 1, summary: fragment(command.description()) }, [
    section('Synopsis'),
    synopsis(command),
    section('Description'),
    plain(sentence(command.description())),
    ...notesOf(shown).flatMap(noteLines),
    ...listOf(
      'Commands',
      commandRows(command).map(([sub, text]) => [reference([...words, sub], 1), text]),
    ),
    ...listOf(
      'Topics',
      words.length > 0 ? [] : topics.map((topic) => [reference([topic], 7), topicSummaries[topic] ?? '']),
    ),
    section('Options'),
    ...flagSections(shown, { full: true }).flatMap(optionLines),
    ...exampleLines(examplesOf(shown)),
    ...seeAlso(words, 1),
  ]);
}

function topicPage(topic: string, text: string): Page {
  // The title is the name of the page.
  const [, ...blocks] = blocksOf(text);
  return pageOf({ name: pageName([topic]), number: 7, summary: topicSummaries[topic] ?? '' }, [
    section('Description'),
    ...roffOf(blocks),
    ...seeAlso([topic], 7),
  ]);
}

function pageOf(
  { name, number, summary }: { name: string; number: Section; summary: string },
  lines: readonly string[],
): Page {
  const text = [
    // Words of shells are not hyphenated, and blanks between them not stretched.
    '.nr HY 0',
    // No date: the same source makes the same page.
    `.TH ${plain(name.toUpperCase())} ${number} "" "gateway\\-cli ${version}" "gateway\\-cli"`,
    '.ad l',
    section('Name'),
    `${plain(name)} \\- ${plain(summary)}`,
    ...lines,
  ];
  return [`${name}.${number}`, `${text.join('\n')}\n`];
}

/** `gateway-cli-image-gen` */
function pageName(words: readonly string[]): string {
  return ['gateway-cli', ...words].join('-');
}

function reference(words: readonly string[], number: Section): string {
  return `${bold(pageName(words))}(${number})`;
}

function synopsis(command: Command): string {
  const names = namesOf(command);
  return bold(names) + plain(usageOf(command).slice(names.length));
}

/** A sentence as `prompt in, image files out`. */
function fragment(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1).replace(/\.$/, '')}`;
}

/** And the other way round. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;
}

function noteLines(note: Note): string[] {
  if (typeof note !== 'string') return note.flatMap(([name, text]) => term(bold(name), [plain(text)]));
  return note === '' ? [] : paragraph(plain(note));
}

function listOf(title: string, rows: readonly (readonly [marked: string, text: string])[]): string[] {
  return rows.length === 0 ? [] : [section(title), ...rows.flatMap(([marked, text]) => term(marked, [plain(text)]))];
}

function optionLines({ heading, rows }: FlagSection): string[] {
  return [subsection(heading), ...rows.flatMap(([flags, text]) => term(flagText(flags), [plain(text)]))];
}

/** `-m, --model <id>` with its names bold and its value in italics. */
function flagText(flags: string): string {
  const pieces = flags.match(/--?\w[\w-]*|<[^>]*>|[^-<]+/g) ?? [];
  return pieces
    .map((piece) => (piece.startsWith('-') ? bold(piece) : piece.startsWith('<') ? italic(piece) : plain(piece)))
    .join('');
}

function exampleLines(examples: readonly string[]): string[] {
  const lines = examples.flatMap((example) => exampleText(example, exampleWidth).map((line) => line.slice(2)));
  return lines.length === 0 ? [] : [section('Examples'), ...verbatim(lines)];
}

/** The program, the command and the topic that the first word names, and what every reader needs; but not the page itself. */
function seeAlso(words: readonly string[], number: Section): string[] {
  const [first = ''] = words;
  const references = [
    reference([], 1),
    ...(first in tree ? [reference([first], 1)] : []),
    ...topics.filter((topic) => topic === first || commonTopics.has(topic)).map((topic) => reference([topic], 7)),
  ];
  const own = reference(words, number);
  return [section('See also'), references.filter((other) => other !== own).join(', ')];
}
