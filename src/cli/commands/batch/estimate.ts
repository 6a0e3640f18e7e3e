import {
  type BatchState,
  countRows,
  formatCount,
  gatewayKey,
  type Job,
  readyJobs,
  type PreparedJob,
  sentBefore,
} from '../../../batch/index.ts';
import type { CommandEnd } from '../../context.ts';
import {
  addCost,
  type Body,
  type Cost,
  describeCosts,
  estimateCost,
  findAskedFactors,
  findPrice,
  findTierPrice,
  type Format,
  type GatewayClient,
  GatewayError,
  getCurrency,
  loadFormat,
  measureRequest,
  scaleAmount,
  serviceTiers,
  startDeadline,
} from '../../../library/index.ts';
import type { Progress } from '../../terminal/progress.ts';
import type { PlannedBatch } from './batch.ts';
import { openBatchClients } from './clients.ts';
import { describeUnsent } from './dry-run.ts';
import { chooseConcurrency } from './policy.ts';

/** The sums of the jobs of one model. */
interface ModelEstimate {
  model: string;
  jobs: number;
  inputTokens: number;
  /** The most output tokens; undefined if a job has no limit. */
  outputTokensMost: number | undefined;
  /** The number of jobs whose tokens the service did not count: the bytes of their requests were counted, four for a token. */
  countedByBytes: number;
  /** The number of those jobs that have files, whose tokens are not in the sum. */
  withoutFiles: number;
  /** The input tokens that the model takes, if the service tells them. */
  window: number | undefined;
  hasPrice: boolean;
}

/** The costs of all jobs in one lane. */
interface LaneEstimate {
  input: readonly Cost[];
  /** The costs with all the output that the jobs allow; undefined if a job has no limit. */
  most: readonly Cost[] | undefined;
}

/** A job that is too long for its model. */
interface LongJob {
  id: string;
  line: number;
  model: string;
  tokens: number;
  window: number;
}

interface Estimate {
  models: Map<string, ModelEstimate>;
  /** The estimates by lane; undefined if a job has no price in it. */
  lanes: Map<string, LaneEstimate | undefined>;
  /** The first jobs that are too long, and the number of all of them. */
  tooLong: LongJob[];
  tooLongJobs: number;
}

/** `batch --estimate`: counts tokens and costs of all jobs. It sends only free requests and writes no file. */
export async function showEstimate(batch: PlannedBatch, progress: Progress): Promise<CommandEnd> {
  const { plan, context } = batch;
  const unsent = describeUnsent(batch);
  const { jobs, toSend, table } = plan;
  const estimate = await estimateJobs(batch, (done) => progress.update(`${done}/${toSend} counted`));
  progress.stop();
  if (table.links.size > 0)
    await context.ui.note(`${formatCount(table.links.size, 'job')} with results of others, which are not counted yet`);
  const expected = expectCost(batch.state, toSend);
  const document = {
    schema: 'gateway-cli/batch-estimate@1',
    jobs,
    total: table.size,
    due: toSend,
    skipped: sentBefore(plan),
    left: plan.left,
    models: [...estimate.models.values()],
    lanes: Object.fromEntries([...estimate.lanes].filter(([, costs]) => costs !== undefined)),
    tooLong: estimate.tooLong,
    tooLongJobs: estimate.tooLongJobs,
    expected,
  };
  if (context.root.json) return { document };
  const lines = [
    [`${formatCount(toSend, 'job')} to send`, ...unsent].join(', '),
    ...describeTotals(estimate),
    ...(expected === undefined ? [] : [describeExpected(expected)]),
  ];
  await context.io.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return { document };
}

/** The costs of the jobs if their answers are like those that are there. */
interface ExpectedCost {
  answers: number;
  outputTokens: number | undefined;
  cost: readonly Cost[];
}

/** Undefined without an answer, or if no job is to be sent. */
function expectCost(state: BatchState, jobs: number): ExpectedCost | undefined {
  const { usage, spending } = state;
  const { done: answers } = countRows(state.manifest.rows, state);
  if (answers === 0 || jobs === 0) return undefined;
  const { outputTokens: output, thinkingTokens: thinking = 0 } = usage;
  const outputTokens = output === undefined ? undefined : Math.round(((output + thinking) * jobs) / answers);
  const priced = Math.max(1, answers - spending.unknown);
  const cost = spending.costs.map(({ amount, currency }) => ({ amount: scaleAmount(amount, jobs, priced), currency }));
  return { answers, outputTokens, cost };
}

function describeExpected({ answers, outputTokens, cost }: ExpectedCost): string {
  const tokens = outputTokens === undefined ? [] : [`${outputTokens} output tokens`];
  const facts = [...tokens, ...(cost.length === 0 ? [] : [describeCosts(cost)])];
  return `if the answers are like the ${answers} that are there: about ${facts.join(', ') || 'nothing is known'}`;
}

async function estimateJobs(batch: PlannedBatch, onCounted: (done: number) => void): Promise<Estimate> {
  const { flags, plan } = batch;
  const estimate: Estimate = { models: new Map(), lanes: new Map(), tooLong: [], tooLongJobs: 0 };
  if (plan.toSend === 0) return estimate;
  const counter = createTokenCounter(batch, await openBatchClients(plan.gateways, flags, batch.context));
  // No job waits for another one: nothing is sent, so no answer can come.
  const jobs = readyJobs(batch, { isNow: () => true });
  let done = 0;
  const work = async (): Promise<void> => {
    for await (const { job, prepared } of jobs) {
      try {
        const count = await counter(job, prepared);
        const { post } = prepared.request;
        const limits = (await loadFormat(post.format)).limits(post.body);
        countJob(job, prepared, { ...count, limits }, estimate);
      } finally {
        await prepared.close();
      }
      onCounted(++done);
    }
  };
  const workers = chooseConcurrency(flags, plan.toSend);
  await Promise.all(Array.from({ length: workers }, work));
  estimate.tooLong.sort((a, b) => a.line - b.line);
  return estimate;
}

/** The length of a request. */
interface Count {
  tokens: number;
  /** The way of counting. `files`: by the bytes of the texts, without the files of the request. */
  by: 'service' | 'bytes' | 'files';
  window: number | undefined;
}

/** Makes the counter of tokens. It counts at the service, which is free; by bytes if the service cannot. */
function createTokenCounter(
  { context }: PlannedBatch,
  connections: ReadonlyMap<string, GatewayClient>,
): (job: Job, prepared: PreparedJob) => Promise<Count> {
  const windows = new Map<string, Promise<number | undefined>>();
  const unable = new Set<string>();
  return async (job, { request, settings, hasUrls }) => {
    const { post, model } = request;
    context.signal.throwIfAborted();
    const gateway = gatewayKey(settings);
    const key = `${gateway} ${model}`;
    const deadline = startDeadline(settings.timeoutMs, context.signal);
    const client = connections.get(gateway) as GatewayClient;
    try {
      if (!windows.has(key)) windows.set(key, client.contextWindow(request, { deadline }));
      const window = await windows.get(key);
      // The service cannot count the content of a URL, which is fetched only when its job is sent.
      if (hasUrls || unable.has(key)) return { ...countBytes(post.body), window };
      const tokens = await client.countTokens(request, { deadline });
      if (tokens !== undefined) return { tokens, by: 'service', window };
      unable.add(key);
      return { ...countBytes(post.body), window };
    } catch (error) {
      if (!(error instanceof GatewayError) || !refusals.has(error.details.status ?? 0)) throw error;
      await context.ui.warn(`${job.id}: the service did not count it: ${error.message}`);
      return { ...countBytes(post.body), window: undefined };
    } finally {
      deadline.end();
    }
  };
}

/** The statuses of a request that is not valid, or too large: its job would fail, and the others would not. */
const refusals = new Set([400, 413, 422]);

/** English text has about this many bytes for a token. */
const bytesPerToken = 4;

function countBytes(body: Body): Pick<Count, 'tokens' | 'by'> {
  const { bytes, hasFiles } = measureRequest(body);
  return { tokens: Math.ceil(bytes / bytesPerToken), by: hasFiles ? 'files' : 'bytes' };
}

/** The length of a request, and what it asks for at most. */
type Measure = Count & { limits: ReturnType<Format['limits']> };

/** Adds a job to the sums of its model, and its cost to those of each lane. */
function countJob({ id, line }: Job, prepared: PreparedJob, measure: Measure, estimate: Estimate): void {
  const { request, settings } = prepared;
  const { model } = request;
  const { tokens, by, window, limits } = measure;
  const { models } = estimate;
  const key = `${gatewayKey(settings)} ${model}`;
  const sum = models.get(key) ?? { ...noJobs, model, hasPrice: findPrice(settings.prices, model) !== undefined };
  models.set(key, sum);
  sum.jobs++;
  sum.inputTokens += tokens;
  sum.window ??= window;
  if (by !== 'service') sum.countedByBytes++;
  if (by === 'files') sum.withoutFiles++;
  if (limits.maxTokens === undefined) sum.outputTokensMost = undefined;
  else if (sum.outputTokensMost !== undefined) sum.outputTokensMost += limits.maxTokens * limits.candidates;
  if (window !== undefined && tokens > window && estimate.tooLongJobs++ < maxKept)
    estimate.tooLong.push({ id, line, model, tokens, window });
  addLaneCosts(prepared, measure, estimate);
}

function addLaneCosts({ request, settings }: PreparedJob, { tokens, limits }: Measure, { lanes }: Estimate): void {
  const price = findPrice(settings.prices, request.model);
  const asked = price && findAskedFactors(price, request.post.body);
  for (const lane of ['live', ...serviceTiers.filter((tier) => tier !== 'priority')] as const) {
    const priced = price && (lane === 'live' ? { price, factor: 1 } : findTierPrice(price, lane));
    const before = lanes.has(lane) ? lanes.get(lane) : { input: [], most: [] };
    if (priced === undefined || asked === undefined || before === undefined) {
      lanes.set(lane, undefined);
      continue;
    }
    const { input, most } = estimateCost(tokens, { price: priced.price, factors: [priced.factor, ...asked] }, limits);
    const currency = getCurrency(priced.price);
    lanes.set(lane, {
      input: addCost(before.input, { amount: input, currency }),
      most: most === undefined ? undefined : before.most && addCost(before.most, { amount: most, currency }),
    });
  }
}

const noJobs = { jobs: 0, inputTokens: 0, outputTokensMost: 0, countedByBytes: 0, withoutFiles: 0, window: undefined };

/** At most this many jobs that are too long are kept for `--json`, and named for people. */
const maxKept = 1000;
const maxNamed = 20;

function describeTotals({ models, lanes, tooLong, tooLongJobs }: Estimate): string[] {
  const lines = [...models.values()].map(describeModelTotals);
  for (const [lane, costs] of lanes) {
    if (costs === undefined) continue;
    const { input, most } = costs;
    const limit = most === undefined ? 'and output without a limit' : `at most ${describeCosts(most)}`;
    lines.push(`${lane}: ${describeCosts(input)} for the input, ${limit}`);
  }
  const unpriced = [...models.values()].filter(({ hasPrice }) => !hasPrice).map(({ model }) => model);
  if (unpriced.length > 0) lines.push(`no price is set for ${unpriced.join(', ')}: see gateway-cli help costs`);
  for (const { id, line, model, tokens, window } of tooLong.slice(0, maxNamed))
    lines.push(`${id} (line ${line}) is too long: ${tokens} tokens, ${model} takes ${window}`);
  if (tooLongJobs > maxNamed) lines.push(`and ${tooLongJobs - maxNamed} more are too long`);
  return lines;
}

function describeModelTotals(sum: ModelEstimate): string {
  const { model, jobs, inputTokens, outputTokensMost, countedByBytes, withoutFiles } = sum;
  const input = `${model}: ${formatCount(jobs, 'job')}, ${countedByBytes > 0 ? 'about ' : ''}${inputTokens} input tokens`;
  const output =
    outputTokensMost === undefined ? 'no limit of output tokens' : `at most ${outputTokensMost} output tokens`;
  const bytes = countedByBytes > 0 ? `; ${formatCount(countedByBytes, 'job')} counted by bytes` : '';
  return `${input}, ${output}${bytes}${withoutFiles > 0 ? `, ${withoutFiles} without their files` : ''}`;
}
