import {
  type Answer,
  type AskOptions,
  listBlobs,
  type Client,
  type Deadline,
  checkEnd,
  defaultMaxTurns,
  joinReplies,
  type Performed,
  type PreparedRequest,
  type Result,
} from '../../client/index.ts';
import { openPictures, pictureBlock } from '../../cli/input/session-pictures.ts';
import type { Reservation } from '../../cost/types.ts';
import { GatewayError } from '../../errors.ts';
import { loadFormat } from '../../formats/format.ts';
import { lastTurn, type Turn } from '../../formats/plain-request.ts';
import type { FormatName } from '../../formats/types.ts';
import type { ChatFlags } from './session.ts';
import { listCalls, resultsTurn, type ToolCommands } from './tools.ts';
import type { AnswerContext, Report } from '../../cli/context.ts';
import type { ImageOutput } from '../../cli/output/save-images.ts';
import { printStream, printText, stopPlain } from '../../cli/output/print.ts';
import { type BuiltRequest, choosePictures } from '../../cli/request/build-request.ts';
import { type CostLimit, countCosts } from '../../cli/run/costs.ts';
import { printFootnotes } from '../../cli/output/footnotes.ts';

/** What the requests of a turn have in common. */
interface TurnSetup {
  context: AnswerContext;
  client: Client;
  flags: ChatFlags;
  images: ImageOutput;
  /** Whether the Markdown of the answer is formatted, if stdout is a terminal that can show it. */
  isMarkdown: boolean;
  tools: ToolCommands | undefined;
  limit: CostLimit | undefined;
  /** The text of the last answer is printed by the caller, when it has been held against `--schema`. */
  isHeld: boolean;
  /** The time of the turn, tools included. */
  deadline: Deadline;
  /** Receives the text of the answers as it arrives. */
  onText?: ((text: string) => void) | undefined;
}

/** How a turn ended: the last answer, with the usage and warnings of all, and the turns of the conversation that it added. */
export interface TurnOutcome {
  answer: Answer;
  turns: readonly Turn[];
}

/** Sends a request and prints the answer; while the model calls tools, runs them and sends again. The report is kept up to date. */
export async function askTurn(request: BuiltRequest, setup: TurnSetup): Promise<TurnOutcome> {
  const { context, tools, limit, flags } = setup;
  const { report } = context;
  const { model, fallback } = request;
  // A limit holds for models whose price is known: no other one takes the place of a default.
  const defaultFor = limit === undefined ? request.defaultFor : undefined;
  const models = fallback === undefined ? [model] : [model, fallback];
  const replies: Result[] = [];
  const turns: Turn[] = [getQuestion(request)];
  const endWith = (error: GatewayError | undefined): TurnOutcome => ({
    answer: { result: report.result as Result, error },
    turns,
  });
  const { maxTurns = defaultMaxTurns } = flags;
  let asked = request;
  let { post } = request;
  let sent = 0;
  for (;;) {
    const { format } = asked;
    const reservation = await limit?.reserve(post.body, models, format);
    if (reservation instanceof GatewayError) {
      if (replies.length === 0) throw reservation;
      return endWith(reservation);
    }
    const bounds = {
      maxTurns: maxTurns - sent,
      beforeHop: ({ post: { body } }: PreparedRequest, came: readonly Performed[]) =>
        reservation && limit?.grow(reservation, { body, models, format, came }),
    };
    const wasPaid = replies.length > 0 && report.attempts > 0;
    const answer = await withCostCounted(
      () => askOnce({ post, model, defaultFor, fallback }, bounds, setup),
      reservation,
      report,
    ).catch((error: unknown) => {
      // The same command would pay again for the requests before.
      const isPaid = wasPaid && error instanceof GatewayError;
      throw isPaid ? error.withDetails({ sent: 'yes', billed: 'yes', retryable: false }) : error;
    });
    replies.push(answer.result);
    sent += answer.result.requests ?? 1;
    report.result = joinReplies(replies, 'rounds');
    asked = await toAnsweredFormat({ ...asked, post }, answer.result.format);
    const said = answerTurn(answer.result, asked, context);
    turns.push(said);
    const calls = listCalls(said);
    // Where an answer could not be written, such as on a full disk, no other one is paid for.
    const hasOutputFailed = context.io.stdout.failure !== undefined || report.unsaved.failure !== undefined;
    if (answer.error || hasOutputFailed || !tools?.canRun(answer.result, calls)) return endWith(answer.error);
    if (sent >= maxTurns) return endWith(tooManyTurns(sent));
    const results = await runCalls(calls, answer.result, { ...setup, tools });
    const shown = await openPictures([said], choosePictures(asked, context));
    const body = asked.format.append(asked.post.body, [...shown, results], asked.quirks);
    post = { ...asked.post, body, inFormat: undefined };
    turns.push(results);
  }
}

/** Runs the tools that an answer calls. Returns the turn of their results. */
async function runCalls(
  calls: ReturnType<typeof listCalls>,
  { text, stopReason }: Result,
  { context: { ui, report }, tools, isHeld, deadline }: TurnSetup & { tools: ToolCommands },
): Promise<Turn> {
  // stdout gets the JSON of the last answer alone.
  if (isHeld) await ui.think(text === '' ? '' : `${text}\n`);
  const run = await tools.run(calls, deadline.signal).catch((error: unknown) => {
    throw deadline.explain(error, 'reading');
  });
  (report.turns ??= []).push({ text, stopReason, toolCalls: run });
  return resultsTurn(run);
}

/** The request in the format in which the service wanted it, which is the one for those that follow. */
async function toAnsweredFormat(request: BuiltRequest, name: FormatName | undefined): Promise<BuiltRequest> {
  const post = name === undefined || name === request.post.format ? undefined : await request.post.inFormat?.(name);
  return post
    ? { ...request, post, format: await loadFormat(post.format), quirks: request.quirksIn(post.format) }
    : request;
}

/** The turn of the user, as a session keeps it. */
export function getQuestion({ request }: Pick<BuiltRequest, 'request'>): Turn {
  return { role: 'user', content: lastTurn(request) ?? [] };
}

/** Sends a request and counts its cost, also if it fails. An answer from the cache costs nothing. */
async function withCostCounted(
  ask: () => Promise<Answer>,
  reservation: Reservation | undefined,
  report: Report,
): Promise<Answer> {
  const { attempts } = report;
  try {
    const answer = await ask();
    if (report.attempts === attempts) {
      reservation?.free();
      return answer;
    }
    const [cost] = countCosts([answer], report);
    reservation?.spend(cost);
    return answer;
  } catch (error) {
    if (error instanceof GatewayError && error.billed === 'no') reservation?.free();
    else {
      reservation?.spend(undefined);
      report.meter?.lose();
    }
    throw error;
  }
}

async function askOnce(
  request: PreparedRequest,
  bounds: Pick<AskOptions, 'maxTurns' | 'beforeHop'>,
  { context, client, images, isMarkdown, isHeld, flags, deadline, onText }: TurnSetup,
): Promise<Answer> {
  const store = images.openStore();
  const progress = context.ui.progress('waiting for the gateway');
  const deltas = client.ask(request, {
    ...bounds,
    deadline,
    store,
    joined: flags.jsonl ? undefined : true,
    mostImages: images.most,
    beforeRead: () => stopPlain(progress, context),
  });
  const shown = { ...flags, isMarkdown, isHeld, progress, onText };
  const answer = await printStream(deltas, shown, context).finally(() => progress.stop());
  if (answer.result.sources && !flags.jsonl && !isHeld) {
    await printFootnotes(answer.result, flags, context);
  }
  context.report.result ??= answer.result;
  await images
    .save(listBlobs(answer.result), answer.result, () => checkEnd(deadline))
    .catch(async (error: unknown) => {
      if (isHeld) await printText(answer.result, { isMarkdown, context });
      throw error;
    });
  return answer;
}

/** The answer as a turn, with the pictures of its first candidate that were saved. */
function answerTurn({ content = [], images }: Result, { quirks }: BuiltRequest, { io: { cwd } }: AnswerContext): Turn {
  const pictures = images.flatMap(({ candidate, saved, signature, blob: { sha256 } }) =>
    saved && candidate === 0
      ? [pictureBlock({ path: saved.path, cwd }, { mimeType: saved.mimeType, sha256, signature })]
      : [],
  );
  return { role: 'assistant', content: [...content, ...pictures], service: quirks.service };
}

function tooManyTurns(turns: number): GatewayError {
  return new GatewayError('incomplete', `after ${turns} requests the model still calls tools`, {
    hint: `allow more: --max-turns ${turns * 2}`,
    sent: 'yes',
    retryable: false,
  });
}
