import { writeFile } from 'node:fs/promises';
import { expandPath } from '../../chat/complete.ts';
import { exportMarkdown } from '../../chat/markdown.ts';
import { lastSystem } from '../../chat/message.ts';
import type { Entry } from '../../chat/slash.ts';
import { usageError } from '../../errors.ts';
import { writeReason } from '../../files/file-reason.ts';
import { removeFile } from '../../files/temp-file.ts';
import { readImages } from '../../cli/input/attachments.ts';
import { lockedSession, pathOf } from './session.ts';
import { slashHelp } from './slash-help.ts';
import { askAgain, type Talk } from './talk.ts';
import { shellWord } from '../../shell-word.ts';

type Slash = Extract<Entry, { kind: 'command' }>;

/** Runs a command of the interactive mode. False: leave. Throws GatewayError usage. */
export async function runSlash({ name, argument }: Slash, talk: Talk): Promise<boolean> {
  if (name === 'exit') return false;
  if (name === 'retry') return askAgain(talk);
  await actions[name](argument, talk);
  return true;
}

const actions: Record<Exclude<Slash['name'], 'exit' | 'retry'>, (argument: string, talk: Talk) => Promise<void>> = {
  help: (_, { context }) => context.io.stderr.write(slashHelp(context.io.stderr.columns)),
  model: changeModel,
  system: changeSystem,
  image: addImage,
  save,
};

async function changeModel(id: string, talk: Talk): Promise<void> {
  if (id !== '') talk.model = id;
  await talk.context.ui.note(`model: ${talk.model}`);
}

async function changeSystem(text: string, talk: Talk): Promise<void> {
  if (text !== '') talk.system = text === '-' ? null : text;
  const { system, flags, messages } = talk;
  const inForce = system === null ? undefined : (system ?? flags.system ?? flags.systemFile ?? lastSystem(messages));
  await talk.context.ui.note(`system: ${inForce ?? 'none'}`);
}

/** The picture is looked at now, so that a wrong path is told before the prompt is typed. */
async function addImage(typed: string, talk: Talk): Promise<void> {
  const { context, images } = talk;
  if (typed !== '') {
    const path = expandPath(unquoted(typed), context.io.cwd);
    await readImages([path], context, { flag: '/image' });
    images.push(path);
  }
  await context.ui.note(
    images.length === 0 ? 'no image yet: /image photo.jpg' : `with the next prompt: ${images.join(', ')}`,
  );
}

/** A path that was dragged into the terminal often comes in quotes. */
function unquoted(typed: string): string {
  return /^(['"])(.+)\1$/.exec(typed)?.[2] ?? typed.replaceAll('\\ ', ' ');
}

async function save(typed: string, talk: Talk): Promise<void> {
  const { context, messages, resumed } = talk;
  if (typed === '') throw usageError('/save needs a name', 'for example: /save trip, or /save trip.md');
  if (messages.length === 0) throw usageError('there is nothing to keep yet', 'ask something first');
  if (typed.endsWith('.md')) return saveMarkdown(typed, talk);
  const path = await pathOf(typed.startsWith('~') ? expandPath(typed, context.io.cwd) : typed, context);
  if (path === resumed?.file?.path) return context.ui.note(`it is kept in ${typed} already`);
  const file = await lockedSession(path, context);
  if (file.messages.length > 0) {
    await file.close();
    throw usageError(
      `there is a session ${typed} already`,
      `another name, or go on with it: gateway-cli chat --session ${shellWord(typed)}`,
    );
  }
  await file.append(messages);
  await resumed?.file?.close();
  if (resumed?.file && resumed.isFresh) await removeFile(resumed.file.path);
  talk.resumed = { earlier: [], file, label: typed, isFresh: false };
  await context.ui.note(`kept as ${typed}`);
}

async function saveMarkdown(typed: string, { context, messages }: Talk): Promise<void> {
  const path = expandPath(typed, context.io.cwd);
  try {
    await writeFile(path, exportMarkdown('Conversation', messages), { flag: 'wx' });
  } catch (error) {
    throw usageError(`${JSON.stringify(typed)} cannot be written: ${writeReason(error)}`, 'choose another name', error);
  }
  await context.ui.note(`written: ${path}`);
}
