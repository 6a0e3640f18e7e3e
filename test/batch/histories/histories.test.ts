import { assert, asyncProperty } from 'fast-check';
import { test } from 'vitest';
import { isFull } from '../../helpers/full.ts';
import { history } from './history.ts';
import { playHistory } from './oracle.ts';

/** A history is a dozen runs on real files and takes a quarter of a second at most. */
const numRuns = isFull ? 500 : 100;

/** `GATEWAY_CLI_FUZZ_SEED=<n>` plays others, and `GATEWAY_CLI_HISTORIES=<n>` as many as one has time for. */
const { GATEWAY_CLI_FUZZ_SEED: seed = '20261128', GATEWAY_CLI_HISTORIES: asked = String(numRuns) } = process.env;

test(
  'whatever happens to a table and its runs, nothing is paid twice, and each row has its answer',
  { timeout: 86_400_000 },
  async () => {
    await assert(asyncProperty(history, playHistory), { seed: Number(seed), numRuns: Number(asked) });
  },
);
