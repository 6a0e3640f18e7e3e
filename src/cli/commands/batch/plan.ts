import { type Batch, type BatchPlan, getRequestOrigin, type Job, planBatch, readRows } from '../../../batch/index.ts';
import { usageError } from '../../../library/index.ts';
import { keyForAnyOrigin } from '../../settings/key.ts';
import { Secret } from '../../settings/redact.ts';
import type { Settings } from '../../settings/types.ts';
import type { Context } from '../../context.ts';
import { createDryClient } from '../../run/client.ts';
import { type BatchFlags, requireOneLane } from './flags.ts';
import type { JobPrices } from './job-prices.ts';
import { collectLineErrors, duplicateError, type LineErrors } from './jobs/line-errors.ts';
import type { JobSource } from './jobs/source.ts';
import type { TypedFolder } from './next-command.ts';
import { ownSettings } from './own-settings.ts';
import { noteOtherShards, openRedo, requireCollected, requireUsed } from './redo.ts';

interface PlanJobs extends Pick<Batch, 'host' | 'jobs' | 'outdir' | 'policy' | 'state' | 'shard'> {
  folder: TypedFolder | undefined;
  prices: JobPrices;
  source: JobSource;
  flags: BatchFlags;
  context: Context;
  /** Called after each job of the file. */
  onChecked: () => void;
}

/** Plans a run by its flags. Throws GatewayError usage with file and line, and batch-edited. */
export async function planJobs({ prices, source, flags, context, ...batch }: PlanJobs): Promise<BatchPlan> {
  let lineErrors: LineErrors | undefined;
  const redo = flags.redo && openRedo(flags.redo, batch);
  const read = await readRows({
    ...batch,
    signal: context.signal,
    onFault: (error) => (lineErrors ??= collectLineErrors(source)).add(error),
    async onDuplicate(job) {
      if (lineErrors?.isFull) return lineErrors.countAnother();
      throw await duplicateError(job, source);
    },
    onRow(job, place, prepared) {
      redo?.see(job, place);
      if (prepared) prices.keepMost(place, prepared);
      batch.onChecked();
    },
  });
  lineErrors?.throwIfAny();
  if (read.table.size === 0) throw usageError(`${source.name} contains no jobs`, source.lineForm);
  const named = await redo?.find(read.table);
  // The prices of jobs that are not built are not checked.
  for (const { settings } of read.gateways.values()) prices.see(settings);
  await checkGateways(read.gateways, batch.jobs, context);
  const lanes = new Set([...read.gateways.values()].map(({ settings }) => settings.lane));
  if (lanes.has('batch') || flags.wait === false) requireOneLane(lanes, flags);
  const plan = await planBatch(read, named && new Set(named.map(({ place }) => place)), batch);
  if (named) {
    requireCollected(named, { ...batch, plan });
    requireUsed(named, { ...batch, plan });
    await noteOtherShards(named, { ...batch, plan }, context);
  }
  return plan;
}

/** Checks the gateways of the requests, which no job can do by itself, and whether a key may go there. */
async function checkGateways(gateways: BatchPlan['gateways'], jobs: Batch['jobs'], context: Context): Promise<void> {
  if (gateways.size === 0) {
    // This shard has no job, so the gateway is that of the first job of the file.
    const { value } = await jobs.read(() => undefined).next();
    gateways.set('', { settings: await jobs.settingsOf(value as Job), forms: {} });
  }
  if (gateways.size > 1) requireOwnKeys([...gateways.values()].map(ownSettings));
  for (const gateway of gateways.values()) {
    if (gateway.settings.offline || gateway.post === undefined) continue;
    (await createDryClient(ownSettings(gateway), context, gateway.forms)).address(gateway.post);
  }
}

/** Throws GatewayError usage if a key or a secret header of no origin would go to several. */
export function requireOwnKeys(gateways: readonly Settings[]): void {
  const remote = gateways.filter(({ offline }) => !offline);
  const origins = new Set(remote.map(getRequestOrigin));
  if (origins.size < 2) return;
  const hosts = [...origins].join(' and ');
  const key = remote.map((settings) => keyForAnyOrigin(settings.key)).find((name) => name !== undefined);
  if (key !== undefined)
    throw usageError(
      `the jobs go to ${hosts}, and the key of ${key} would go to all of them`,
      `leave ${key} out; each profile has its own key: gateway-cli config set apiKey - --profile <name>`,
    );
  for (const { headers, origins } of remote)
    for (const { name, value } of headers) {
      const origin = origins.headers[name];
      if (origin?.kind !== 'flag' || !(value instanceof Secret)) continue;
      throw usageError(
        `the jobs go to ${hosts}, and header ${name} (${origin.from}) would go to all of them`,
        `put it into the headers of its profile: gateway-cli config set headers.${name} - --profile <name>`,
      );
    }
}
