import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { lastSystem } from '../../chat/message.ts';
import { findOwn, removeFile, shellWord, usageError } from '../../../library/index.ts';
import { twoColumns, wrapText } from '../../help/help.ts';
import { readAttachments, openInputImages } from '../../input/attachments.ts';
import { requireNetwork } from '../../run/fetch-urls.ts';
import { isUrl, shownUrl } from '../../input/input-files.ts';
import { sessionPath } from '../../chat/session-path.ts';
import { lockedSession } from './session.ts';
import { askPrompt, type Talk } from './talk.ts';
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
    text: '<name>: keep it as a session of that name, or in <file.jsonl>',
    run: saveAs,
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
  'Tab completes commands. Ctrl-C stops the answer. A blank before / makes it a prompt.',
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

/** Checks a file now, so that a wrong path is an error before the prompt is typed; a URL is fetched with the prompt. */
async function addFiles(kind: 'image' | 'attach', typed: string, talk: Talk): Promise<void> {
  const { context, settings, flags } = talk;
  const files =
    typed === '' ? [] : [isUrl(typed) || /^file:\/\//i.test(typed) ? typed : expandPath(typed, context.io.cwd)];
  for (const file of files) {
    const read = kind === 'image' ? openInputImages : readAttachments;
    if (isUrl(file)) requireNetwork([{ flag: `/${kind}`, typed: file }], settings, flags);
    await read([file], { context, isReadAgain: true }, { flag: `/${kind}` });
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

/** The model, the system instruction and the flags stay as they are. */
async function startOver(_: string, talk: Talk): Promise<void> {
  const { session } = talk;
  talk.messages = [];
  talk.session = undefined;
  talk.images = [];
  talk.attach = [];
  await talk.context.ui.note(
    `a new conversation${session?.file ? `; the one before is kept as ${session.label}` : ''}`,
  );
}

async function saveAs(typed: string, talk: Talk): Promise<void> {
  const { context, messages, session } = talk;
  const { cwd } = context.io;
  if (typed === '') throw usageError('/save needs a name', 'for example: /save trip');
  if (messages.length === 0) throw usageError('there is nothing to keep yet', 'ask something first');
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

/** Completes the names of commands. */
export async function completeSlash(line: string): ReturnType<EditorOptions['complete']> {
  if (!/^\/\S*$/.test(line)) return { hits: [], part: line };
  const names = Object.keys(slashCommands).map((name) => `/${name}`);
  return { hits: names.filter((name) => name.startsWith(line)).map((name) => `${name} `), part: line };
}

/** The absolute path of a file typed into the interactive mode: no shell expands `~` there. */
function expandPath(typed: string, cwd: string): string {
  if (typed === '~' || typed.startsWith('~/')) return join(homedir(), typed.slice(1));
  return isAbsolute(typed) ? typed : resolve(cwd, typed);
}
