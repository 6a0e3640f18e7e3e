import { usageError } from '../../errors.ts';
import type { BuiltRequest } from '../../cli/request/build-request.ts';
import { serviceNames, services } from '../../services.ts';
import type { BatchFlags } from '../flags.ts';
import type { Settings } from '../../settings/types.ts';

/** Throws GatewayError usage for a job that no batch of its service can hold. */
export function requireBatchable({ post }: Pick<BuiltRequest, 'post'>, { service }: Pick<Settings, 'service'>): void {
  const { lacksBatches, title } = services[service.value];
  if (lacksBatches) {
    const having = serviceNames.filter((name) => name !== 'gateway' && !services[name].lacksBatches);
    throw usageError(`${title} has no batch API`, `use --lane live; these have one: ${having.join(', ')}`);
  }
  if (post.form)
    throw usageError('the batch API of the service takes no pictures to edit', 'send this job with --lane live');
}

/** The lane `batch` is that of a whole run. Throws GatewayError usage. */
export function requireOneLane(lanes: ReadonlySet<string>, flags: BatchFlags): void {
  if (lanes.has('batch') && lanes.size > 1)
    throw usageError(`the profiles of the jobs name several lanes: ${[...lanes].join(', ')}`, 'name one: --lane batch');
  const needsBatch = flags.wait === false ? '--no-wait' : flags.poll === undefined ? undefined : '--poll';
  if (needsBatch !== undefined && !lanes.has('batch'))
    throw usageError(`${needsBatch} is for the lane batch`, 'add --lane batch');
  const recording = flags.record === undefined ? flags.replay && '--replay' : '--record';
  if (recording !== undefined && lanes.has('batch'))
    throw usageError(`${recording} cannot be combined with --lane batch`, 'leave one of them out');
}
