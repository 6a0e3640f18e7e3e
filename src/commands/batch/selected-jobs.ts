import type { Job } from '../../batch/types.ts';
import { GatewayError } from '../../errors.ts';
import type { CheckedJob } from './request.ts';
import type { Batch } from './types.ts';

/** The jobs that this run sends, each once, in the order of their file. Throws GatewayError batch-locked where that changed since it was checked. */
export async function* dueJobs({ source, state: { table }, plan }: Batch): AsyncGenerator<Job, void> {
  let left = plan.due - plan.ready.size;
  for (const { job } of plan.ready.values()) {
    table.mark(table.find(job.key), 'due', false);
    yield job;
  }
  if (left === 0) return;
  const refuse = (cause: unknown): never => {
    throw changed(source.name, cause);
  };
  for await (const job of source.jobs(refuse)) {
    const slot = table.find(job.key);
    // What was added meanwhile is sent by the next run.
    if (slot < 0) continue;
    if (table.has(slot, 'reread')) throw changed(`${source.name}:${job.line}`);
    table.mark(slot, 'reread');
    if (!table.has(slot, 'due')) continue;
    left--;
    table.mark(slot, 'due', false);
    yield job;
  }
  if (left > 0) throw changed(source.name);
}

/** The request as it was checked, or built again from the file; what was checked is what is sent. Throws GatewayError batch-locked. */
export async function prepareDue(job: Job, { plan, builder, state, source }: Batch): Promise<CheckedJob> {
  const ready = plan.ready.get(job.id);
  // Nothing else may hold it, for it grows with its answer.
  plan.ready.delete(job.id);
  if (ready) return ready.checked;
  const place = `${source.name}:${job.line}: the job or its files`;
  try {
    const checked = await builder.check(job, plan.origin);
    if (state.table.requestOf(state.table.find(job.key)) === checked.request) return checked;
    await checked.own.end();
  } catch (error) {
    // It was whole when it was checked.
    throw error instanceof GatewayError && error.class === 'usage' ? changed(place, error) : error;
  }
  throw changed(place);
}

function changed(what: string, cause?: unknown): GatewayError {
  return new GatewayError('batch-locked', `${what} changed during the run`, {
    hint: 'run the same command again',
    sent: 'no',
    cause,
  });
}
