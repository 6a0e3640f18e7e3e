import {
  type BatchApi,
  type BatchFormat,
  type BatchPage,
  type Deadline,
  findServiceByUrl,
  GatewayError,
  loadBatchFormat,
  openBatchApi,
  startDeadline,
  withoutCost,
} from '../../library/index.ts';
import { formatCount } from '../counts.ts';
import { getRequestOrigin } from '../gateway.ts';
import { ignoreUnlisted } from './failures.ts';
import type { LaneRun } from './lane-run.ts';
import type { ProviderBatch, ProviderBatchPlan } from './provider-batches.ts';

type ServicePlace = Pick<ProviderBatchPlan, 'profile' | 'origin' | 'format' | 'use'>;

/** The batch API that receives the jobs of a provider batch. Throws GatewayError batch-locked if the command leads elsewhere. */
export async function openPlaceApi(
  plan: ServicePlace,
  { batch, clients }: Pick<LaneRun, 'batch' | 'clients'>,
): Promise<{ api: BatchApi; format: BatchFormat }> {
  const format = await loadBatchFormat(plan.format);
  const client = clients.get(plan.profile);
  const gateway = batch.plan.gateways.get(plan.profile);
  if (gateway) requireOrigin(getRequestOrigin(gateway.settings), plan.origin);
  if (client === undefined) {
    const named = plan.profile === '' ? 'without a profile' : `with the profile ${plan.profile}`;
    throw new GatewayError('batch-locked', `jobs were submitted ${named}`, {
      hint: 'run the command with which they were submitted',
      sent: 'no',
    });
  }
  return { format, api: openBatchApi(format, (apiRequest, options) => client.send(apiRequest, options), plan.use) };
}

/** Throws GatewayError batch-locked if the settings lead to another service than that of a provider batch. */
export function requireOrigin(found: string | undefined, origin: string): void {
  if (found === origin) return;
  throw new GatewayError('batch-locked', `the jobs went to ${origin}, not to ${found ?? 'any service that is set'}`, {
    hint: `give the connection flags with which they were submitted, such as ${chooseFlag(origin)}`,
    sent: 'no',
  });
}

function chooseFlag(origin: string): string {
  if (origin === 'offline') return '--offline';
  const service = findServiceByUrl(origin);
  return service === undefined ? `--base-url ${origin}` : `--service ${service}`;
}

/**
 * Returns GatewayError batch-locked for a provider batch of another API key that the service does not show to this one, unless the
 * user gives it up.
 */
export async function findKeyError(
  { mark, plan, slots }: ProviderBatch,
  { batch, clients }: LaneRun,
): Promise<GatewayError | undefined> {
  const { profile, key } = plan;
  const isOfOtherKey = key !== undefined && key !== (await clients.get(profile)?.keyDigest?.(mark));
  if (batch.policy.retry?.includes('unknown') || !isOfOtherKey) return undefined;
  const jobs = formatCount(slots.length, 'job');
  return new GatewayError('batch-locked', `${jobs} went with another key: this one does not find their batch`, {
    hint: `give the key with which they were submitted, or give their batch up, which may bill them twice: ${batch.host.nextCommand('retry', { operand: 'unknown' })}`,
    sent: 'no',
  });
}

type OpenService = Awaited<ReturnType<typeof openPlaceApi>>;

/**
 * Calls the batch API of the service of a provider batch. Throws the error of the service or of the signal, and batch-locked in the
 * same way as `openPlaceApi`.
 */
export async function callService<Value>(
  plan: ServicePlace,
  run: Pick<LaneRun, 'batch' | 'clients'>,
  call: (service: OpenService, deadline: Deadline) => Promise<Value>,
): Promise<Value> {
  const service = await openPlaceApi(plan, run);
  const deadline = longDeadline(plan, run, run.batch.host.signal);
  return call(service, deadline)
    .catch((error: unknown) => {
      throw withoutCost(error, goOnHint(run.batch.host.nextCommand('again')));
    })
    .finally(() => deadline.end());
}

/** The hint if a service did not answer, or did not create a batch. */
export function goOnHint(command: string): string {
  return `to go on, without a second batch: ${command}`;
}

/** Reads a page of the batches of a service, from the newest on; undefined if it has no such list. */
export function readBatchPage(plan: ServicePlace, run: LaneRun, page?: string): Promise<BatchPage | undefined> {
  return callService(plan, run, ({ api }, deadline) => api.page(deadline, page)).catch(ignoreUnlisted);
}

/** The deadline of an upload, a download or a list with results, which can take long; a limit that the user gave counts. */
export function longDeadline(
  { profile }: Pick<ProviderBatchPlan, 'profile'>,
  { batch }: Pick<LaneRun, 'batch'>,
  signal?: AbortSignal,
): Deadline {
  const { timeoutMs, origins } = batch.plan.gateways.get(profile)?.settings ?? {};
  const isGiven = origins?.timeoutMs !== undefined && origins.timeoutMs.kind !== 'default';
  return startDeadline(isGiven && timeoutMs !== undefined ? timeoutMs : 3_600_000, signal);
}
