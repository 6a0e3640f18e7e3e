import { setFlagsFromString } from 'node:v8';
import type { BatchPolicy } from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import { limitToFiles } from '../../run/open-files.ts';
import { usageError } from '../../../library/index.ts';
import { readVary } from './jobs/vary.ts';
import type { BatchFlags } from './flags.ts';
import { prepareRateGroup } from './rate-group.ts';

/** The policy by the flags of a run. Throws GatewayError usage for a flag without the one that it needs, or a group that cannot be kept. */
export async function readPolicy(flags: BatchFlags, { io }: Context): Promise<BatchPolicy> {
  const { rate, rateGroup, maxFailures, wait, replay, tag } = flags;
  if (rateGroup !== undefined && rate === undefined)
    throw usageError('--rate-group shares a rate, and none is given', 'add it: --rate 60/m');
  const { retry, acceptChanges, onlyNamed, limit, maxCost, maxTurns } = flags;
  return {
    retry,
    acceptChanges,
    onlyNamed,
    limit,
    maxFailures,
    maxCost,
    maxTurns,
    everyMs: rate,
    rateFile: rateGroup && (await prepareRateGroup(rateGroup, io.cwd)),
    waits: wait,
    hasRecordings: replay !== undefined,
    tags: tag && Object.fromEntries(tag),
    vary: flags.vary && readVary(flags.vary),
  };
}

const defaultConcurrency = 4;

/** The number of requests that are sent at the same time. */
export function chooseConcurrency({ concurrency = defaultConcurrency }: BatchFlags, jobs: number | undefined): number {
  return Math.min(concurrency, jobs ?? Number.POSITIVE_INFINITY);
}

/** The number of requests that are sent at the same time, if so many files can be open. */
export function limitConcurrency(flags: BatchFlags, jobs: number | undefined, context: Context): Promise<number> {
  return limitToFiles(chooseConcurrency(flags, jobs), context);
}

/**
 * Saves memory at the cost of some speed: a run can last for hours or days, perhaps with others, so its memory matters more than
 * the last tenth of its speed.
 */
export function saveMemory(): void {
  for (const flag of ['--semi-space-growth-factor=1', '--optimize-for-size']) setFlagsFromString(flag);
}
