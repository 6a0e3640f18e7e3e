import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { createLineWriter } from '../../output/csv.ts';
import {
  areWithin,
  type CostRow,
  describeReadError,
  GatewayError,
  groupCosts,
  type Grouping,
  groupings,
  type LedgerSummary,
  listFolder,
  shellWord,
  subtractAmounts,
  sumAmounts,
  summarizeLedger,
  usageError,
} from '../../../library/index.ts';
import { budgetForm, isBudgetPath, parseAge } from '../../settings/values.ts';
import { alignColumns } from '../../terminal/break-lines.ts';
import { escapeLine, writeEscaped } from '../../terminal/escape.ts';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { addFlags, type FlagTable, type FlagValues, notAFlag, oneOfWords, setExamples } from '../../flags/flag.ts';
import { budgetsFolder } from '../../run/budget.ts';

const showFlags = {
  budget: {
    flags: '--budget <name|path>',
    text: 'only this budget (default: all of the state folder; others by their path)',
    parse: notAFlag,
    repeat: true,
  },
} satisfies FlagTable;

const reportFlags = {
  by: {
    flags: '--by <what>',
    text: `group by ${groupings.join(', ')} (default: day)`,
    parse: oneOfWords(groupings),
    values: groupings,
    repeat: true,
  },
  since: { flags: '--since <time>', text: 'from the UTC day of this long ago, such as 7d or 12h', parse: parseAge },
  csv: { flags: '--csv', text: 'print CSV' },
  ...showFlags,
} satisfies FlagTable;

/** `costs`: each budget, and the amount that is left. */
export function costsShowCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli costs', 'gateway-cli costs --budget team --json | jq -r .budgets[0].left']);
  addFlags(command, 'Flags', showFlags);
  return (context, _words, flags) => runShow(flags as FlagValues<typeof showFlags>, context);
}

/** `costs report`: the costs of the requests of budgets, in groups. */
export function costsReportCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, [
    'gateway-cli costs report --by model --since 7d',
    'gateway-cli costs report --by tag --budget team --csv > costs.csv',
  ]);
  addFlags(command, 'Flags', reportFlags);
  return (context, _words, flags) => runReport(flags as FlagValues<typeof reportFlags>, context);
}

interface ListedBudget extends LedgerSummary {
  name: string;
  path: string;
}

/** The budgets that flags name, or all of the state folder. Throws GatewayError usage for a budget that does not exist. */
async function listBudgets(named: readonly string[] | undefined, { io }: Context): Promise<ListedBudget[]> {
  const folder = await budgetsFolder();
  // The budget without the amount that other commands need: it has no meaning here.
  const places = named?.map((word) => budgetForm.exec(word)?.[1] ?? word) ?? (await budgetNames(folder));
  const found: ListedBudget[] = [];
  for (const place of places) {
    const path = isBudgetPath(place) ? resolve(io.cwd, place) : join(folder, `${place}.jsonl`);
    const summary = await summarizeLedger(path, io.now()).catch((error: unknown) => {
      if (error instanceof GatewayError) throw error;
      throw usageError(
        `the budget ${place} cannot be read: ${describeReadError(error)}`,
        `ls -l ${shellWord(path)}`,
        error,
      );
    });
    if (summary !== undefined) found.push({ name: place, path, ...summary });
    else if (named !== undefined) throw usageError(`there is no budget ${place}`, 'to see all: gateway-cli costs');
  }
  return found;
}

async function budgetNames(folder: string): Promise<string[]> {
  const names = await listFolder(folder, 'budgets');
  return names
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => basename(name, '.jsonl'))
    .toSorted();
}

/** The amount that is left of the limit; 0 if requests without a bound exceeded it. */
function describeLeft({ limit, spent, inFlight }: LedgerSummary): string | undefined {
  if (limit === undefined) return undefined;
  const taken = sumAmounts([spent, inFlight]);
  return areWithin([taken], limit.amount) ? subtractAmounts(limit.amount, taken) : '0';
}

async function runShow({ budget }: FlagValues<typeof showFlags>, context: Context): Promise<CommandEnd | void> {
  const { root, ui } = context;
  const budgets = await listBudgets(budget, context);
  if (root.json) {
    return { document: { schema: 'gateway-cli/costs@1', budgets: budgets.map(budgetDocument) } };
  }
  if (budgets.length === 0)
    return ui.notice(
      'there is no budget in the state folder yet: gateway-cli help costs; one that is a file: gateway-cli costs --budget <path>',
    );
  const rows = budgets.map((summary): string[] => {
    const { name, limit, currency = '', spent, inFlight } = summary;
    const per = limit?.per === undefined ? '' : ` a ${limit.per}`;
    const reserved = inFlight === '0' ? '' : `, ${inFlight} reserved`;
    const left = `${describeLeft(summary) ?? '?'} left of ${limit?.amount ?? '?'} ${currency}${per}`;
    return [name, left, `${spent} spent${reserved}`];
  });
  return writeRows(rows, context);
}

function budgetDocument(summary: ListedBudget): object {
  const { name, path, limit, currency, spent, inFlight } = summary;
  return { name, path, limit: limit?.amount, per: limit?.per, currency, spent, inFlight, left: describeLeft(summary) };
}

/** A row without its name, which has a key of its own in documents. */
function unnamed(row: CostRow): object {
  return { ...row, name: undefined };
}

async function runReport(flags: FlagValues<typeof reportFlags>, context: Context): Promise<CommandEnd | void> {
  const { io, root, ui } = context;
  const { by: groups = [], since, csv, budget } = flags;
  const [by = 'day', ...others] = groups;
  if (others.length > 0)
    throw usageError(
      '--by is given more than once, and a report has one grouping',
      'ask for one report after the other',
    );
  if (csv && root.json) throw usageError('--csv and --json both write to stdout', 'leave one of them out');
  const from = since === undefined ? '' : new Date(io.now() - since).toISOString().slice(0, 10);
  const budgets = await listBudgets(budget, context);
  const sums = budgets.flatMap((summary) => summary.sums).filter(({ day }) => day >= from);
  const rows = groupCosts(sums, by);
  const totals = groupCosts(sums, 'total');
  if (root.json) {
    const document = {
      schema: 'gateway-cli/costs-report@1',
      by,
      from: from || undefined,
      rows: rows.map((row) => ({ [by]: row.name, ...unnamed(row) })),
      totals: totals.map(unnamed),
    };
    return { document };
  }
  if (csv) {
    return writeEscaped(io.stdout, formatCsv(rows, by));
  }
  if (rows.length === 0)
    return ui.notice(
      'no request was paid from a budget in this time; to count all from now on: gateway-cli config set budget team:20.00/month',
    );
  return writeRows([...rows, ...totals].map(formatCostRow), context);
}

/** `2026-11-25  12 requests  0.0042 USD  (0.004 as told; 1 of unknown cost; 3 saved 0.001)` */
function formatCostRow({ name, currency, requests, unknown, amount, told, savedRequests, saved }: CostRow): string[] {
  const notes = [
    told !== '0' && `${told} as told`,
    unknown > 0 && `${unknown} of unknown cost, with what they can cost`,
    savedRequests > 0 && `${savedRequests} from recordings saved ${saved}`,
  ].filter((note) => note !== false);
  const count = requests === 1 ? '1 request' : `${requests} requests`;
  return [name || '(none)', count, `${amount} ${currency}`, notes.length > 0 ? `(${notes.join('; ')})` : ''];
}

function formatCsv(rows: readonly CostRow[], by: Grouping): string {
  const fields = ['requests', 'unknown', 'amount', 'currency', 'savedRequests', 'saved', 'told'] as const;
  const line = createLineWriter(',', '\n');
  const lines = rows.map((row) => line([row.name, ...fields.map((field) => row[field])]));
  return [line([by, ...fields]), ...lines].join('');
}

async function writeRows(rows: readonly string[][], { io }: Context): Promise<void> {
  const safe = rows.map((row) => row.map((cell) => escapeLine(cell)));
  for (const line of alignColumns(safe)) await io.stdout.write(`${line}\n`);
}
