import { dirname, join, resolve } from 'node:path';
import type { Payment, PaidEnd } from '../../client/payment.ts';
import type { Operation } from '../../client/send.ts';
import { boundOf, costOfAnswer } from '../../cost/cost.ts';
import { type Ledger, openLedger, unknownAmount } from '../../cost/ledger.ts';
import type { LedgerEntry } from '../../cost/ledger-lines.ts';
import { currencyOf, unusualTier } from '../../cost/price.ts';
import { GatewayError, messageOf, usageError } from '../../errors.ts';
import { writeReason } from '../../files/file-reason.ts';
import { makeFolder } from '../../files/temp-file.ts';
import { loadFormat } from '../../formats/format.ts';
import { otherModel } from '../../services.ts';
import { type BudgetSetting, isBudgetPath, parseBudget } from '../../settings/budget.ts';
import { configPath, userFolders } from '../../settings/config-file.ts';
import type { SettingsSurvey, Sourced } from '../../settings/types.ts';
import type { Context } from '../context.ts';
import { requirePrice } from './costs.ts';

/** `--tag`: a name and its value. */
export type Tag = readonly [string, string];

/** What a request is paid from, and what it is written down with. */
export interface Purse extends Pick<SettingsSurvey, 'prices' | 'format' | 'lane'> {
  service: string;
  ledger: Ledger;
  budget: BudgetSetting;
  tags: LedgerEntry['tags'];
  context: Context;
}

const purses = new WeakMap<Context['report'], Map<string, Ledger>>();

/**
 * Opens the budget of the settings; undefined if none is set. Throws GatewayError usage for a model without a price, and for a
 * folder that cannot be made.
 */
export async function openPurse(
  settings: Pick<SettingsSurvey, 'budget' | 'prices' | 'format' | 'service' | 'model' | 'lane'>,
  tags: readonly Tag[] | undefined,
  context: Context,
): Promise<Purse | undefined> {
  const { budget: setting, prices, format, service, model, lane } = settings;
  if (setting === undefined) return undefined;
  const budget = parseBudget(setting.value, setting.from);
  if (model !== undefined) requirePrice(prices, model.value, '--budget');
  const path = await budgetPath(setting, context);
  await makeFolder(dirname(path), 0o700).catch((error: unknown) => {
    throw usageError(`the budget ${budget.place} cannot be kept: ${writeReason(error)}`, undefined, error);
  });
  return {
    ledger: ledgerAt(path, budget, context),
    budget,
    prices,
    format,
    service: service.value,
    lane,
    tags: tags && Object.fromEntries(tags),
    context,
  };
}

/** The connections of a command share a ledger, and so its locks and syncs. */
function ledgerAt(path: string, { amount, per }: BudgetSetting, { report, io }: Context): Ledger {
  const opened = purses.get(report) ?? new Map<string, Ledger>();
  purses.set(report, opened);
  const key = `${path} ${amount} ${per}`;
  const ledger = opened.get(key) ?? openLedger({ path, limit: { amount, per }, now: () => io.now() });
  opened.set(key, ledger);
  return ledger;
}

/** The folder of the budgets that have a name. Throws GatewayError usage without a home folder. */
export async function budgetsFolder(): Promise<string> {
  return join((await userFolders()).state, 'budgets');
}

/** The file of a budget. One of a profile is relative to the folder of the config file. */
async function budgetPath({ value, from, origin }: Sourced<string>, { io }: Context): Promise<string> {
  const { place } = parseBudget(value, from);
  if (!isBudgetPath(place)) return join(await budgetsFolder(), `${place}.jsonl`);
  const isOfConfig = origin.kind === 'profile' || origin.kind === 'config';
  return resolve(isOfConfig ? dirname(await configPath({ env: io.env, cwd: io.cwd })) : io.cwd, place);
}

/** Pays for one request. */
export function payFrom(purse: Purse, { post, model }: Pick<Operation, 'post' | 'model'>): Payment {
  const { ledger } = purse;
  let id: string | undefined;
  let isDoubtful = false;
  return {
    async reserve(signal) {
      if (id !== undefined && !isDoubtful) return;
      // The attempt before may have been billed, and this one is paid for too.
      if (id !== undefined) await ledger.spend(id, unknownAmount);
      [id, isDoubtful] = [undefined, false];
      id = await reserve(purse, { post, model }, signal);
    },
    retry(error) {
      isDoubtful ||= error.billed !== 'no';
    },
    async end(end) {
      const ended = id;
      id = undefined;
      const written = ended === undefined ? saveRecorded(purse, model, end) : writeEnd(purse, ended, { model, end });
      await written.catch((error: unknown) => {
        const counts = 'the request counts with what it can cost';
        return purse.context.ui.warn(`${messageOf(error)}, so ${counts} in the budget ${purse.budget.place}`);
      });
    },
    async cancel() {
      if (id !== undefined) await ledger.free(id).catch(() => undefined);
      id = undefined;
    },
  };
}

async function writeEnd(purse: Purse, id: string, { model, end }: { model: string; end: PaidEnd }): Promise<void> {
  const { amount, ...answered } = spentOn(purse, model, end);
  if (amount === undefined) await purse.ledger.free(id);
  else await purse.ledger.spend(id, amount, answered);
}

function entryOf({ context, service, lane, tags }: Purse, model: string): LedgerEntry {
  return { command: context.report.command, service, model, lane: lane.value, ...(tags && { tags }) };
}

async function reserve(
  purse: Purse,
  { post, model }: Pick<Operation, 'post' | 'model'>,
  signal: AbortSignal,
): Promise<string> {
  const { budget, prices, lane, ledger } = purse;
  const price = requirePrice(prices, model, '--budget');
  const { limits } = await loadFormat(post.format);
  const bound = boundOf(post.body, price, { ...limits(post.body), lane });
  if (!bound.isMost) await warnOfBound(purse, limits(post.body).maxTokens === undefined);
  const currency = currencyOf(price);
  const reserved = await ledger.reserve({ ...entryOf(purse, model), bound, currency }, signal);
  if ('id' in reserved) return reserved.id;
  const period = budget.per === undefined ? '' : ` of this ${budget.per}`;
  const spent = `${reserved.spent} of ${budget.amount} ${currency}${period} are spent`;
  throw new GatewayError('batch-failed', `the next request could pass the budget ${budget.place}: ${spent}`, {
    reason: 'budget',
    value: `${budget.place}:<amount>${budget.per === undefined ? '' : `/${budget.per}`}`,
    sent: 'no',
    billed: 'no',
    retryable: budget.per !== undefined,
  });
}

const warned = new WeakSet<Ledger>();

/** Once for each command: a request whose cost has no bound can pass the budget. */
async function warnOfBound({ ledger, budget, context }: Purse, isWithoutLimit: boolean): Promise<void> {
  if (warned.has(ledger)) return;
  warned.add(ledger);
  const why = isWithoutLimit ? 'has no --max-tokens' : 'has files';
  await context.ui.warn(`a request ${why}, so its cost is not bounded: it can pass the budget ${budget.place}`);
}

/** What came of a request: an amount, `unknown` if it may have been billed, or nothing. */
function spentOn(
  purse: Purse,
  model: string,
  { answer, error }: PaidEnd,
): { amount: string | undefined; model?: string; lane?: string } {
  if (answer === undefined) {
    const isFree = error instanceof GatewayError && error.billed === 'no';
    return { amount: isFree ? undefined : unknownAmount };
  }
  const cost = costOfAnswer(answer, purse);
  const other = otherModel(model, answer.result.modelVersion);
  // A request of the flex lane may have been answered at full price.
  const lane = unusualTier(answer.result.serviceTier)?.toLowerCase() ?? 'live';
  return { amount: cost?.amount ?? unknownAmount, ...(other !== undefined && { model: other }), lane };
}

/** What a recording answers costs nothing. */
async function saveRecorded(purse: Purse, model: string, { answer }: PaidEnd): Promise<void> {
  const cost = answer && costOfAnswer(answer, purse);
  if (cost !== undefined) await purse.ledger.save(entryOf(purse, model), cost);
}
