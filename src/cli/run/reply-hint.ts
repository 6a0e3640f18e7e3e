import { hintFor, hintOf, type Reason } from '../../advice.ts';
import { type ErrorClass, GatewayError } from '../../errors.ts';
import type { Context } from '../context.ts';

/** What an action threw; after a request, a failure that has no hint gets that of its class. */
export function withReplyHint(thrown: unknown, context: Pick<Context, 'report' | 'root'>, isRaw: boolean): unknown {
  if (!(thrown instanceof GatewayError) || context.report.attempts === 0) return thrown;
  const known = hintOf(thrown);
  if (known !== undefined) return withCost(thrown, known);
  const isKept = thrown.class === 'incomplete' && (isRaw || isAnythingKept(context));
  if (!isKept) return thrown.with({ reason: reasons[thrown.class] });
  const isText = context.root.json === true && (context.report.result?.text ?? '') !== '';
  return thrown.with({ reason: 'incomplete-kept', value: isText ? ' in `text`' : undefined });
}

const reasons: Partial<Record<ErrorClass, Reason>> = { 'bad-reply': 'bad-reply', incomplete: 'incomplete' };

/** A reply that is not valid was paid for: a hint that leads to a second request says so. */
function withCost(error: GatewayError, hint: string): GatewayError {
  const { status = 0 } = error.details;
  if (error.class !== 'bad-reply' || error.billed === 'no' || status < 200 || status > 299 || hint.includes('billed'))
    return error;
  return error.but({ hint: `${hint}\n${hintFor('bad-reply-paid', {})}` });
}

/** Whether a part of the reply was written or printed. The text of an image reply is only in the JSON document. */
function isAnythingKept({ report, root }: Pick<Context, 'report' | 'root'>): boolean {
  if (report.kept !== undefined || report.images.length > 0 || report.turns !== undefined) return true;
  const { candidates = [], text = '', toolCalls = [] } = report.result ?? {};
  if (root.json && toolCalls.length > 0) return true;
  const isText = text !== '' || candidates.some((candidate) => candidate.text !== '');
  return isText && (root.json === true || (!report.selected && !report.command.startsWith('image')));
}
