import { type Answer, emptyResult } from '../../client/content.ts';
import { adviceForRest } from '../../client/verdict.ts';
import type { Result } from '../../client/result.ts';
import type { Usage } from '../../formats/content/types.ts';
import { GatewayError } from '../../errors.ts';
import type { Outcome } from './send-all.ts';

/**
 * One answer from the outcomes of several requests: everything that came, usage added up. All failed: the first failure
 * is thrown. Some failed, or gave no picture: the answer is incomplete (exit 11) and says how many are missing.
 */
export function mergeAnswers(outcomes: readonly Outcome[]): Answer {
  const [only] = outcomes;
  if (outcomes.length === 1 && only?.answer) return only.answer;
  const answers = outcomes.flatMap(({ answer }) => answer ?? []);
  const failures = outcomes.flatMap(({ answer, failure }) => failure ?? answer?.error ?? []);
  if (answers.length === 0) throw failures[0] ?? new GatewayError('internal', 'no request was made');
  const result = mergeResults(answers.map((answer) => answer.result));
  const without = answers.filter((answer) => answer.result.images.length === 0).length;
  const missing = outcomes.length - answers.length + without;
  if (missing === 0 || result.images.length === 0) return { result, error: failures[0] };
  const why = failures[0] === undefined ? '' : `: ${failures[0].message}`;
  return {
    result,
    error: new GatewayError('incomplete', `${missing} of ${outcomes.length} images are missing${why}`, {
      ...failures[0]?.details,
      sent: 'yes',
      billed: 'yes',
      ...adviceForRest(missing),
      cause: failures[0],
    }),
  };
}

/** What came, also where more was asked for; undefined when nothing did. */
export function resultOf(outcomes: readonly Outcome[]): Result | undefined {
  const results = outcomes.flatMap(({ answer }) => answer?.result ?? []);
  return results.length > 1 ? mergeResults(results) : results[0];
}

function mergeResults(results: readonly Result[]): Result {
  const [first] = results;
  if (first === undefined) return emptyResult('');
  const files = results.flatMap((result) => result.files ?? []);
  return {
    ...first,
    ...(files.length > 0 && { files }),
    candidates: results.flatMap((result) => result.candidates),
    images: results.flatMap((result) => result.images),
    toolCalls: results.flatMap((result) => result.toolCalls),
    warnings: [...new Set(results.flatMap((result) => result.warnings))],
    usage: sumUsage(results.flatMap((result) => result.usage ?? [])),
    complete: results.every((result) => result.complete),
  };
}

/** Token counts added up; a count that nobody gave stays unknown. */
export function sumUsage(usages: readonly Usage[]): Usage | undefined {
  if (usages.length === 0) return undefined;
  const sum: Record<string, number> = {};
  for (const usage of usages) {
    for (const [name, count] of Object.entries(usage))
      if (typeof count === 'number') sum[name] = (sum[name] ?? 0) + count;
  }
  return sum;
}
