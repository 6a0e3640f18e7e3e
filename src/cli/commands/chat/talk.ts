import type { SessionMessage } from '../../chat/message.ts';
import { toStorable } from '../../chat/session-file.ts';
import { listSessions, sessionPath } from '../../chat/session-path.ts';
import {
  type BodyValue,
  type Deadline,
  deadlineOnce,
  describeWriteError,
  endSignals,
  type GatewayClient,
  GatewayError,
  localTime,
} from '../../../library/index.ts';
import type { Settings } from '../../settings/types.ts';
import { formatError, wrapForStderr } from '../../terminal/output.ts';
import { createStyle } from '../../terminal/style.ts';
import type { LineEditor } from '../../terminal/line-editor.ts';
import { type ChatFlags, type SavedSession, lockedSession, storableTurns } from './session.ts';
import { openTools } from './tools.ts';
import { askTurn, getQuestion } from './turn.ts';
import type { AnswerContext, Outcome } from '../../context.ts';
import { joinOutcomes, toReport } from '../../output/outcome.ts';
import { finishText } from '../../run/answer.ts';
import { planSaving } from '../../output/save-images.ts';
import { planBesideText } from '../../run/sending.ts';
import { prepareRequest } from '../../run/prepare.ts';
import type { BuiltRequest } from '../../request/build-request.ts';
import { saveUnread } from '../../run/recovery.ts';

/** A conversation with a person, while it goes on: entries change what is not readonly. */
export interface Talk {
  readonly context: AnswerContext;
  readonly flags: ChatFlags;
  readonly client: GatewayClient;
  readonly editor: LineEditor;
  settings: Settings;
  /** The system instruction. Undefined: as the session has it; null: none. */
  system: string | null | undefined;
  /** Images and files for the next prompt. */
  images: readonly string[];
  attach: readonly string[];
  messages: readonly SessionMessage[];
  session: SavedSession | undefined;
  /** The outcome of the last prompt, with the sums of all prompts: `addUp` makes it. */
  outcome: Outcome;
}

/** Sends a prompt; a failure is printed, and the conversation goes on. Returns false after Ctrl-C twice. */
export async function askPrompt(text: string, talk: Talk): Promise<boolean> {
  const { context, editor } = talk;
  const stop = new AbortController();
  const deadline = deadlineOnce(talk.settings.timeoutMs, AbortSignal.any([context.signal, stop.signal]));
  let leaving = false;
  let request: BuiltRequest | undefined;
  let shown = '';
  editor.onInterrupt((again) => {
    leaving ||= again;
    stop.abort(new GatewayError('interrupted', 'the answer was stopped', { sent: 'unknown' }));
  });
  try {
    request = await buildPrompt(text, talk, deadline);
    await askAndSave(request, talk, { deadline, onText: (part) => void (shown += part) });
  } catch (error) {
    const isEnding = context.signal.aborted;
    if (!stop.signal.aborted && !isEnding) {
      const report = toReport(talk.outcome, context);
      const unread = await saveUnread(error, { report, io: context.io, redaction: context.ui });
      await logFailure(unread.error, context);
    } else if (request === undefined || shown.trim() === '') await context.ui.note('stopped; this turn is not kept');
    else await saveShown(shown, request, talk);
    if (isEnding) throw error;
  } finally {
    talk.images = [];
    talk.attach = [];
    editor.onInterrupt(undefined);
  }
  return !leaving;
}

/** The request of a prompt, which goes on with the conversation. */
async function buildPrompt(text: string, talk: Talk, deadline: () => Deadline): Promise<BuiltRequest> {
  const { context, settings, flags, system, images: image, attach, messages } = talk;
  const earlier = system === null ? messages.map((message) => ({ ...message, system: undefined })) : messages;
  const building = { context, use: 'chat' as const, settings, deadline, earlier };
  const turnFlags = { ...flags, prompt: text, image, attach, ...(typeof system === 'string' && { system }) };
  return prepareRequest([], turnFlags, building);
}

/** Asks for the answer to a prompt, and keeps it in the conversation. `onText` receives the text as it is shown. */
async function askAndSave(
  request: BuiltRequest,
  talk: Talk,
  { deadline, onText }: { deadline: () => Deadline; onText: (part: string) => void },
): Promise<void> {
  const { context, settings, flags, client, editor } = talk;
  // Between the lines of an answer; Ctrl-C is a no.
  const askPerson = async (question: string): Promise<string> => {
    const read = await editor.read(question, { isQuestion: true });
    return read.kind === 'entry' ? read.text : '';
  };
  const tools = await openTools(flags, request, { context, ask: askPerson });
  const beside = await planBesideText(flags, request, context);
  const images = await planSaving(beside, context);
  const setup = { context, settings, flags, client, images, tools, deadline: deadline(), onText };
  const turn = await askTurn(request, setup);
  const { outcome, schemaAnswer } = turn;
  talk.outcome = addUp(talk.outcome, outcome);
  const { reply, thrown, error } = outcome;
  if (reply === undefined) throw thrown?.value ?? error;
  // A conversation has its words on the terminal, whatever its pictures are.
  const plan = { ...beside, output: undefined };
  const ended = await finishText({ ...talk.outcome, reply }, { plan, schemaAnswer }, { flags, context, settings });
  if (ended.error !== undefined) throw ended.error;
  const messages = await storableTurns(turn, request, context);
  if (messages) await saveTurn(messages, talk);
}

/** The outcome of the last prompt, with the costs, the requests and the unsaved files of all prompts. */
function addUp(before: Outcome, last: Outcome): Outcome {
  const { spent, attempts, unsaved } = joinOutcomes([before, last], 'rounds');
  return { ...last, spent, attempts, unsaved };
}

/** The part of an answer that was shown before it was stopped belongs to the conversation. */
async function saveShown(text: string, request: BuiltRequest, talk: Talk): Promise<void> {
  const { io, ui } = talk.context;
  const { service } = request.quirks;
  const at = new Date(io.now()).toISOString();
  const message = (await toStorable(getQuestion(request) as unknown as BodyValue)) as unknown as SessionMessage;
  const content = [{ type: 'text', text: ui.clean(text) }];
  const model = talk.settings.model;
  await saveTurn(
    [
      { ...message, model, at },
      { role: 'assistant', content, model, service, at },
    ],
    talk,
  );
  await ui.note('stopped; what came of the answer is kept');
}

/**
 * Adds a turn to the conversation, and to its session all turns that the session lacks. A conversation without a session gets one
 * named by the date, so that a crash loses no finished turn; if none can be made, there is a warning.
 */
async function saveTurn(turn: readonly SessionMessage[], talk: Talk): Promise<void> {
  talk.messages = [...talk.messages, ...turn];
  if (talk.flags.save === false) return;
  talk.session ??= await freshSession(talk.context);
  const { file } = talk.session;
  if (!file) return;
  await file.append(talk.messages.slice(file.messages.length));
}

async function freshSession(context: AnswerContext): Promise<SavedSession> {
  try {
    const label = await freshName(context.io.now());
    const file = await lockedSession(await sessionPath(label, context.io.cwd), context);
    return { file, label, isFresh: true };
  } catch (error) {
    await context.ui.warn(`this conversation is not kept: ${describeWriteError(error)}`);
    return { file: undefined, label: '' };
  }
}

/** `2026-11-20-1503`, in local time, with a number if that name is taken. */
async function freshName(now: number): Promise<string> {
  const base = localTime(now).replace(' ', '-').replace(':', '');
  const taken = new Set((await listSessions()).map(({ name }) => name));
  let name = base;
  for (let n = 2; taken.has(name); n++) name = `${base}-${n}`;
  return name;
}

/** Prints the failure of a turn; a failure that ends the program is thrown. */
export async function logFailure(error: unknown, { io, root, ui, signal }: AnswerContext): Promise<void> {
  const isOrdinary = error instanceof GatewayError && error.class !== 'internal' && !endSignals.has(error.class);
  if (signal.aborted || !isOrdinary) throw error;
  const style = createStyle({ env: io.env, isTTY: io.stderr.isTTY, color: root.color });
  const text = formatError(error, ui.redact, await style.failure(error.class));
  await io.stderr.write(`${await wrapForStderr(text, io)}\n`);
}
