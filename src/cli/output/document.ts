import type { GatewayError } from '../../errors.ts';
import { outcomes } from '../../errors.ts';
import { otherModel } from '../../model-name.ts';
import type { Redaction } from '../../settings/redact.ts';
import type { Report } from '../context.ts';
import { hintOf } from '../../advice.ts';
import type { ResultDocument } from './result-definition.ts';

/** A report with nothing in it. */
export function emptyReport(command: string): Report {
  return { command, images: [], warnings: [], attempts: 0, lost: { images: [], text: false } };
}

/** How a run ended, and what keeps its secrets out of the document. */
export interface DocumentEnd {
  error: GatewayError | undefined;
  durationMs: number;
  redaction: Redaction;
}

/** The one JSON document of a run; absent keys are unknown. */
export function resultDocument(report: Report, { error, durationMs, redaction }: DocumentEnd): ResultDocument {
  const { result } = report;
  const document = redaction.clean<ResultDocument>({
    schema: 'gateway-cli/result@1',
    command: report.command,
    ok: error === undefined,
    complete: result?.complete === true && error?.class !== 'incomplete',
    exitCode: error?.exitCode ?? outcomes.ok.code,
    requestedModel: result?.model,
    model: result && (otherModel(result.model, result.modelVersion) ?? result.model),
    modelVersion: result?.modelVersion,
    responseId: result?.responseId,
    role: result?.role,
    text: result?.text,
    answer: report.answer,
    candidates: result?.candidates,
    images: [],
    toolCalls: result?.toolCalls ?? [],
    turns: report.turns,
    stopReason: result?.stopReason,
    stopSequence: result?.stopSequence,
    promptFeedback: result?.promptFeedback,
    serviceTier: result?.serviceTier,
    usage: result?.usage,
    cost: report.meter?.total,
    warnings: report.warnings.map((warning) => redaction.redact(warning)),
    attempts: report.attempts,
    durationMs: Math.round(durationMs),
    error: error && errorDocument(unbilled(error, report), report.attempts > 0, redaction),
  });
  // Where a picture stands is so, whatever its name is like.
  return { ...document, images: report.images, ...(report.files && { files: report.files }) };
}

/** The same failure; where recordings alone answered, nothing was sent, whatever is wrong with the answer. */
export function unbilled(error: GatewayError, { fromCache, attempts }: Report): GatewayError {
  return fromCache && attempts === 0 ? error.but({ sent: 'no', billed: 'no' }) : error;
}

/** The `error` object of every JSON document. What the error does not tell is unknown once a request was made. */
function errorDocument(error: GatewayError, requested: boolean, { redact }: Redaction): ResultDocument['error'] {
  const hint = hintOf(error);
  const { status, requestId, retryable, retryAfterMs, sent } = error.details;
  return {
    class: error.class,
    message: redact(error.message),
    hint: hint && redact(hint),
    status,
    requestId,
    retryable: retryable ?? false,
    retryAfterMs,
    sent: sent ?? (requested ? 'unknown' : 'no'),
    billed: requested || error.billed !== 'unknown' ? error.billed : 'no',
  };
}
