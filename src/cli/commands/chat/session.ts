import { lastTurnStart, type SessionMessage, getMessageText } from '../../chat/message.ts';
import {
  sessionAsideFile,
  describeCutTurn,
  openSession,
  readSession,
  type SessionFile,
  toStorable,
} from '../../chat/session-file.ts';
import { newestSession, type SessionEntry, sessionPath } from '../../chat/session-path.ts';
import {
  type BodyValue,
  isLoopback,
  isObject,
  isOwnHost,
  type JsonValue,
  localTime,
  type ServiceName,
  services,
  usageError,
  withoutFormat,
} from '../../../library/index.ts';
import { escapeLine } from '../../terminal/escape.ts';
import type { Context } from '../../context.ts';
import type { answerFileFlags, chatFlags } from '../../flags/format.ts';
import { showsRequest } from '../../run/sending.ts';
import type { AskFlags } from '../../run/settings.ts';
import type { TurnEnd } from './turn.ts';
import type { Settings } from '../../settings/types.ts';
import type { Redaction } from '../../settings/redact.ts';
import type { BuiltRequest } from '../../request/build-request.ts';

/** The flags of `chat`, as they were typed. */
export type ChatFlags = Omit<AskFlags<typeof chatFlags & typeof answerFileFlags>, 'save'> & {
  /** false by `--no-save` */
  save?: boolean;
};

/** The place where a conversation is kept. */
export interface SavedSession {
  /** Absent if the request is only shown, or no folder can be used. */
  file: SessionFile | undefined;
  /** The value of `--session` that continues it. */
  label: string;
  /** Begun by the program itself, under the day's date. */
  isFresh?: true;
}

/** A conversation that is continued. */
export interface Resumed extends SavedSession {
  earlier: readonly SessionMessage[];
  /** The session that `--continue` found. */
  newest?: SessionEntry | undefined;
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
  const newest = flags.session === undefined ? await newestSession() : undefined;
  const label = flags.session ?? newest?.name ?? '';
  const path = await sessionPath(label, context.io.cwd);
  if (showsRequest(flags)) return { earlier: (await readSession(path)).messages, file: undefined, label };
  const file = await lockedSession(path, context);
  return { earlier: file.messages, file, label, newest };
}

/**
 * Describes the conversation that `--continue` chose. An answer outside of a session is not kept, so the last saved conversation
 * may not be the last one.
 */
export async function describeContinued(
  { name, changed }: SessionEntry,
  messages: readonly SessionMessage[],
  settings: Pick<Settings, 'service' | 'baseUrl'>,
): Promise<string> {
  const { cutToColumns } = await import('../../terminal/break-lines.ts');
  const asked = messages[lastTurnStart(messages)];
  const words = cutToColumns(escapeLine(asked ? getMessageText(asked) : ''), 60);
  return `continues ${name}, saved ${localTime(changed)}, with ${describeReceiver(settings)}: ${JSON.stringify(words)}`;
}

/** The receiver of a conversation: a vendor at its own host, or the host. */
function describeReceiver({ service, baseUrl }: Pick<Settings, 'service' | 'baseUrl'>): string {
  if (baseUrl === undefined) return 'the local gateway';
  return isOwnHost(service, baseUrl) ? services[service].title : new URL(baseUrl).host;
}

/** Locks a session for the rest of the run. */
export async function lockedSession(path: string, context: Context): Promise<SessionFile> {
  const file = await openSession(path);
  context.atEnd(() => file.close());
  if (file.torn) await context.ui.warn(`${describeCutTurn(path)}; the next turn moves it to ${sessionAsideFile(path)}`);
  return file;
}

/** Whether a session's service is on this machine: at a loopback address, Ollama, or the local gateway of `--offline`. */
function isOnThisMachine(service: string): boolean {
  const name = withoutFormat(service);
  const { baseUrl = 'http://127.0.0.1' } = Object.hasOwn(services, name)
    ? services[name as ServiceName]
    : { baseUrl: `http://${name}` };
  return URL.canParse(baseUrl) && isLoopback(new URL(baseUrl));
}

/**
 * Asks before a conversation with a model on this machine is sent to another one. Throws GatewayError usage if the answer is no,
 * or nobody can be asked.
 */
export async function confirmLeaving(
  earlier: readonly SessionMessage[],
  flags: Pick<ChatFlags, 'allowRemote' | 'dryRun' | 'curl' | 'replay'>,
  { baseUrl }: Pick<Settings, 'baseUrl'>,
  { io }: Context,
): Promise<void> {
  const { service = '' } = earlier.findLast((message) => message.service !== undefined) ?? {};
  const isSent = !showsRequest(flags) && flags.replay === undefined;
  if (service === '' || !isOnThisMachine(service) || !baseUrl || flags.allowRemote || !isSent) return;
  const target = new URL(baseUrl);
  if (isLoopback(target)) return;
  const { host } = target;
  const happened = `this conversation was with a model on this machine, and all of it would go to ${host}`;
  if (!io.openDialog) throw usageError(happened, 'to send it: --allow-remote');
  const dialog = await io.openDialog();
  const answer = await dialog.ask(`${happened}. Send it? [y/N] `).finally(() => dialog.close());
  if (!/^\s*y(es)?\s*$/i.test(answer)) throw usageError(`nothing was sent to ${host}`, 'to send it: --allow-remote');
}

/** The turns of a conversation as a session keeps them, without the key; undefined if there is no answer to keep. */
export async function storableTurns(
  { turns, outcome }: TurnEnd,
  { plain, model: requested, post, fallback }: BuiltRequest,
  { io, ui }: Context,
): Promise<SessionMessage[] | undefined> {
  const stored = (await toStorable(turns as unknown as BodyValue[])) as unknown as SessionMessage[];
  const last = stored.at(-1);
  if (last?.role !== 'assistant' || last.content.length === 0) return undefined;
  const { model = requested, modelVersion = model } = outcome.reply ?? {};
  // The session names the requested model, not a fallback, which was asked only once.
  const asked = model === fallback ? requested : model;
  const sent = post.body['system'];
  const system = typeof sent === 'string' ? sent : plain.system;
  const at = new Date(io.now()).toISOString();
  return stored.map(({ role, content, service }) => ({
    role,
    content: typeof content === 'string' ? ui.clean(content) : content.map((block) => redactKey(block, ui)),
    ...ui.clean(
      role === 'user'
        ? { ...(system !== undefined && { system }), model: asked, at }
        : { model: modelVersion, service, at },
    ),
  }));
}

/** Redacts the key everywhere except in the bytes of images, which a change would corrupt. */
function redactKey(block: JsonValue, { clean }: Redaction): JsonValue {
  const hasBytes = isObject(block) && isObject(block['source']) && block['source']['type'] === 'base64';
  return hasBytes ? block : clean(block);
}
