import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { SessionMessage } from '../../chat/message.ts';
import { asideFile, cutTurn, openSession, readSession, type SessionFile, storable } from '../../chat/session-file.ts';
import {
  isSessionPath,
  listSessions,
  makePrivateFolder,
  newestSession,
  sessionPath,
  sessionsFolder,
} from '../../chat/session-path.ts';
import { localTime } from '../../clock.ts';
import { usageError } from '../../errors.ts';
import { writeReason } from '../../files/file-reason.ts';
import { shellWord } from '../../shell-word.ts';
import type { Context } from '../../cli/context.ts';
import type { chatFlags } from '../../cli/flags/format.ts';
import type { AskFlags } from '../../cli/run/settings.ts';
import type { Talk } from './talk.ts';
import type { TurnOutcome } from './turn.ts';
import { isObject, type JsonValue } from '../../json.ts';
import type { Redaction } from '../../settings/redact.ts';
import type { BodyValue } from '../../body.ts';
import type { BuiltRequest } from '../../cli/request/build-request.ts';

/** The flags of `chat`, as they were typed. */
export type ChatFlags = Omit<AskFlags<typeof chatFlags>, 'save'> & {
  /** false by `--no-save` */
  save?: boolean;
};

/** A conversation that goes on. */
export interface Resumed {
  earlier: readonly SessionMessage[];
  /** Where it is kept; absent where the request is only shown, and where there is no place for it. */
  file: SessionFile | undefined;
  /** What to give `--session` to go on. */
  label: string;
  /** Begun by the program itself, under the day's date. */
  isFresh: boolean;
}

/** Opens the session of `--session` or `--continue`, locked until the end of the run. Throws GatewayError usage. */
export async function resumeSession(flags: ChatFlags, context: Context): Promise<Resumed> {
  if (flags.session !== undefined && flags.continue) {
    throw usageError('--session and --continue both name a session', 'keep one of them');
  }
  const named = flags.continue ? '--continue' : '--session';
  if (flags.save === false)
    throw usageError('--no-save keeps no session, and one is named', `leave one of them out: --no-save or ${named}`);
  if (flags.raw)
    throw usageError(
      '--raw does not read the answer, so no session can keep it',
      `leave one of them out: --raw or ${named}`,
    );
  const label = flags.session ?? (await newestSession(await sessionsFolder())).name;
  const path = await pathOf(label, context);
  if (flags.dryRun || flags.curl)
    return { earlier: (await readSession(path)).messages, file: undefined, label, isFresh: false };
  const file = await lockedSession(path, context);
  return { earlier: file.messages, file, label, isFresh: false };
}

/** Locks a session for the rest of the run. */
export async function lockedSession(path: string, context: Context): Promise<SessionFile> {
  const file = await openSession(path);
  context.atEnd(() => file.close());
  if (file.torn) await context.ui.warn(`${cutTurn(path)}; the next turn moves it to ${asideFile(path)}`);
  return file;
}

/** Where a session that was named is; the folder of names is made at need. */
export async function pathOf(typed: string, { io }: Context): Promise<string> {
  const path = await sessionPath(typed, { cwd: io.cwd, folder: sessionsFolder });
  if (isSessionPath(typed)) await requireFolder(dirname(typed), io.cwd);
  else await makePrivateFolder(await sessionsFolder());
  return path;
}

/** A session that was named by its path is written into a folder that is there. */
async function requireFolder(folder: string, cwd: string): Promise<void> {
  const stats = await stat(resolve(cwd, folder)).catch(() => undefined);
  if (stats === undefined)
    throw usageError(
      `there is no folder ${JSON.stringify(folder)} for the session`,
      `make it first: mkdir -p ${shellWord(folder)}`,
    );
}

/**
 * Writes what the session of a conversation lacks. Without a session it gets one of the day's date, so that a crash loses
 * no finished turn; where there is no place for that, a warning. `replaced`: how many messages were before a turn asked again.
 */
export async function keepInSession(talk: Talk, replaced: number | undefined): Promise<void> {
  if (talk.flags.save === false) return;
  talk.resumed ??= await freshSession(talk.context);
  const { file } = talk.resumed;
  if (!file) return;
  const stored = file.messages.length;
  if (replaced !== undefined && replaced < stored) await file.replaceLast(talk.messages.slice(replaced));
  else await file.append(talk.messages.slice(stored));
}

async function freshSession(context: Context): Promise<Resumed> {
  try {
    const label = await freshName(context.io.now());
    return { earlier: [], file: await lockedSession(await pathOf(label, context), context), label, isFresh: true };
  } catch (error) {
    await context.ui.warn(`this conversation is not kept: ${writeReason(error)}`);
    return { earlier: [], file: undefined, label: '', isFresh: true };
  }
}

/** `2026-11-20-1503`, by the clock on the user's wall; a number after it where that is taken. */
async function freshName(now: number): Promise<string> {
  const base = localTime(now).replace(' ', '-').replace(':', '');
  const taken = new Set((await listSessions(await sessionsFolder())).map(({ name }) => name));
  let name = base;
  for (let n = 2; taken.has(name); n++) name = `${base}-${n}`;
  return name;
}

/** The turns of a conversation as a session keeps them, without the key; undefined where there is no answer to keep. */
export async function storableTurns(
  { turns, answer }: TurnOutcome,
  request: BuiltRequest,
  { io, ui }: Context,
): Promise<SessionMessage[] | undefined> {
  const stored = (await storable(turns as unknown as BodyValue[])) as unknown as SessionMessage[];
  const last = stored.at(-1);
  if (last?.role !== 'assistant' || last.content.length === 0) return undefined;
  const { model, modelVersion = model } = answer.result;
  const system = systemOf(request);
  const at = new Date(io.now()).toISOString();
  return stored.map(({ role, content, service }) => ({
    role,
    content: cleanContent(content, ui),
    ...ui.clean(
      role === 'user' ? { ...(system !== undefined && { system }), at } : { model: modelVersion, service, at },
    ),
  }));
}

/** Redacts the key everywhere except in the bytes of pictures, which a change would corrupt. */
function cleanContent(content: SessionMessage['content'], { clean }: Redaction): SessionMessage['content'] {
  if (typeof content === 'string') return clean(content);
  return content.map((block) => (hasBytes(block) ? block : clean(block)));
}

function hasBytes(block: JsonValue): boolean {
  return isObject(block) && isObject(block['source']) && block['source']['type'] === 'base64';
}

/** The system instruction that a request was sent with. */
function systemOf({ ask, post }: Pick<BuiltRequest, 'ask' | 'post'>): string | undefined {
  const { system } = post.body;
  return typeof system === 'string' ? system : ask.system;
}
