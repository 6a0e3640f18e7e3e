import { isDeepStrictEqual } from 'node:util';
import { type Column, parseVariedId, type ReportRow, type Variation } from '../../batch/index.ts';
import { closest } from '../../closest.ts';
import { addCost } from '../../cost/cost.ts';
import type { Cost } from '../../cost/types.ts';
import { usageError } from '../../errors.ts';
import { isObject, numberField } from '../../json.ts';
import { toTemplateText } from '../../cli/input/template-variables.ts';
import { shellWord } from '../../shell-word.ts';
import { usesText } from './jobs/references.ts';

/** One row of the table with the jobs that its variations are, by their labels: of their values those that are the same in all. */
export function joinVariations(id: string, jobs: Readonly<Record<string, ReportRow>>): ReportRow {
  const rows = Object.values(jobs);
  const [first, ...others] = rows.filter((row) => row.command !== undefined);
  const vars =
    first?.vars &&
    Object.fromEntries(
      Object.entries(first.vars).filter(([name, value]) =>
        others.every((row) => isDeepStrictEqual(row.vars?.[name], value)),
      ),
    );
  const prompt = others.every((row) => row.prompt === first?.prompt) ? first?.prompt : undefined;
  const state = rows.find((row) => row.state !== 'done')?.state ?? 'done';
  const { version } = rows[0] ?? {};
  return { id, version, state, ...(first && { vars, prompt }), images: [], variations: jobs };
}

/** A row without what its variations give it, which needs no column. */
export function omitVaried(row: ReportRow, variations: readonly Variation[]): ReportRow {
  const varied = new Set(variations.flatMap(({ values: { vars } }) => (isObject(vars) ? Object.keys(vars) : [])));
  const vars = Object.entries(row.vars ?? {}).filter(([name]) => !varied.has(name));
  const isSamePrompt = ['vars', 'prompt', 'promptFile'].every((key) =>
    variations.every(({ values }) => values[key] === undefined),
  );
  return { ...row, vars: Object.fromEntries(vars), prompt: isSamePrompt ? row.prompt : undefined };
}

/** A column for each variation: its answer, its pictures or its error. */
export function listVariationColumns(variations: readonly Variation[]): Column[] {
  return variations.map(({ label }) => ({
    name: label,
    cell: ({ variations: jobs }) => describeAnswer(jobs?.[label]),
  }));
}

function describeAnswer(row: ReportRow | undefined): string | undefined {
  if (row === undefined) return undefined;
  const { state, answer, text = '', images, error } = row;
  if (state !== 'done') return `${state}${error ? `: ${error.class}: ${error.message}` : ''}`;
  if (answer !== undefined) return JSON.stringify(answer);
  return text === '' ? images.join('; ') : text;
}

/** What the jobs with one value of a key came to. */
interface Sums {
  jobs: number;
  done: number;
  failed: number;
  unknown: number;
  pending: number;
  fits: number;
  inputTokens: number;
  outputTokens: number;
  costs: readonly Cost[];
  durationMs: number;
}

const noSums: Sums = {
  jobs: 0,
  done: 0,
  failed: 0,
  unknown: 0,
  pending: 0,
  fits: 0,
  inputTokens: 0,
  outputTokens: 0,
  costs: [],
  durationMs: 0,
};

/** A row for each value of a key that varies, or of several together, with the sums of its jobs. */
export async function sumBy(
  keys: readonly string[],
  jobs: AsyncIterable<ReportRow>,
  variations: readonly Variation[],
): Promise<{ columns: Column[]; rows: ReportRow[] }> {
  const byValues = new Map<string, Sums>();
  for await (const row of jobs) {
    const values = parseVariedId(row.id, variations)?.variation.values;
    const names = JSON.stringify(keys.map((key) => toTemplateText(values?.[key] ?? '')));
    byValues.set(names, addRowToSums(byValues.get(names) ?? noSums, row));
  }
  const rows = Array.from(byValues, ([values, { costs, ...sums }]): ReportRow => {
    const [cost, ...others] = costs;
    const amounts =
      others.length > 0 ? costs.map(({ amount, currency }) => `${amount} ${currency}`).join('; ') : cost?.amount;
    const vars = {
      ...sums,
      'cost.amount': amounts ?? '',
      'cost.currency': others.length > 0 ? '' : (cost?.currency ?? ''),
    };
    return { id: values, state: 'done', vars, images: [] };
  });
  const names = [...new Set(rows.flatMap(({ vars = {} }) => Object.keys(vars)))];
  const needed = names.filter((name) => name === 'jobs' || name === 'done' || rows.some(({ vars }) => vars?.[name]));
  const own = keys.map((name, at): Column => ({ name, cell: ({ id }) => (JSON.parse(id) as string[])[at] }));
  return { columns: [...own, ...needed.map(toSumColumn)], rows };
}

function toSumColumn(name: string): Column {
  return { name, cell: ({ vars }) => vars?.[name] as string | number | undefined };
}

function addRowToSums(sums: Sums, { state, answer, usage = {}, cost, durationMs = 0 }: ReportRow): Sums {
  return {
    ...sums,
    jobs: sums.jobs + 1,
    [state]: sums[state] + 1,
    fits: sums.fits + (answer === undefined ? 0 : 1),
    inputTokens: sums.inputTokens + (numberField(usage, 'inputTokens') ?? 0),
    outputTokens: sums.outputTokens + (numberField(usage, 'outputTokens') ?? 0),
    costs: isCost(cost) ? addCost(sums.costs, cost) : sums.costs,
    durationMs: sums.durationMs + durationMs,
  };
}

function isCost(cost: unknown): cost is Cost {
  return isObject(cost) && typeof cost['amount'] === 'string' && typeof cost['currency'] === 'string';
}

/** Throws GatewayError usage for a key of `--by` by which nothing varies. */
export function requireVaried(key: string, variations: readonly Variation[]): void {
  const keys = [...new Set(variations.flatMap(({ values }) => Object.keys(values)))];
  if (keys.includes(key)) return;
  const message = `--by ${key}: nothing in this batch varies by it`;
  const near = closest(key, [...keys, 'job']);
  if (near !== undefined) throw usageError(message, `did you mean: --by ${shellWord(near)}`);
  const others = keys.map((one) => `--by ${shellWord(one)}`).join(', ');
  throw usageError(message, others ? `what varies: ${others}` : 'for example: gateway-cli batch … --vary model=a,b');
}

/**
 * The file of promptfoo: its providers are the variations, and each test has an answer of this batch as `providerOutput`, so that
 * nothing is sent and its assertions hold for what was paid. Its keys: `TestCaseSchema` in src/types/index.ts of promptfoo/promptfoo
 * at 0011eb02 (2026).
 */
export function toPromptfooTest(
  { id, vars, prompt, answer, text = '', images, ...row }: ReportRow,
  label: string,
): object {
  const { cost, usage, durationMs } = row;
  // With the text of another job only its template is known.
  const known = prompt === undefined || usesText(prompt) ? {} : { prompt };
  const filled = Object.entries({ ...vars, ...known }).filter(([, value]) => value !== null && value !== undefined);
  return {
    description: id,
    vars: Object.fromEntries(filled),
    providers: [label],
    providerOutput: answer === undefined ? text || images.join('\n') : JSON.stringify(answer),
    options: { disableVarExpansion: true },
    metadata: { id, cost, usage, durationMs },
  };
}
