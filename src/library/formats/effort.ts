import { settingError, usageError } from '../errors.ts';
import { type Effort, effortNames, findEffortField, findEffortRule, ollamaEfforts } from '../vendors/effort.ts';
import type { PlainRequest } from './plain-request.ts';
import type { FormatName, Quirks } from './types.ts';

/**
 * Chooses the effort that is sent, with a note for the user if it is not the word that was asked for. Throws GatewayError usage
 * for an effort that the model is known not to take: no other effort is sent in its place, which could cost more or less.
 */
export function chooseEffort(
  { effort, efforts, model, body = {} }: PlainRequest,
  format: FormatName,
  { effort: form }: Quirks,
): { effort: Effort; note?: string } | undefined {
  if (effort === undefined) return undefined;
  if (!effortNames.includes(effort))
    throw usageError(`'${String(effort)}' is not an effort`, `the efforts are ${effortNames.join(', ')}`);
  const field = findEffortField(body);
  if (field !== undefined)
    throw usageError(`an effort is given, and the body has ${field}, which says the same`, 'keep one of them');
  // OpenRouter and Ollama find for each model the nearest word: the effort is only checked against the list of the service.
  const rule = form === undefined ? findEffortRule(model) : undefined;
  const takes = efforts?.takes ?? rule?.takes;
  const other = rule?.budgets ? undefined : chooseSubstitute(effort, takes, { format, form });
  if (other !== undefined) return { effort: other, note: `${model} has no effort ${effort}: ${other} is asked for` };
  if (takes === undefined || takes.includes(effort)) return { effort };
  throw settingError(`${model} does not take the effort ${effort}`, {
    reason: 'effort',
    value: takes.join(', ') || undefined,
  });
}

/** The nearest word of the format for an effort that it has no word for. The meaning is the same: the least or the most thinking. */
function chooseSubstitute(
  effort: Effort,
  takes: readonly string[] | undefined,
  { format, form }: { format: FormatName; form: Quirks['effort'] },
): Effort | undefined {
  if (form === 'ollama') return ollamaEfforts[effort];
  if (takes?.includes(effort)) return undefined;
  if (format === 'messages' && effort === 'minimal' && takes?.includes('low') !== false) return 'low';
  return format === 'content' && effort === 'none' && takes?.includes('minimal') ? 'minimal' : undefined;
}
