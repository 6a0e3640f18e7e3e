import {
  type AnyApiRequest,
  chooseHint,
  closest,
  type ErrorClass,
  GatewayError,
  getAskedModel,
  hintFor,
  type Reason,
} from '../../library/index.ts';
import { findKeptEfforts, listKeptModels, openFacts } from '../settings/memory.ts';
import type { PartialSettings } from '../settings/types.ts';
import type { Context, Report, RootOptions } from '../context.ts';

/**
 * Adds settings to the hint of an error of a request: the key that was refused, the flags that lead to the same gateway, and the
 * nearest name in the kept list of models if the service did not find the model.
 */
export async function withSettingsHint(
  thrown: GatewayError,
  apiRequest: AnyApiRequest,
  settings: PartialSettings,
  { io }: Context,
): Promise<GatewayError> {
  const { key, typedFlags } = settings;
  const error = thrown.withDetails({
    flags: typedFlags,
    ...(thrown.class === 'auth' && 'origin' in key && { source: key.origin.from }),
  });
  const { reason, status } = error.details;
  if (reason === 'effort' && error.details.value === undefined) {
    const facts = await openFacts(settings, io.now);
    const { takes = [] } = findKeptEfforts(facts, getAskedModel(apiRequest) ?? '') ?? {};
    return takes.length === 0 ? error : error.withDetails({ value: takes.join(', ') });
  }
  const isPath = status === 404 && (reason === 'no-such-path' || reason === 'no-stream');
  if (reason !== 'model' && reason !== 'pull-model' && !isPath) return error;
  const model = getAskedModel(apiRequest);
  if (model === undefined) return error;
  const kept = listKeptModels(await openFacts(settings, io.now));
  // Ollama lists each name with a tag, and also accepts the name without it.
  const names = kept.map((name) => name.replace(/:latest$/, ''));
  if ([...kept, ...names].includes(model)) return error;
  const nearest = kept.find((name) => name.endsWith(`/${model}`)) ?? closest(model, names);
  return nearest === undefined ? error : error.withDetails({ reason: 'nearest-model', value: nearest });
}

/** Adds a hint to the error of an action. After a request, an error without a hint gets the hint of its class. */
export function withReplyHint(
  thrown: unknown,
  { report, root }: { report: Report; root: RootOptions },
  isRaw: boolean,
): unknown {
  if (!(thrown instanceof GatewayError) || report.outcome.attempts === 0) return thrown;
  const known = chooseHint(thrown);
  if (known !== undefined) return withCost(thrown, known);
  const isKept = thrown.class === 'incomplete' && (isRaw || isAnythingKept(report, root));
  if (!isKept) return thrown.withDefaults({ reason: reasons[thrown.class] });
  const isText = root.json === true && (report.outcome.reply?.text ?? '') !== '';
  return thrown.withDefaults({ reason: 'incomplete-kept', value: isText ? ' in `text`' : undefined });
}

const reasons: Partial<Record<ErrorClass, Reason>> = { 'bad-reply': 'bad-reply', incomplete: 'incomplete' };

/** A reply that is not valid was paid for: a hint that leads to a second request says so. */
function withCost(error: GatewayError, hint: string): GatewayError {
  const { status = 0 } = error.details;
  if (error.class !== 'bad-reply' || error.billed === 'no' || status < 200 || status > 299 || hint.includes('billed'))
    return error;
  return error.withDetails({ hint: `${hint}\n${hintFor('bad-reply-paid', {})}` });
}

/** Whether a part of the reply was written or printed. The text of an image reply is only in the JSON document. */
function isAnythingKept({ kept, selected, command, outcome }: Report, root: RootOptions): boolean {
  if (kept !== undefined || outcome.images.length > 0 || outcome.turns !== undefined) return true;
  const { candidates = [], text = '', toolCalls = [] } = outcome.reply ?? {};
  if (root.json && toolCalls.length > 0) return true;
  const isText = text !== '' || candidates.some((candidate) => candidate.text !== '');
  return isText && (root.json === true || (!selected && !command.startsWith('image')));
}
