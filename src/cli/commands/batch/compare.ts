import { isDeepStrictEqual } from 'node:util';
import {
  type Column,
  parseVariedId,
  type ReportRow,
  type RowBlocks,
  type RowState,
  type Variation,
} from '../../../batch/index.ts';
import {
  addCost,
  append,
  closest,
  type Cost,
  isObject,
  numberField,
  shellWord,
  usageError,
} from '../../../library/index.ts';
import { toTemplateText } from '../../input/template-variables.ts';
import type { Table } from './reports.ts';

/** One of the jobs that a row of the table became if values vary. */
interface VariedJob {
  /** The id of the row. */
  of: string;
  label: string;
  job: ReportRow;
}

/**
 * Joins the jobs that a row of the table became into one row. A job of a variation that the table does not have any more stays a
 * row of its own.
 */
export async function* joinVariations(
  jobs: RowBlocks,
  variations: readonly Variation[],
): AsyncGenerator<readonly ReportRow[], void> {
  let group: VariedJob[] = [];
  let earlier: ReportRow[] = [];
  for await (const block of jobs) {
    const rows: ReportRow[] = [];
    for (const job of block) {
      // An answer that can be chosen is named on a line of its own, after its row, and parts no group.
      if (job.choose !== undefined) {
        (group.length > 0 ? earlier : rows).push(job);
        continue;
      }
      const found = parseVariedId(job.id, variations);
      const next = found && { of: found.id, label: found.variation.label, job };
      if (group.length > 0 && !group.every((one) => next && belongTogether(one, next))) {
        rows.push(joinGroup(group));
        append(rows, earlier);
        [group, earlier] = [[], []];
      }
      if (next) group.push(next);
      else rows.push(job);
    }
    yield rows;
  }
  if (group.length > 0) yield [joinGroup(group), ...earlier];
}

function belongTogether(one: VariedJob, other: VariedJob): boolean {
  return one.of === other.of && one.label !== other.label && isEarlier(one) === isEarlier(other);
}

function isEarlier({ job }: VariedJob): boolean {
  return job.version === 'earlier';
}

/** Joins several jobs: the values that are the same in all, and the answer of each. */
function joinGroup(group: readonly VariedJob[]): ReportRow {
  const [{ of, job: first }, ...others] = group as [VariedJob, ...VariedJob[]];
  const isSame = (valueOf: (job: ReportRow) => unknown): boolean =>
    others.every(({ job }) => isDeepStrictEqual(valueOf(job), valueOf(first)));
  const vars = Object.entries(first.vars ?? {}).filter(([name]) => isSame((job) => job.vars?.[name]));
  return {
    id: of,
    version: group.some(({ job }) => job.version === 'outdated') ? 'outdated' : first.version,
    state: group.find(({ job }) => job.state !== 'done')?.job.state ?? 'done',
    vars: Object.fromEntries(vars),
    prompt: isSame(({ prompt }) => prompt) ? first.prompt : undefined,
    images: [],
    variations: Object.fromEntries(group.map(({ label, job }) => [label, describeAnswer(job)])),
  };
}

/** A column for each variation: its answer, its pictures or its error. */
export function listVariationColumns(variations: readonly Variation[]): Column[] {
  return variations.map(({ label }) => ({ name: label, cell: (row) => row.variations?.[label] }));
}

function describeAnswer({ state, version, answer, text = '', images, error }: ReportRow): string {
  if (state !== 'done' && !(state === 'pending' && version === 'outdated'))
    return `${state}${error ? `: ${error.class}: ${error.message}` : ''}`;
  if (answer !== undefined) return JSON.stringify(answer);
  return text === '' ? images.join('; ') : text;
}

/** The sums of the jobs with one value of a key. */
interface Sums extends Record<RowState, number> {
  jobs: number;
  /** The number of answers that fit `--schema`. */
  fits: number;
  inputTokens: number;
  outputTokens: number;
  durationMs: number;
  costs: readonly Cost[];
}

const noSums: Sums = {
  jobs: 0,
  done: 0,
  failed: 0,
  unknown: 0,
  submitted: 0,
  pending: 0,
  fits: 0,
  inputTokens: 0,
  outputTokens: 0,
  durationMs: 0,
  costs: [],
};

type SumRow = Readonly<Record<string, string | number | undefined>>;

/** One row for each value of a key that varies, or of several keys together, with the sums of its jobs. */
export async function sumBy(
  keys: readonly string[],
  jobs: RowBlocks,
  variations: readonly Variation[],
): Promise<Table<SumRow>> {
  const byValues = new Map<string, Sums>();
  for await (const block of jobs)
    for (const job of block) {
      const values = parseVariedId(job.id, variations)?.variation.values;
      const texts = JSON.stringify(keys.map((key) => [key, toTemplateText(values?.[key] ?? '')]));
      byValues.set(texts, addJob(byValues.get(texts) ?? noSums, job));
    }
  const rows = Array.from(byValues, ([texts, sums]): SumRow => {
    const { costs, ...counts } = sums;
    return { ...Object.fromEntries(JSON.parse(texts) as [string, string][]), ...counts, ...describeCost(costs) };
  });
  const needed = new Set<string>([...keys, 'jobs', 'done']);
  const names = Object.keys(rows[0] ?? {}).filter((name) => needed.has(name) || rows.some((row) => row[name]));
  return { columns: names.map((name) => ({ name, cell: (row) => row[name] })), rows: [rows] };
}

function addJob(sums: Sums, { state, version, answer, usage = {}, cost, durationMs = 0 }: ReportRow): Sums {
  const counted = { ...sums, jobs: sums.jobs + 1, [state]: sums[state] + 1 };
  // It shows an earlier answer.
  if (state !== 'done' && version === 'outdated') return counted;
  return {
    ...counted,
    fits: sums.fits + (answer === undefined ? 0 : 1),
    inputTokens: sums.inputTokens + (numberField(usage, 'inputTokens') ?? 0),
    outputTokens: sums.outputTokens + (numberField(usage, 'outputTokens') ?? 0),
    durationMs: sums.durationMs + durationMs,
    costs: isCost(cost) ? addCost(sums.costs, cost) : sums.costs,
  };
}

function isCost(cost: unknown): cost is Cost {
  return isObject(cost) && typeof cost['amount'] === 'string' && typeof cost['currency'] === 'string';
}

/** The cells of a sum of costs: amounts in several currencies have none. */
function describeCost(costs: readonly Cost[]): SumRow {
  const [cost, ...others] = costs;
  if (others.length === 0) return { 'cost.amount': cost?.amount, 'cost.currency': cost?.currency };
  const amounts = costs.map(({ amount, currency }) => `${amount} ${currency}`);
  return { 'cost.amount': amounts.join('; '), 'cost.currency': undefined };
}

/** Throws GatewayError usage for a key of `--by` that does not vary. */
export function requireVaried(key: string, variations: readonly Variation[]): void {
  const keys = [...new Set(variations.flatMap(({ values }) => Object.keys(values)))];
  if (keys.includes(key)) return;
  const message = `--by ${key}: nothing in this batch varies by it`;
  const near = closest(key, [...keys, 'job']);
  if (near !== undefined) throw usageError(message, `did you mean: --by ${shellWord(near)}`);
  const others = keys.map((one) => `--by ${shellWord(one)}`).join(', ');
  throw usageError(message, others ? `what varies: ${others}` : 'for example: gateway-cli batch … --vary model=a,b');
}
