import { dirname, join, resolve } from 'node:path';
import {
  computeAnswerCost,
  computeBound,
  type Cost,
  describeWriteError,
  type Fund,
  GatewayError,
  getCurrency,
  getErrorMessage,
  type Ledger,
  type LedgerBatch,
  type LedgerEntry,
  loadFormat,
  normalizeTier,
  openLedger,
  otherModel,
  type PaidAnswer,
  type PayableRequest,
  payFrom,
  type Payments,
  prepareSharedFile,
  unknownAmount,
  unusualTier,
  usageError,
} from '../../library/index.ts';
import { type BudgetSetting, isBudgetPath, parseBudget } from '../settings/values.ts';
import { configPath, stateFolder } from '../settings/config-file.ts';
import type { Origin, PartialSettings } from '../settings/types.ts';
import type { Context } from '../context.ts';
import { findLackOfPrice, requirePrice } from './costs.ts';

/** `--tag`: a name and its value. */
export type Tag = readonly [string, string];

/** The budget that pays for a request, and the tags that are recorded with it. */
export interface OpenBudget extends Pick<PartialSettings, 'prices' | 'format' | 'lane'> {
  service: string;
  ledger: Ledger;
  /** The file of the ledger. */
  path: string;
  setting: BudgetSetting;
  tags: LedgerEntry['tags'];
  context: Context;
}

const ledgers = new WeakMap<Context['ui'], Map<string, Ledger>>();

/** Opens the budget of the settings; undefined if none is set. Nothing is written before the first request. */
export async function openSharedBudget(
  settings: Pick<PartialSettings, 'budget' | 'prices' | 'format' | 'service' | 'lane' | 'origins'>,
  tags: readonly Tag[] | undefined,
  context: Context,
): Promise<OpenBudget | undefined> {
  const { budget, prices, format, service, lane, origins } = settings;
  if (budget === undefined) return undefined;
  const setting = parseBudget(budget, origins.budget?.from ?? '');
  const path = await budgetPath(setting, origins.budget, context);
  const ledger = ledgerAt(path, setting, context);
  const own = { prices, format, service, lane };
  return { ...own, ledger, path, setting, tags: tags && Object.fromEntries(tags), context };
}

/** The payments for the requests of each gateway; undefined if it has no budget. */
export async function openSharedBudgets(
  gateways: readonly PartialSettings[],
  tags: readonly Tag[] | undefined,
  context: Context,
): Promise<(Payments | undefined)[]> {
  const budgets = [];
  for (const settings of gateways) budgets.push(await openSharedBudget(settings, tags, context));
  return budgets.map(
    (budget) =>
      budget && {
        open: (request) => payFrom(openFund(budget), request),
        refuse: (model) => findLackOfPrice(budget.prices, model, '--budget'),
      },
  );
}

/** Ledgers whose place was checked. */
const prepared = new WeakSet<Ledger>();

/** Throws GatewayError usage if no file can be made at the place of the ledger. */
async function prepareFile({ ledger, path, setting }: OpenBudget): Promise<void> {
  if (prepared.has(ledger)) return;
  try {
    await prepareSharedFile(path);
    prepared.add(ledger);
  } catch (error) {
    throw unwritable(setting, describeWriteError(error), error);
  }
}

function unwritable({ place }: BudgetSetting, reason: string, cause: unknown): GatewayError {
  const hint = 'name a file in a folder that can be written: --budget ./team.jsonl:<amount>';
  return usageError(`the budget ${place} cannot be kept: ${reason}`, hint, cause);
}

/** The error of a budget that cannot be written before the first request: its place is a mistake of the user, as nothing was sent. */
function beforeSending({ ledger, setting }: OpenBudget, error: unknown): unknown {
  const isUnwritten = error instanceof GatewayError && error.class === 'not-written';
  // The folder may be removed, so the ledger is prepared anew next time.
  if (isUnwritten) prepared.delete(ledger);
  return isUnwritten ? unwritable(setting, error.message, error) : error;
}

/** The connections of a command share a ledger, and so its locks and syncs. */
function ledgerAt(path: string, { amount, per }: BudgetSetting, { ui, io }: Context): Ledger {
  const opened = ledgers.get(ui) ?? new Map<string, Ledger>();
  ledgers.set(ui, opened);
  const key = `${path} ${amount} ${per}`;
  const ledger = opened.get(key) ?? openLedger({ path, limit: { amount, per }, now: () => io.now() });
  opened.set(key, ledger);
  return ledger;
}

/** The folder of the budgets that have a name. Throws GatewayError usage without a home folder. */
export async function budgetsFolder(): Promise<string> {
  return join(await stateFolder(), 'budgets');
}

/** The path of the file of a budget. A path in a profile is relative to the folder of the config file. */
async function budgetPath({ place }: BudgetSetting, origin: Origin | undefined, { io }: Context): Promise<string> {
  if (!isBudgetPath(place)) return join(await budgetsFolder(), `${place}.jsonl`);
  const isOfConfig = origin?.kind === 'profile' || origin?.kind === 'config';
  return resolve(isOfConfig ? dirname(await configPath(io)) : io.cwd, place);
}

/** The ledger of a budget, which requests are paid from. */
export function openFund(budget: OpenBudget): Fund {
  const { ledger, context, setting } = budget;
  const warnOfFailure = (error: unknown): Promise<void> => {
    const counts = 'the request counts with what it can cost';
    return context.ui.warn(`${getErrorMessage(error)}, so ${counts} in the budget ${setting.place}`);
  };
  return {
    async reserve(request, signal, isAgain) {
      const id = await reserveRequest(budget, request, signal).catch((error: unknown) => {
        throw isAgain ? error : beforeSending(budget, error);
      });
      return {
        spend: (answer, waiting) => spend(budget, { id, request, answer, signal: waiting }).catch(warnOfFailure),
        free: (waiting) => ledger.free(id, waiting).catch(warnOfFailure),
      };
    },
    record: (request, answer) => saveRecorded(budget, request, answer).catch(warnOfFailure),
  };
}

/** Writes down the cost of a request; without an answer, the reserved amount counts. */
async function spend(
  budget: OpenBudget,
  {
    id,
    request,
    answer,
    signal,
  }: { id: string; request: PayableRequest; answer: PaidAnswer | undefined; signal: AbortSignal | undefined },
): Promise<void> {
  const { ledger, context } = budget;
  if (answer === undefined) return ledger.spend(id, unknownAmount, { signal });
  const { amount = unknownAmount, told }: Partial<Cost> = computeAnswerCost(answer, budget) ?? {};
  const other = otherModel(request.model, answer.result.modelVersion);
  // A request of the flex lane may have been answered at full price.
  const lane = normalizeTier(unusualTier(answer.result.serviceTier) ?? 'live');
  // A service can name anything as its model, even the API key.
  const answered = context.ui.clean({ ...(other !== undefined && { model: other }), lane });
  await ledger.spend(id, amount, { ...answered, ...(told && { told }), signal });
}

function createEntry({ context, service, lane, tags }: OpenBudget, model: string): LedgerEntry {
  return { command: context.command, service, model, lane: lane, ...(tags && { tags }) };
}

async function reserveRequest(
  budget: OpenBudget,
  { post, model, fallback = model }: PayableRequest,
  signal: AbortSignal,
): Promise<string> {
  const { prices, lane, ledger } = budget;
  const price = requirePrice(prices, model, '--budget');
  requirePrice(prices, fallback, '--budget');
  const { limits } = await loadFormat(post.format);
  const bound = computeBound(post.body, price, { ...limits(post.body), lane });
  if (!bound.isMost) await warnOfBound(budget, limits(post.body).maxTokens === undefined);
  const currency = getCurrency(price);
  await prepareFile(budget);
  const reserved = await ledger.reserve({ ...createEntry(budget, model), bound, currency }, signal);
  if ('id' in reserved) return reserved.id;
  throw overBudget(budget, model, reserved.spent);
}

/** The part of a budget that other runs leave. */
export async function readBudgetLeft(budget: OpenBudget): Promise<Awaited<ReturnType<Ledger['left']>>> {
  await prepareFile(budget);
  return budget.ledger.left().catch((error: unknown) => {
    throw beforeSending(budget, error);
  });
}

/** Reserves the most that the requests of a batch can cost, all or none. Throws GatewayError over-budget if that is too much. */
export async function reserveBatch(
  budget: OpenBudget,
  { id, model, bounds }: Pick<LedgerBatch, 'id' | 'model' | 'bounds'>,
  signal: AbortSignal,
): Promise<void> {
  const currency = getCurrency(requirePrice(budget.prices, model, '--budget'));
  await prepareFile(budget);
  const request = { ...createEntry(budget, model), id, bounds, currency };
  const reserved = await budget.ledger.reserveBatch(request, signal).catch((error: unknown) => {
    throw beforeSending(budget, error);
  });
  if ('spent' in reserved) throw overBudget(budget, model, reserved.spent);
}

/** The error of a request that could pass a budget. */
export function overBudget({ setting, prices }: OpenBudget, model: string, spent: string): GatewayError {
  const { place, amount, per } = setting;
  const period = per === undefined ? '' : ` of this ${per}`;
  const words = `${spent} of ${amount} ${getCurrency(requirePrice(prices, model, '--budget'))}${period} are spent`;
  return new GatewayError('over-budget', `the next request could pass the budget ${place}: ${words}`, {
    reason: 'budget',
    value: `${place}:<amount>${per === undefined ? '' : `/${per}`}`,
    sent: 'no',
    billed: 'no',
    retryable: per !== undefined,
  });
}

const warned = new WeakSet<Ledger>();

/** Warns, once for each command, that a request whose cost has no bound can pass the budget. */
async function warnOfBound({ ledger, setting, context }: OpenBudget, isWithoutLimit: boolean): Promise<void> {
  if (warned.has(ledger)) return;
  warned.add(ledger);
  const { command } = context;
  const flag = command.startsWith('batch') ? 'maxTokens' : '--max-tokens';
  // Pictures have no such flag.
  const limit = command === 'serve' || command.startsWith('image') ? 'limit of tokens' : flag;
  const why = isWithoutLimit
    ? `has no ${limit}`
    : 'has files, a cache, tools of the service, or a speed or region without a price';
  await context.ui.warn(`a request ${why}, so its cost is not bounded: it can pass the budget ${setting.place}`);
}

/** Writes into the budget that a reply from a recording cost nothing. */
async function saveRecorded(budget: OpenBudget, { model }: PayableRequest, answer: PaidAnswer): Promise<void> {
  const cost = computeAnswerCost(answer, budget);
  if (cost === undefined) return;
  await prepareFile(budget);
  await budget.ledger.save(createEntry(budget, model), cost);
}
