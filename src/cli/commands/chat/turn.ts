import {
  checkEnd,
  type Deadline,
  defaultMaxTurns,
  type FormatName,
  type GatewayClient,
  GatewayError,
  lastTurn,
  loadFormat,
  type PreparedRequest,
  type Result,
  type Turn,
} from '../../../library/index.ts';
import { openPictures, pictureBlock } from '../../input/session-pictures.ts';
import type { ChatFlags } from './session.ts';
import { listToolCalls, resultsTurn, type ToolCommands } from './tools.ts';
import type { AnswerContext, Outcome, ToolRound } from '../../context.ts';
import type { ImageOutput } from '../../output/save-images.ts';
import { printStream, printText } from '../../output/print.ts';
import { type BuiltRequest, choosePictures } from '../../request/build-request.ts';
import { askForOutcome, saveFiles } from '../../run/ask.ts';
import { tryFindSchemaAnswer, type SchemaAnswer } from '../../run/answer.ts';
import type { SchemaCheck } from '../../input/schema.ts';
import { printFootnotes } from '../../output/footnotes.ts';
import { joinOutcomes } from '../../output/outcome.ts';
import type { Settings } from '../../settings/types.ts';

/** The parts of a turn that are not in its request. */
interface TurnSetup {
  context: AnswerContext;
  settings: Settings;
  client: GatewayClient;
  flags: ChatFlags;
  images: ImageOutput;
  tools: ToolCommands | undefined;
  /** The time of the turn, tools included. */
  deadline: Deadline;
  /** Receives the text of the answers as it arrives. */
  onText?: ((text: string) => void) | undefined;
}

/** The parts that the requests of a turn share. */
interface OpenTurn extends TurnSetup {
  /** Whether the Markdown of the answer is formatted, if stdout is a terminal that can show it. */
  isMarkdown: boolean;
  /** The last answer is printed when it was checked by `--schema`. */
  check: SchemaCheck | undefined;
}

/** The end of a turn: the joined outcome of its requests, and the turns that it added to the conversation. */
export interface TurnEnd {
  outcome: Outcome;
  turns: readonly Turn[];
  /** The last answer after its check by `--schema`. */
  schemaAnswer: SchemaAnswer | undefined;
}

/**
 * Sends a request and prints the answer; while the model calls tools, runs them and sends again. If there is a schema, the last
 * answer is checked and printed then. Never throws.
 */
export async function askTurn(request: BuiltRequest, given: TurnSetup): Promise<TurnEnd> {
  const { check } = request;
  const setup: OpenTurn = { ...given, check, isMarkdown: given.settings.markdown && check === undefined };
  const { rounds, turns, ...end } = await askRounds(request, setup);
  const outcome = { ...joinOutcomes(rounds, 'rounds'), ...end };
  const checked = await printChecked(outcome, setup).catch(toThrown);
  if (checked && 'thrown' in checked) return { outcome: { ...outcome, ...checked }, turns, schemaAnswer: undefined };
  return { outcome, turns, schemaAnswer: checked };
}

function toThrown(value: unknown): Required<Pick<Outcome, 'thrown'>> {
  return { thrown: { value } };
}

/** Prints the answer that waited for its check. */
async function printChecked(
  { reply, error, thrown }: Outcome,
  { check, context, flags, isMarkdown, deadline }: OpenTurn,
): Promise<SchemaAnswer | undefined> {
  if (check === undefined || reply === undefined || thrown) return undefined;
  const schemaAnswer = await tryFindSchemaAnswer(check, { result: reply, error }, { flags, deadline: () => deadline });
  if (!flags.jsonl) await printText(reply, { isMarkdown, json: schemaAnswer.json, context });
  return schemaAnswer;
}

/** The end of the rounds of a turn: the requests, what they added to the conversation, and the failure. */
interface Rounds extends Pick<Outcome, 'error' | 'thrown'> {
  rounds: readonly Outcome[];
  turns: readonly Turn[];
}

/** Asks round after round, as long as the model calls tools. Never throws: what came before a failure is returned beside it. */
async function askRounds(request: BuiltRequest, setup: OpenTurn): Promise<Rounds> {
  const { context, tools, flags } = setup;
  const { maxTurns = defaultMaxTurns } = flags;
  const rounds: Outcome[] = [];
  const turns: Turn[] = [getQuestion(request)];
  let next = request;
  try {
    for (;;) {
      // The same command would pay again for the requests before.
      const wasPaid = rounds.some(({ attempts }) => attempts > 0);
      const round = await askRound(next, maxTurns - countSent(rounds), setup);
      rounds.push(round);
      const { reply, thrown, error } = round;
      if (thrown && wasPaid) return { rounds, turns, ...endPaid(thrown.value) };
      if (thrown || reply === undefined) return { rounds, turns, thrown };

      const asked = await toAnsweredFormat(next, reply.format);
      const said = answerTurn({ ...round, reply }, asked, context);
      turns.push(said);
      const calls = listToolCalls(said);
      // If an answer could not be written, for example on a full disk, no further answer is paid for.
      const hasOutputFailed = context.io.stdout.failure !== undefined || round.unsaved.failure !== undefined;
      if (error || hasOutputFailed || !tools?.canRun(reply, calls)) return { rounds, turns, error };
      const sent = countSent(rounds);
      if (sent >= maxTurns) return { rounds, turns, error: tooManyTurns(sent) };

      const ran = await runCalls(calls, reply, { ...setup, tools });
      rounds.splice(-1, 1, { ...round, turns: [ran] });
      const results = resultsTurn(ran.toolCalls);
      turns.push(results);
      next = await withTurns([said, results], asked, context);
    }
  } catch (error) {
    return { rounds, turns, ...toThrown(error) };
  }
}

function countSent(rounds: readonly Outcome[]): number {
  return rounds.reduce((sum, { reply }) => sum + (reply ? (reply.requests ?? 1) : 0), 0);
}

/** The end of a turn whose earlier rounds are paid for. */
function endPaid(thrown: unknown): Pick<Outcome, 'error' | 'thrown'> {
  if (!(thrown instanceof GatewayError)) return toThrown(thrown);
  const failure = thrown.withDetails({ sent: 'yes', billed: 'yes', retryable: false });
  // What came before the limit was reached is the answer.
  return failure.class === 'over-budget' ? { error: failure, thrown: undefined } : toThrown(failure);
}

/** The request that goes on with further turns. */
async function withTurns(turns: readonly Turn[], asked: BuiltRequest, context: AnswerContext): Promise<BuiltRequest> {
  const pictured = await openPictures(turns, choosePictures(asked, context));
  const body = asked.format.append(asked.post.body, pictured, asked.quirks);
  return { ...asked, post: { ...asked.post, body, inFormat: undefined } };
}

/** Runs the tools that an answer calls. */
async function runCalls(
  calls: ReturnType<typeof listToolCalls>,
  { text, stopReason }: Result,
  { context: { ui }, tools, check, deadline }: OpenTurn & { tools: ToolCommands },
): Promise<ToolRound> {
  // stdout gets the JSON of the last answer alone.
  if (check) await ui.think(text === '' ? '' : `${text}\n`);
  const toolCalls = await tools.run(calls, deadline.signal).catch((error: unknown) => {
    throw deadline.explain(error, 'reading');
  });
  return { text, stopReason, toolCalls };
}

/** The request in the format that the service asked for; later requests use it too. */
async function toAnsweredFormat(request: BuiltRequest, name: FormatName | undefined): Promise<BuiltRequest> {
  const post = name === undefined || name === request.post.format ? undefined : await request.post.inFormat?.(name);
  return post
    ? { ...request, post, format: await loadFormat(post.format), quirks: request.quirksIn(post.format) }
    : request;
}

/** The turn of the user, as a session keeps it. */
export function getQuestion({ plain }: Pick<BuiltRequest, 'plain'>): Turn {
  return { role: 'user', content: lastTurn(plain) ?? [] };
}

/** Asks once, prints the answer while it comes, and saves its pictures. */
async function askRound(
  request: PreparedRequest,
  maxTurns: number,
  { context, settings, client, images, isMarkdown, check, flags, deadline, onText }: OpenTurn,
): Promise<Outcome> {
  const progress = context.ui.progress('waiting for the gateway');
  const waitsForCheck = check !== undefined;
  const printing = { ...flags, isMarkdown, waitsForCheck, progress, onText };
  const outcome = await askForOutcome(request, {
    maxTurns,
    client,
    pricing: settings,
    deadline,
    images,
    read: (deltas) => printStream(deltas, printing, context).finally(() => progress.stop()),
  });
  const { reply } = outcome;
  if (reply === undefined) return outcome;
  if (reply.sources && !flags.jsonl && !waitsForCheck) await printFootnotes(reply, flags, context);
  const saved = await saveFiles(outcome, images, () => checkEnd(deadline));
  if (saved.thrown && waitsForCheck) await printText(reply, { isMarkdown, context });
  return saved;
}

/** The answer as a turn, with the pictures of its first candidate that have a file. */
function answerTurn(
  { reply: { content = [], images }, images: written }: Outcome & { reply: Result },
  { quirks }: BuiltRequest,
  { io: { cwd } }: AnswerContext,
): Turn {
  const pictures = written
    .filter(({ path, candidate }) => path !== '-' && candidate === 0)
    .map(({ path, mimeType, sha256 }) => {
      const signature = images.find(({ blob }) => blob.sha256 === sha256)?.signature;
      return pictureBlock({ path, cwd }, { mimeType, sha256, signature });
    });
  return { role: 'assistant', content: [...content, ...pictures], service: quirks.service };
}

function tooManyTurns(turns: number): GatewayError {
  return new GatewayError('incomplete', `after ${turns} requests the model still calls tools`, {
    hint: `allow more: --max-turns ${turns * 2}`,
    sent: 'yes',
    retryable: false,
  });
}
