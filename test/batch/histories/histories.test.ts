import { assert, asyncProperty } from 'fast-check';
import { test } from 'vitest';
import { isFull } from '../../helpers/full.ts';
import { history } from './history.ts';
import { playHistory } from './oracle.ts';

/** The rarest fault of the first drafts came after 11,000 histories. */
const numRuns = isFull ? 50_000 : 300;

/** `GATEWAY_CLI_FUZZ_SEED=<n>` plays others. */
const seed = Number(process.env['GATEWAY_CLI_FUZZ_SEED'] ?? 20_261_128);

test(
  'whatever happens to a table and its runs, nothing is paid twice, and each row has its answer',
  { timeout: 3_600_000 },
  async () => {
    await assert(asyncProperty(history, playHistory), { seed, numRuns });
  },
);
