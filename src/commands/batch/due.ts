import type { Job } from '../../batch/types.ts';
import { GatewayError } from '../../errors.ts';
import type { CheckedJob } from './request.ts';
import type { Batch } from './types.ts';

/** The jobs that this run sends, in the order of their file. */
export async function* dueJobs({ source, state, plan }: Batch): AsyncGenerator<Job, void> {
  let known = plan.ready.size;
  for (const job of plan.ready.jobs()) yield job;
  if (known === plan.due) return;
  for await (const job of source.jobs()) {
    const slot = state.table.find(job.key);
    if (slot >= 0 && state.table.isDue(slot) && known-- <= 0) yield job;
  }
}

/** The request as it was checked, or built again from the file; what was checked is what is sent. */
export async function prepareDue(job: Job, { plan, builder, state, source }: Batch): Promise<CheckedJob> {
  const ready = plan.ready.take(job.id);
  const checked = ready?.checked ?? builder.checkNow(job) ?? (await builder.check(job));
  if (ready || state.table.requestOf(state.table.find(job.key)) === checked.request) return checked;
  await checked.own?.end();
  throw new GatewayError('batch-locked', `${source.name}:${job.line}: the job or its files changed during the run`, {
    hint: 'run the same command again',
    sent: 'no',
  });
}
