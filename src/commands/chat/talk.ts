import { lastTurnStart, type SessionMessage } from '../../chat/message.ts';
import { storable } from '../../chat/session-file.ts';
import type { Turn } from '../../formats/turns.ts';
import type { BodyValue } from '../../body.ts';
import { deadlineOnce } from '../../client/deadline.ts';
import { GatewayError } from '../../errors.ts';
import type { Settings } from '../../settings/types.ts';
import { formatError, createStyle, wrapForStderr } from '../../terminal/output.ts';
import type { LineEditor } from '../../terminal/line-editor.ts';
import { type ChatFlags, keepInSession, type Resumed, storableTurns } from './session.ts';
import { buildRequest } from '../../cli/request/build-request.ts';
import { openTools } from './tools.ts';
import { askTurn, questionOf } from './turn.ts';
import type { Context } from '../../cli/context.ts';
import { answerOfSchema, checkAnswer, planBesideText, planImages, wantedOf } from '../../cli/run/command.ts';
import type { CostLimit } from '../../cli/run/costs.ts';
import type { Connection, OpenFetchUrl } from '../../cli/run/connection.ts';

/** A conversation with a person, while it goes on. */
export interface Talk {
  context: Context;
  settings: Settings;
  flags: ChatFlags;
  connection: Connection;
  openFetchUrl: OpenFetchUrl;
  editor: LineEditor;
  /** `--max-cost` of the whole conversation. */
  limit: CostLimit | undefined;
  model: string;
  /** Undefined: as the flags or the session have it; null: none. */
  system: string | null | undefined;
  /** Pictures and files for the next prompt. */
  images: string[];
  attach: string[];
  messages: readonly SessionMessage[];
  resumed: Resumed | undefined;
  /** The last prompt, for `/retry`. */
  last: Prompt | undefined;
}

interface Prompt {
  text: string;
  images: string[];
  attach: string[];
  answered: boolean;
}

/** Asks a prompt; a failure is printed, and the conversation goes on. False: Ctrl-C twice. */
export async function askPrompt(text: string, talk: Talk): Promise<boolean> {
  const { images, attach } = talk;
  talk.images = [];
  talk.attach = [];
  return ask({ text, images, attach, answered: false }, talk);
}

/** Asks the last prompt again; an answer that it has is replaced. */
export async function askAgain(talk: Talk): Promise<boolean> {
  const { last } = talk;
  if (last) return ask(last, talk);
  await talk.context.ui.note('there is no prompt to ask again');
  return true;
}

async function ask(prompt: Prompt, talk: Talk): Promise<boolean> {
  const { context, editor } = talk;
  const stop = new AbortController();
  let leaving = false;
  const heard: Heard = { text: '', question: undefined };
  talk.last = prompt;
  editor.onInterrupt((again) => {
    leaving ||= again;
    stop.abort(new GatewayError('interrupted', 'the answer was stopped', { sent: 'unknown' }));
  });
  try {
    await askAndKeep(prompt, talk, { signal: AbortSignal.any([context.signal, stop.signal]), heard });
  } catch (error) {
    if (!stop.signal.aborted || context.signal.aborted) await logFailure(error, context);
    else await keepHalf(prompt, talk, heard);
  } finally {
    editor.onInterrupt(undefined);
  }
  return !leaving;
}

/** What came of a turn before it was stopped. */
interface Heard {
  text: string;
  /** The last message of its request. */
  question: Turn | undefined;
}

/** What was said before a prompt: an answer that it has is replaced. */
function saidBefore({ answered }: Prompt, { messages }: Talk): readonly SessionMessage[] {
  return answered ? messages.slice(0, lastTurnStart(messages)) : messages;
}

async function keep(turn: readonly SessionMessage[], prompt: Prompt, talk: Talk): Promise<void> {
  const before = saidBefore(prompt, talk);
  const replaced = prompt.answered ? before.length : undefined;
  talk.messages = [...before, ...turn];
  prompt.answered = true;
  await keepInSession(talk, replaced);
}

/** What a person has read of an answer is part of the conversation. */
async function keepHalf(prompt: Prompt, talk: Talk, { text, question }: Heard): Promise<void> {
  const { context, model } = talk;
  if (text.trim() === '' || question === undefined) {
    await context.ui.note('stopped; this turn is not kept. /retry asks it again');
    return;
  }
  const at = new Date(context.io.now()).toISOString();
  const [asked] = (await storable([question] as unknown as BodyValue)) as unknown as SessionMessage[];
  if (asked === undefined) return;
  const half: SessionMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: context.ui.clean(text) }],
    model,
    at,
  };
  await keep([{ ...asked, at }, half], prompt, talk);
  await context.ui.note('stopped; what came of the answer is kept. /retry asks it again');
}

async function askAndKeep(
  prompt: Prompt,
  talk: Talk,
  { signal, heard }: { signal: AbortSignal; heard: Heard },
): Promise<void> {
  const { context, settings, flags, connection, model } = talk;
  const before = saidBefore(prompt, talk);
  const earlier = talk.system === null ? before.map((message) => ({ ...message, system: undefined })) : before;
  const deadline = deadlineOnce(settings.timeoutMs.value, signal);
  const fetchUrl = talk.openFetchUrl(settings, deadline);
  const building = {
    context,
    use: 'chat' as const,
    settings: { ...settings, model: { ...settings.model, value: model } },
    fetchUrl,
    earlier,
  };
  const request = await buildRequest([], flagsOf(prompt, talk), building);
  const { check } = request;
  heard.question = questionOf(request);
  const ask = (question: string): Promise<string> => askPerson(question, talk);
  const tools = await openTools(flags, request, { context, service: settings.service.value, ask });
  const images = await planImages(await planBesideText(flags, { prompt: prompt.text, model }, context), context);
  context.report.images = [];
  const isMarkdown = settings.markdown.value && check === undefined;
  const asking = {
    context,
    connection,
    flags,
    images,
    isMarkdown,
    tools,
    limit: talk.limit,
    deadline: deadline(),
    onText: (part: string) => void (heard.text += part),
  };
  const turned = await askTurn(request, asking);
  await checkAnswer(turned.answer, wantedOf({ ...flags, code: undefined }), context);
  if (check) answerOfSchema(check, turned.answer);
  const turn = await storableTurns(turned, request, context);
  if (turn) await keep(turn, prompt, talk);
}

function flagsOf({ text, images, attach }: Prompt, { flags, system }: Talk): ChatFlags {
  const { prompt: _prompt, promptFile: _file, system: given, systemFile, ...rest } = flags;
  const asked = { ...rest, prompt: text, image: images, attach };
  if (typeof system === 'string') return { ...asked, system };
  if (system === null) return asked;
  return { ...asked, ...(given !== undefined && { system: given }), ...(systemFile !== undefined && { systemFile }) };
}

/** A question between the lines of an answer; Ctrl-C is a no. */
async function askPerson(question: string, { editor }: Talk): Promise<string> {
  const read = await editor.read(question, { isQuestion: true });
  return read.kind === 'entry' ? read.text : '';
}

/** Prints the failure of a turn; one that ends the program is thrown. */
export async function logFailure(error: unknown, { io, root, ui, signal }: Context): Promise<void> {
  const ends = ['closed', 'internal', 'interrupted', 'terminated', 'hangup'];
  if (signal.aborted || !(error instanceof GatewayError) || ends.includes(error.class)) throw error;
  const style = createStyle({ env: io.env, isTTY: io.stderr.isTTY, color: root.color });
  const text = formatError(error, ui.redact, await style.failure(error.class));
  await io.stderr.write(`${await wrapForStderr(text, io)}\n`);
}
