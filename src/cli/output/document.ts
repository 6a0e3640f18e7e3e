import {
  chooseHint,
  closest,
  exitCodes,
  findOwn,
  GatewayError,
  isObject,
  otherModel,
  type Result,
  shownFields,
  shellWord,
  totalCost,
} from '../../library/index.ts';
import type { Redaction } from '../settings/redact.ts';
import { jsonLine } from '../terminal/escape.ts';
import type { Outcome, OwnDocument, Report } from '../context.ts';
import { fieldPathText } from '../flags/set.ts';
import { documentEntries, type ErrorDocument } from './result-definition.ts';

/** The end of a run, which the document needs beside the report. */
interface DocumentEnd {
  error: GatewayError | undefined;
  durationMs: number;
  redaction: Redaction;
}

const { files: _, ...entries } = documentEntries;
/** A document without values: it has the order of the keys. The files come last. */
const noValues: Record<string, unknown> = Object.fromEntries(Object.keys(entries).map((name) => [name, undefined]));
const replyNames = Object.keys(shownFields) as (keyof Result)[];

/** The JSON document of a run; unknown keys are absent. */
export function resultDocument(report: Report, { error, durationMs, redaction }: DocumentEnd): object {
  const { outcome } = report;
  const { reply, images, files } = outcome;
  const ofCommand: Readonly<Record<string, unknown>> = {
    schema: 'gateway-cli/result@1',
    command: report.command,
    ok: error === undefined,
    complete: reply?.complete === true && error?.class !== 'incomplete',
    exitCode: error?.exitCode ?? exitCodes.ok.code,
    requestedModel: reply?.insteadOf?.model ?? reply?.model,
    model: reply && (otherModel(reply.model, reply.modelVersion) ?? reply.model),
    answer: outcome.answer,
    images: [],
    toolCalls: reply?.toolCalls ?? [],
    turns: outcome.turns,
    cost: totalCost(outcome.spent),
    tags: report.tags,
    warnings: report.warnings.map((warning) => redaction.redact(warning)),
    attempts: outcome.attempts,
    durationMs: Math.round(durationMs),
    error: error && errorDocument(unbilled(error, outcome), report, redaction),
  };
  const ofReply = Object.fromEntries(replyNames.map((name) => [name, reply?.[name]]));
  const document = redaction.clean({ ...noValues, ...ofReply, ...ofCommand });
  // Image paths are not redacted: they must work even if a name resembles the key.
  return Object.assign(document, { images }, files.length > 0 && { files });
}

/** The document of a command that has its own, with the keys that every document has about the run. */
export function ownDocument(
  { schema, ...facts }: OwnDocument,
  report: Report,
  { error, redaction }: Omit<DocumentEnd, 'durationMs'>,
): object {
  // The end is spread twice: first for the place of its keys, last because the command's own values can be out of date.
  const end = { ok: error === undefined, exitCode: error?.exitCode ?? exitCodes.ok.code };
  const failure = error && { error: errorDocument(error, report, redaction) };
  const warnings = report.warnings.map((warning) => redaction.redact(warning));
  return { schema, ...end, ...facts, ...end, warnings, ...failure };
}

/** If only recordings answered, the error says that nothing was sent or billed. */
function unbilled(error: GatewayError, { fromCache, attempts }: Outcome): GatewayError {
  return fromCache && attempts === 0 ? error.withDetails({ sent: 'no', billed: 'no' }) : error;
}

/** The `error` object of every JSON document. After a request, a missing fact of the error is unknown. */
export function errorDocument(
  error: GatewayError,
  { kept, outcome: { attempts, reply, images } }: Pick<Report, 'kept' | 'outcome'>,
  { redact }: Redaction,
): ErrorDocument {
  // A bug can be anywhere, also behind a request.
  const requested = attempts > 0 || error.class === 'internal';
  const hint = chooseHint(error);
  const { status, requestId, retryable, retryAfterMs, sent } = error.details;
  const hasAnswer = kept !== undefined || images.length > 0 || (reply?.text ?? '') !== '';
  const mayBeSent = requested || sent === 'yes';
  return {
    class: error.class,
    message: redact(error.message),
    hint: hint && redact(hint),
    // A mistake of `recover` may be that there is no such file.
    recovery: error.class === 'usage' ? undefined : kept,
    status,
    requestId,
    // An incomplete answer was kept; a retry would pay for it again.
    retryable: retryable === true && !(error.class === 'incomplete' && hasAnswer),
    retryAfterMs,
    sent: sent ?? (requested ? 'unknown' : 'no'),
    billed: mayBeSent || error.billed !== 'unknown' ? error.billed : 'no',
  };
}

/** The line that `--field` prints of a document; undefined if the document has no such value. */
export function fieldLine(document: object, steps: readonly string[]): string | undefined {
  const value = steps.reduce<unknown>(getStep, document);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return jsonLine(value);
  return value.endsWith('\n') ? value : `${value}\n`;
}

/** The error for a missing value (exit 10). Its hint has the nearest existing path. */
export function missingField(document: object, steps: readonly string[]): GatewayError {
  let known = 0;
  let value: unknown = document;
  for (const step of steps) {
    const next = getStep(value, step);
    if (next === undefined) break;
    value = next;
    known++;
  }
  return new GatewayError('no-result', `the result has no value at ${fieldPathText(steps)}`, {
    hint: nearestHint(value, steps.slice(0, known), steps[known] ?? ''),
    sent: 'yes',
    retryable: false,
  });
}

function nearestHint(value: unknown, before: readonly string[], step: string): string {
  const names = listSetKeys(value);
  const path = before.length === 0 ? 'the result' : fieldPathText(before);
  if (before.length === 0 && step === 'answer') return 'the result has an answer only with --schema';
  if (names.length === 0) return `${path} holds nothing further`;
  if (Array.isArray(value))
    return `${path} has ${names.length} of them; the last is ${fieldPathText([...before, names.at(-1) ?? ''])}`;
  const near = closest(step, names);
  if (near === undefined) return `${path} has: ${names.join(', ')}`;
  return `the nearest that it has: --field ${shellWord(fieldPathText([...before, near]))}`;
}

function getStep(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(step) ? (value[Number(step)] as unknown) : undefined;
  return isObject(value) ? findOwn(value, step) : undefined;
}

/** Keys without a value are not in the document. */
function listSetKeys(value: unknown): string[] {
  if (Array.isArray(value)) return [...value.keys()].map(String);
  return isObject(value) ? Object.keys(value).filter((key) => value[key] !== undefined) : [];
}
