import type { Shard } from '../../../../batch/index.ts';
import { usageError } from '../../../../library/index.ts';

type ShardVariables = Readonly<Record<string, string | undefined>>;

const maxShards = 100_000;

/**
 * Reads `--shard`: `i/n` from 1, `auto` (Slurm arrays, GitLab's parallel), `auto/n` (Kubernetes' JOB_COMPLETION_INDEX too).
 * Throws GatewayError usage.
 */
export function parseShard(word: string, env: ShardVariables): Shard {
  const [left = '', right, ...rest] = word.split('/');
  if (rest.length > 0) throw malformed(word);
  if (left !== 'auto') return checked(Number(left || Number.NaN), Number(right || Number.NaN), word);
  const found = findShard(env);
  if (right === undefined) {
    if (found === undefined) throw unknownPlace('--shard auto: no variable says which of several machines this is');
    if (found.total === undefined)
      throw unknownPlace('--shard auto: JOB_COMPLETION_INDEX is set, but nothing says how many shards there are');
    return checked(found.index, found.total, word);
  }
  if (found === undefined) throw unknownPlace(`--shard ${word}: no variable says which of several machines this is`);
  const total = Number(right || Number.NaN);
  if (found.total !== undefined && found.total !== total)
    throw usageError(`--shard ${word}: the machine is one of ${found.total}`, 'leave the number out: --shard auto');
  return checked(found.index, total, word);
}

/** The place of the machine by the variables of the engine that started it; Kubernetes does not give the number of machines. */
function findShard(env: ShardVariables): { index: number; total: number | undefined } | undefined {
  const readShardNumber = (name: string) =>
    env[name] === undefined || env[name] === '' ? undefined : Number(env[name]);
  const task = readShardNumber('SLURM_ARRAY_TASK_ID');
  if (task !== undefined) {
    const step = readShardNumber('SLURM_ARRAY_TASK_STEP') || 1;
    const first = readShardNumber('SLURM_ARRAY_TASK_MIN') ?? Number.NaN;
    return { index: (task - first) / step + 1, total: readShardNumber('SLURM_ARRAY_TASK_COUNT') ?? Number.NaN };
  }
  const completion = readShardNumber('JOB_COMPLETION_INDEX');
  if (completion !== undefined) return { index: completion + 1, total: undefined };
  const node = readShardNumber('CI_NODE_INDEX');
  return node === undefined ? undefined : { index: node, total: readShardNumber('CI_NODE_TOTAL') ?? Number.NaN };
}

function checked(index: number, total: number, word: string): Shard {
  const whole = Number.isInteger(index) && Number.isInteger(total);
  if (!whole || total < 1 || total > maxShards) throw malformed(word);
  if (index < 1 || index > total) throw usageError(`--shard: ${index} is not within 1 to ${total}`, example);
  return { index, total };
}

const example = 'for example: --shard 1/4, the first of four';

function malformed(word: string): Error {
  return usageError(`--shard takes i/n, auto or auto/n, not '${word.slice(0, 40)}'`, example);
}

function unknownPlace(message: string): Error {
  return usageError(message, `say it: --shard auto/<n> on Kubernetes, --shard <i>/<n> anywhere`);
}
