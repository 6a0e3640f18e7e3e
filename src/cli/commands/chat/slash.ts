import { readdir, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { exportMarkdown, lastSystem } from '../../chat/message.ts';
import { describeWriteError, findOwn, removeFile, shellWord, usageError } from '../../../library/index.ts';
import { twoColumns, wrapText } from '../../help/help.ts';
import { readAttachments, openInputImages } from '../../input/attachments.ts';
import { requireNetwork } from '../../run/fetch-urls.ts';
import { isUrl, shownUrl } from '../../input/input-files.ts';
import { sessionPath } from '../../chat/session-path.ts';
import { lockedSession } from './session.ts';
import { retryPrompt, askPrompt, type Talk } from './talk.ts';
import type { Context } from '../../context.ts';
import type { EditorOptions } from '../../terminal/line-editor.ts';

interface SlashCommand {
  /** The line in `/help`. */
  text: string;
  /** Returns false to leave. Throws GatewayError usage. */
  run(argument: string, talk: Talk): Promise<boolean | void>;
}

/** The commands of the interactive mode. */
const slashCommands: Readonly<Record<string, SlashCommand>> = {
  help: { text: 'this list', run: showHelp },
  model: { text: '<id>: ask another model; without an id: which one is asked', run: changeModel },
  system: {
    text: '<text>: the system instruction from now on; - removes it; without a text: the present one',
    run: changeSystem,
  },
  image: {
    text: '<path|url>: send a picture along with the next prompt',
    run: (typed, talk) => addFiles('image', typed, talk),
  },
  attach: {
    text: '<path|url>: send a file along with the next prompt',
    run: (typed, talk) => addFiles('attach', typed, talk),
  },
  new: { text: 'begin a new conversation; this one stays where it is kept', run: startOver },
  save: {
    text: '<name>: keep it as a session of that name, or in <file.jsonl>; <file.md>: write Markdown',
    run: saveAs,
  },
  retry: {
    text: 'ask the last prompt again; the new answer takes the place of the old one',
    run: (_, talk) => retryPrompt(talk),
  },
  exit: { text: 'leave (also Ctrl-D, or Ctrl-C twice)', run: async () => false },
};

/**
 * Does what an entry asks for: a slash in front makes a command, a blank before the slash a prompt. False: leave. Throws
 * GatewayError.
 */
export async function takeEntry(text: string, talk: Talk): Promise<boolean> {
  if (text.trim() === '') return true;
  const match = /^\/(\S*)(?:\s+([\s\S]*))?$/.exec(text);
  if (!match) return askPrompt(text.startsWith(' /') ? text.slice(1) : text, talk);
  const [, typed = '', argument = ''] = match;
  const name = typed === 'quit' ? 'exit' : typed;
  const command = findOwn(slashCommands, name);
  if (command) return (await command.run(argument.trim(), talk)) !== false;
  await talk.context.ui.note(`there is no /${name}; /help lists what there is`);
  return true;
}

const more = [
  String.raw`A line that ends with \ continues in the next; pasted lines are one prompt.`,
  'Tab completes commands and paths. Ctrl-C stops the answer. A blank before / makes it a prompt.',
];

async function showHelp(_: string, { context: { io } }: Talk): Promise<void> {
  const { columns } = io.stderr;
  const rows = Object.entries(slashCommands).map(([name, { text }]): [string, string] => [`/${name}`, text]);
  const rest = more.flatMap((text) => wrapText(text, columns - 2)).map((line) => `  ${line}`);
  await io.stderr.write(`${[...twoColumns(rows, columns), ...rest].join('\n')}\n`);
}

async function changeModel(id: string, talk: Talk): Promise<void> {
  const { settings } = talk;
  if (id !== '') {
    const { aliases, origins } = settings;
    const named = findOwn(aliases, id) ?? id;
    const typed = { kind: 'flag', name: '/model', from: '/model' } as const;
    talk.settings = { ...settings, model: named, origins: { ...origins, model: typed } };
  }
  await talk.context.ui.note(`model: ${talk.settings.model}`);
}

async function changeSystem(text: string, talk: Talk): Promise<void> {
  if (text !== '') talk.system = text === '-' ? null : text;
  const { system, messages } = talk;
  const inForce = system === null ? undefined : (system ?? lastSystem(messages));
  await talk.context.ui.note(`system: ${inForce ?? 'none'}`);
}

/**
 * Checks files now, so that a wrong path is an error before the prompt is typed; a URL is fetched with the prompt. Ctrl-C ends the
 * reading of a pipe. Either all of the files are sent, or none.
 */
async function addFiles(kind: 'image' | 'attach', typed: string, talk: Talk): Promise<void> {
  const { context, settings, flags, editor } = talk;
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const copies = new Map<string, string>();
  const reading = { context, deadline: () => ({ signal }), copies };
  const files = await droppedFiles(typed, context.io);
  editor.onInterrupt(() => stop.abort());
  try {
    for (const file of files) {
      const read = kind === 'image' ? openInputImages : readAttachments;
      if (isUrl(file)) requireNetwork([{ flag: `/${kind}`, typed: file }], settings, flags);
      await read([file], reading, { flag: `/${kind}` });
      for (const [path, copy] of copies) talk.copies.set(path, copy);
    }
  } catch (error) {
    if (context.signal.aborted || !stop.signal.aborted) throw error;
    return await context.ui.note(`stopped; ${typed} is not sent`);
  } finally {
    editor.onInterrupt(undefined);
  }
  if (kind === 'image') talk.images = [...talk.images, ...files];
  else talk.attach = [...talk.attach, ...files];
  const names = [...talk.images, ...talk.attach].map((file) => (isUrl(file) ? shownUrl(new URL(file)) : file));
  await context.ui.note(
    names.length === 0
      ? 'nothing yet: /image photo.jpg, or /attach report.pdf'
      : `with the next prompt: ${names.join(', ')}`,
  );
}

/**
 * The files that were typed, or dropped onto the terminal, which types them as words of a shell: `'a (1).png' b\ c.png`. If a
 * file has exactly the typed name, it comes first.
 */
async function droppedFiles(typed: string, { cwd, platform }: Context['io']): Promise<string[]> {
  if (typed === '') return [];
  const place = (word: string): string => (isAddress(word) ? word : expandPath(word, cwd));
  const whole = place(typed);
  if (await isThere(whole)) return [whole];
  const words = splitShellWords(typed, platform === 'win32').map(place);
  const found = await Promise.all(words.map(async (word) => isAddress(word) || isThere(word)));
  return words.length === 1 || (words.length > 1 && found.every(Boolean)) ? words : [whole];
}

function isAddress(word: string): boolean {
  return isUrl(word) || /^file:\/\//i.test(word);
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The words of a line as a shell reads them: quotes, and a backslash before a character, which Windows has in paths. */
function splitShellWords(line: string, isWindows: boolean): string[] {
  const word = isWindows ? /(?:'[^']*'|"[^"]*"|[^\s'"])+/g : /(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g;
  const part = isWindows ? /'([^']*)'|"([^"]*)"/g : /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g;
  const unescaped = (quoted: string): string => (isWindows ? quoted : quoted.replaceAll(/\\(["\\$`])/g, '$1'));
  return [...line.matchAll(word)].map(([found]) =>
    found.replaceAll(
      part,
      (_all, single?: string, double?: string, escaped?: string) =>
        single ?? (double === undefined ? (escaped ?? '') : unescaped(double)),
    ),
  );
}

/** The model, the system instruction and the flags stay as they are. */
async function startOver(_: string, talk: Talk): Promise<void> {
  const { session } = talk;
  talk.messages = [];
  talk.session = undefined;
  talk.last = undefined;
  talk.images = [];
  talk.attach = [];
  await talk.context.ui.note(
    `a new conversation${session?.file ? `; the one before is kept as ${session.label}` : ''}`,
  );
}

async function saveAs(typed: string, talk: Talk): Promise<void> {
  const { context, messages, session } = talk;
  const { cwd } = context.io;
  if (typed === '') throw usageError('/save needs a name', 'for example: /save trip, or /save trip.md');
  if (messages.length === 0) throw usageError('there is nothing to keep yet', 'ask something first');
  if (typed.endsWith('.md')) return saveMarkdown(typed, talk);
  const path = await sessionPath(typed.startsWith('~') ? expandPath(typed, cwd) : typed, cwd);
  if (path === session?.file?.path) return context.ui.note(`it is kept in ${typed} already`);
  const file = await lockedSession(path, context);
  if (file.messages.length > 0) {
    await file.close();
    throw usageError(
      `there is a session ${typed} already`,
      `another name, or continue it: gateway-cli chat --session ${shellWord(typed)}`,
    );
  }
  await file.append(messages);
  await session?.file?.close();
  if (session?.file && session.isFresh) await removeFile(session.file.path);
  talk.session = { file, label: typed };
  await context.ui.note(`kept as ${typed}`);
}

async function saveMarkdown(typed: string, { context, messages }: Talk): Promise<void> {
  const path = expandPath(typed, context.io.cwd);
  try {
    await writeFile(path, exportMarkdown('Conversation', messages), { flag: 'wx' });
  } catch (error) {
    throw usageError(
      `${JSON.stringify(typed)} cannot be written: ${describeWriteError(error)}`,
      'choose another name',
      error,
    );
  }
  await context.ui.note(`written: ${path}`);
}

/** A terminal would obey control characters in a name. */
const harmless = /^[^\p{Cc}\p{Bidi_Control}]+$/u;

/** Completes a line of the interactive mode: commands, and the file names after `/image`, `/attach` and `/save`. */
export async function completeSlash(line: string, cwd: string): ReturnType<EditorOptions['complete']> {
  const file = /^\/(?:image|attach|save)\s+(.*)$/.exec(line);
  if (file) return completePath(file[1] ?? '', cwd);
  if (!/^\/\S*$/.test(line)) return { hits: [], part: line };
  const names = Object.keys(slashCommands).map((name) => `/${name}`);
  return { hits: names.filter((name) => name.startsWith(line)).map((name) => `${name} `), part: line };
}

async function completePath(typed: string, cwd: string): ReturnType<EditorOptions['complete']> {
  const cut = typed.lastIndexOf('/') + 1;
  const [folder, begun] = [typed.slice(0, cut), typed.slice(cut)];
  const entries = await readdir(expandPath(folder, cwd), { withFileTypes: true }).catch(() => []);
  const hits = entries
    .filter(({ name }) => name.startsWith(begun) && harmless.test(name) && (begun !== '' || !name.startsWith('.')))
    .map((entry) => folder + entry.name + (entry.isDirectory() ? '/' : ''));
  return { hits: hits.toSorted(), part: typed };
}

/** The absolute path of a file typed into the interactive mode: no shell expands `~` there. */
function expandPath(typed: string, cwd: string): string {
  if (typed === '~' || typed.startsWith('~/')) return join(homedir(), typed.slice(1));
  return isAbsolute(typed) ? typed : resolve(cwd, typed);
}
