import type { SessionMessage } from '../../chat/message.ts';
import { storable } from '../../chat/session-file.ts';
import { type Answer, blobsOf } from '../../client/content.ts';
import { type Deadline, endOf } from '../../client/deadline.ts';
import { messagesPost } from '../../client/messages.ts';
import { perform } from '../../client/perform.ts';
import type { Result } from '../../client/result.ts';
import type { Reservation } from '../../cost/types.ts';
import { GatewayError } from '../../errors.ts';
import { isObject, type JsonValue } from '../../json.ts';
import type { Redaction } from '../../settings/redact.ts';
import type { Body, BodyValue } from '../../upload.ts';
import { resultsMessage, type ToolBelt, type ToolFlags } from './tools.ts';
import type { Context, Report, RunCall, Turn } from '../../cli/context.ts';
import type { ImageOutput } from '../../cli/output/pictures.ts';
import { printStream, stopPlain } from '../../cli/output/print.ts';
import { sumUsage } from '../../cli/run/send-all.ts';
import type { Connection } from '../../cli/run/connection.ts';
import type { CostLimit } from '../../cli/run/costs.ts';

/** What a turn is asked with. */
export interface Asking {
  context: Context;
  connection: Connection;
  flags: ToolFlags;
  images: ImageOutput;
  /** Whether the Markdown of the answer is formatted, where stdout can. */
  isMarkdown: boolean;
  model: string;
  tools: ToolBelt | undefined;
  limit: CostLimit | undefined;
  /** The time of the turn, tools included. */
  deadline: Deadline;
  /** Told of the text of the answers as it comes. */
  onText?: ((text: string) => void) | undefined;
}

/** How a turn ended: the last answer with everything added up, and the conversation as it was sent and answered. */
export interface Turned {
  answer: Answer;
  messages: readonly BodyValue[];
}

/** One request and its answer, printed. With tools: as many as their calls take. What came is in the report all along. */
export async function askTurn(first: Body, asking: Asking): Promise<Turned> {
  const { context, tools, deadline } = asking;
  const answers: Answer[] = [];
  let body = first;
  let turned: Turned | undefined;
  for (;;) {
    const room = await asking.limit?.take(body, asking.model);
    if (room instanceof GatewayError) {
      if (turned === undefined) throw room;
      return { ...turned, answer: { ...turned.answer, error: room } };
    }
    const answer = await countIn(() => askOnce(body, asking), { room, report: context.report });
    answers.push(answer);
    context.report.result = addUp(answers);
    const messages = [...listOf(body), assistantMessage(answer.result, context)];
    const { toolCalls } = answer.result;
    const whole = { answer: { result: context.report.result, error: answer.error }, messages };
    turned = whole;
    if (answer.error || isUnwritten(context) || !tools?.canRun(answer.result)) return whole;
    if (answers.length >= tools.maxTurns)
      return { ...whole, answer: { ...whole.answer, error: tooManyTurns(answers.length) } };
    const calls = await tools.run(toolCalls, deadline.signal).catch((error: unknown) => {
      throw deadline.explain(error, 'reading');
    });
    (context.report.turns ??= []).push(describeTurn(answer.result, calls));
    body = { ...withoutForcedCall(first), messages: [...messages, resultsMessage(calls)] };
  }
}

/** Counts what a request costs, whatever comes of it. What a cache answers costs nothing. */
async function countIn(
  ask: () => Promise<Answer>,
  { room, report }: { room: Reservation | undefined; report: Report },
): Promise<Answer> {
  const { meter, attempts } = report;
  try {
    const answer = await ask();
    if (report.attempts === attempts) {
      room?.free();
      return answer;
    }
    const cost = meter?.count(answer);
    room?.spend(cost);
    return answer;
  } catch (error) {
    if (error instanceof GatewayError && error.billed === 'no') room?.free();
    else {
      room?.spend(undefined);
      meter?.lose();
    }
    throw error;
  }
}

/** The disk is full: no further turn is paid for whose answer could not be shown. */
function isUnwritten({ io, report }: Context): boolean {
  return io.stdout.failure !== undefined || report.lost.failure !== undefined;
}

async function askOnce(
  body: Body,
  { context, connection, images, isMarkdown, model, flags, deadline, onText }: Asking,
): Promise<Answer> {
  const store = images.openStore();
  const progress = context.ui.progress('waiting for the gateway');
  const deltas = perform({ post: messagesPost(body), model }, connection, {
    deadline,
    store,
    joined: flags.jsonl ? undefined : true,
    mostImages: images.most,
    beforeRead: () => stopPlain(progress, context),
  });
  const shown = { ...flags, isMarkdown, progress, onText };
  const answer = await printStream(deltas, shown, context).finally(() => progress.stop());
  context.report.result ??= answer.result;
  await images.save(blobsOf(answer.result), answer.result, () => endOf(deadline));
  return answer;
}

/** The last result, with the usage and the warnings of all. */
function addUp(answers: readonly Answer[]): Result {
  const results = answers.map(({ result }) => result);
  const last = results.at(-1) as Result;
  if (results.length === 1) return last;
  return {
    ...last,
    usage: sumUsage(results.flatMap(({ usage }) => usage ?? [])),
    warnings: [...new Set(results.flatMap(({ warnings }) => warnings))],
  };
}

/** A picture of the answer cannot go back to the model; its name can (the messages format has no image block for an assistant). */
function assistantMessage({ content = [] }: Result, { report }: Context): BodyValue {
  if (content.length > 0) return { role: 'assistant', content: [...content] };
  const names = report.images.map(({ path }) => `[${path}]`).join(' ');
  return { role: 'assistant', content: names === '' ? [] : [{ type: 'text', text: names }] };
}

function describeTurn({ text, stopReason }: Result, toolCalls: RunCall[]): Turn {
  return { text, stopReason, toolCalls };
}

/** A choice that forces a call would force one after each result, for ever. */
function withoutForcedCall(body: Body): Body {
  const { tool_choice: choice, ...rest } = body;
  const type = typeof choice === 'object' && choice !== null && 'type' in choice ? choice['type'] : undefined;
  return type === 'any' || type === 'tool' ? rest : body;
}

function tooManyTurns(turns: number): GatewayError {
  return new GatewayError('incomplete', `after ${turns} requests the model still calls tools`, {
    hint: `allow more: --max-turns ${turns * 2}`,
    sent: 'yes',
    retryable: false,
  });
}

function listOf({ messages }: Body): BodyValue[] {
  return Array.isArray(messages) ? messages : [];
}

/** The messages of a turn as a session keeps them, without the key; undefined where there is no answer to keep. */
export async function storableTurn(
  { messages, answer }: Turned,
  { earlier, body, at, redaction }: { earlier: number; body: Body; at: string; redaction: Redaction },
): Promise<SessionMessage[] | undefined> {
  const turn = (await storable(messages.slice(earlier))) as unknown as SessionMessage[];
  const last = turn.at(-1);
  if (!last || last.content.length === 0) return undefined;
  const { system } = body;
  const { model, modelVersion = model } = answer.result;
  return turn.map(({ role, content }) => ({
    role,
    content: cleanContent(content, redaction),
    ...redaction.clean(
      role === 'user' ? { ...(typeof system === 'string' && { system }), at } : { model: modelVersion, at },
    ),
  }));
}

/** Without the key, but for the bytes of pictures: they are the user's own, and a change would spoil them. */
function cleanContent(content: SessionMessage['content'], { clean }: Redaction): SessionMessage['content'] {
  if (typeof content === 'string') return clean(content);
  return content.map((block) => (hasBytes(block) ? block : clean(block)));
}

function hasBytes(block: JsonValue): boolean {
  return isObject(block) && isObject(block['source']) && block['source']['type'] === 'base64';
}
