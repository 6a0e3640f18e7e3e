import {
  countRows,
  formatCount,
  getRequestOrigin,
  type Job,
  type JobCommand,
  sentBefore,
} from '../../../batch/index.ts';
import type { CommandEnd } from '../../context.ts';
import { describeBody, type JsonObject, type ServiceName, services } from '../../../library/index.ts';
import type { PlannedBatch } from './batch.ts';
import { describeAgain } from './resume.ts';
import { describeStates, listStates } from './states.ts';

/** The jobs to send of one command, with one model, to one place. */
interface JobKind {
  command: JobCommand;
  model: string;
  service: ServiceName;
  origin: string;
  jobs: number;
}

/** `--dry-run`: all jobs are checked, and nothing is sent or written. */
export async function showPlan(batch: PlannedBatch): Promise<CommandEnd> {
  const { plan, context } = batch;
  const { jobs, toSend, table } = plan;
  const [gateway] = plan.gateways.values();
  const { kinds, first } = await readDue(batch);
  const document = {
    schema: 'gateway-cli/batch-plan@1',
    jobs,
    total: table.size,
    due: toSend,
    skipped: sentBefore(plan),
    left: plan.left,
    origin: gateway && getRequestOrigin(gateway.settings),
    kinds,
    first,
  };
  await noteEmptyShard(batch);
  if (context.root.json) return { document };
  const counts = [`${formatCount(jobs, 'job')} checked`, `${toSend} to send`, ...describeUnsent(batch)].join(', ');
  const product = Object.entries(batch.policy.vary ?? {}).map(([key, values]) => `${key} (${values.length})`);
  const made = product.length > 0 && `each row with ${product.join(' × ')}: ${formatCount(table.size, 'job')}`;
  const lines = [counts, ...(made ? [made] : []), ...kinds.map(describeKind), ...(await describeAgain(batch))];
  if (first) lines.push('', `the first request, of ${first.id}:`, JSON.stringify(first.body, null, 2));
  await context.io.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return { document };
}

/** The kinds of the jobs that a run sends, and the first request. */
async function readDue(batch: PlannedBatch) {
  const { jobs, plan } = batch;
  const kinds = new Map<string, JobKind>();
  let first: { id: string; body: JsonObject } | undefined;
  let place = -1;
  for await (const job of jobs.read(() => undefined)) {
    place++;
    if (plan.due[place] !== 1) continue;
    const settings = await jobs.settingsOf(job);
    const { model, service } = settings;
    const origin = getRequestOrigin(settings);
    const name = JSON.stringify([job.command, model, service, origin]);
    const known = kinds.get(name) ?? { command: job.command, model, service, origin, jobs: 0 };
    kinds.set(name, { ...known, jobs: known.jobs + 1 });
    first ??= { id: job.id, body: await readBody(job, batch) };
  }
  return { kinds: [...kinds.values()], first };
}

/** The body of the request of a job, as people are shown it. */
async function readBody(job: Job, { jobs }: PlannedBatch): Promise<JsonObject> {
  const prepared = await jobs.prepare(job);
  const body = describeBody(prepared.request.post.body);
  await prepared.close();
  return body;
}

/** The states of the jobs that a run does not send. */
export function describeUnsent({ plan, state }: Pick<PlannedBatch, 'plan' | 'state'>): string[] {
  const isLeft = (place: number): boolean => plan.isOwn(place) && plan.due[place] === 0;
  const states = listStates(countRows(plan.table, state, isLeft)).filter(({ rows }) => rows > 0);
  return states.length > 0 ? [describeStates(states)] : [];
}

/** A kind of jobs as a line: `text with m at OpenAI (https://api.openai.com): 12 jobs` */
function describeKind({ command, model, service, origin, jobs }: JobKind): string {
  const { title } = services[service];
  const where = service === 'gateway' || origin === 'offline' ? origin : `${title} (${origin})`;
  return `${command} with ${model} ${origin === 'offline' ? 'offline' : `at ${where}`}: ${formatCount(jobs, 'job')}`;
}

/** Tells that a shard has no jobs. That is no mistake: with few jobs and many shards, some shards have none. */
export async function noteEmptyShard({ jobs, plan, shard, context }: PlannedBatch): Promise<void> {
  if (shard === undefined || plan.jobs > 0) return;
  await context.ui.note(`no job of ${jobs.name} falls into --shard ${shard.index}/${shard.total}`);
}
