import { countRows, formatCount, sentBefore, type Shard } from '../../../batch/index.ts';
import type { CommandEnd } from '../../context.ts';
import { services } from '../../../library/index.ts';
import type { RunningBatch } from './batch.ts';
import type { JobKind } from './plan.ts';
import { describeAgain } from './resume.ts';
import { describeStates, listStates } from './states.ts';

/** `--dry-run`: all jobs are checked, and nothing is sent or written. */
export async function showPlan(batch: Omit<RunningBatch, 'lock'>): Promise<CommandEnd> {
  const { plan, facts, context } = batch;
  const { jobs, total, toSend } = plan;
  const kinds = [...facts.kinds.values()];
  const document = {
    schema: 'gateway-cli/batch-plan@1',
    jobs,
    total,
    due: toSend,
    skipped: sentBefore(plan),
    left: plan.left,
    origin: plan.origin,
    kinds,
    first: facts.first,
  };
  if (batch.shard) await noteEmptyShard(batch.shard, batch);
  if (context.root.json) return { document };
  const counts = [`${formatCount(jobs, 'job')} checked`, `${toSend} to send`, ...describeUnsent(batch)].join(', ');
  const product = Object.entries(batch.policy.vary ?? {}).map(([key, values]) => `${key} (${values.length})`);
  const made = product.length > 0 && `each row with ${product.join(' × ')}: ${formatCount(total, 'job')}`;
  const lines = [counts, ...(made ? [made] : []), ...kinds.map(describeKind), ...(await describeAgain(batch))];
  if (facts.first)
    lines.push('', `the first request, of ${facts.first.id}:`, JSON.stringify(facts.first.body, null, 2));
  await context.io.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return { document };
}

/** The states of the jobs that a run does not send. */
export function describeUnsent({ plan, state }: Pick<RunningBatch, 'plan' | 'state'>): string[] {
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
export async function noteEmptyShard(
  shard: Shard,
  { plan, source, context }: Omit<RunningBatch, 'lock'>,
): Promise<void> {
  if (plan.jobs > 0) return;
  await context.ui.note(`no job of ${source.name} falls into --shard ${shard.index}/${shard.total}`);
}
