import type { SessionMessage } from '../../chat/message.ts';
import { asideFile, cutTurn, openSession, readSession, type SessionFile, storable } from '../../chat/session-file.ts';
import { newestSession, sessionPath } from '../../chat/session-path.ts';
import { usageError } from '../../errors.ts';
import type { Context } from '../../cli/context.ts';
import type { chatFlags } from '../../cli/flags/format.ts';
import type { AskFlags } from '../../cli/run/settings.ts';
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

/** Where a conversation is kept. */
export interface KeptSession {
  /** Absent if the request is only shown, or no folder can be used. */
  file: SessionFile | undefined;
  /** The value of `--session` that continues it. */
  label: string;
  /** Begun by the program itself, under the day's date. */
  isFresh?: true;
}

/** A conversation that is continued. */
export interface Resumed extends KeptSession {
  earlier: readonly SessionMessage[];
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
  const label = flags.session ?? (await newestSession()).name;
  const path = await sessionPath(label, context.io.cwd);
  if (flags.dryRun || flags.curl) return { earlier: (await readSession(path)).messages, file: undefined, label };
  const file = await lockedSession(path, context);
  return { earlier: file.messages, file, label };
}

/** Locks a session for the rest of the run. */
export async function lockedSession(path: string, context: Context): Promise<SessionFile> {
  const file = await openSession(path);
  context.atEnd(() => file.close());
  if (file.torn) await context.ui.warn(`${cutTurn(path)}; the next turn moves it to ${asideFile(path)}`);
  return file;
}

/** The turns of a conversation as a session keeps them, without the key; undefined if there is no answer to keep. */
export async function storableTurns(
  { turns, answer }: TurnOutcome,
  { ask, post }: BuiltRequest,
  { io, ui }: Context,
): Promise<SessionMessage[] | undefined> {
  const stored = (await storable(turns as unknown as BodyValue[])) as unknown as SessionMessage[];
  const last = stored.at(-1);
  if (last?.role !== 'assistant' || last.content.length === 0) return undefined;
  const { model, modelVersion = model } = answer.result;
  const sent = post.body['system'];
  const system = typeof sent === 'string' ? sent : ask.system;
  const at = new Date(io.now()).toISOString();
  return stored.map(({ role, content, service }) => ({
    role,
    content: typeof content === 'string' ? ui.clean(content) : content.map((block) => withoutKey(block, ui)),
    ...ui.clean(
      role === 'user' ? { ...(system !== undefined && { system }), at } : { model: modelVersion, service, at },
    ),
  }));
}

/** Redacts the key everywhere except in the bytes of pictures, which a change would corrupt. */
function withoutKey(block: JsonValue, { clean }: Redaction): JsonValue {
  const hasBytes = isObject(block) && isObject(block['source']) && block['source']['type'] === 'base64';
  return hasBytes ? block : clean(block);
}
