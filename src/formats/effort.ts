import { settingError, usageError } from '../errors.ts';
import { type Effort, effortNames, findEffortField, findEffortRule, ollamaEfforts } from '../vendors/effort.ts';
import type { PlainRequest } from './plain-request.ts';
import type { FormatName, Quirks } from './types.ts';

/**
 * The effort that is sent, and what the user is told where another word stands for the one that was asked for. Throws GatewayError
 * usage for what the model is known not to take: nothing that costs more, or less, is sent in its place.
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
  // OpenRouter and Ollama find for each model the word that is nearest: only what the list says is held against it.
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

/** The word nearest to one that a format has no word for; what it means is the same: as little as there is, or as much. */
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
