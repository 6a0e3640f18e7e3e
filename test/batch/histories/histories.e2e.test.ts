import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { bundle } from '../../helpers/bundle.ts';
import { isFull } from '../../helpers/full.ts';

/** A history is a dozen runs on real files, and takes about 0.15 s of a processor: a suite has an hour for all of it. */
const usual = isFull ? 5000 : 2000;

/** `GATEWAY_CLI_FUZZ_SEED=<n>` plays others, and `GATEWAY_CLI_HISTORIES=<n>` as many as one has time for. */
const { GATEWAY_CLI_FUZZ_SEED: seed = '20261128', GATEWAY_CLI_HISTORIES: count = String(usual) } = process.env;

/** Each half has a process of its own: two processors are busy to the end. */
const players = 2;

test(
  'whatever happens to a table and its runs, nothing is paid twice, and each row has its answer',
  { timeout: 86_400_000 },
  async () => {
    const player = await bundle('test/batch/histories/player.ts');
    const seeds = Array.from({ length: players }, (_, at) => Number(seed) + at);
    const share = Math.ceil(Number(count) / players);
    const play = (seed: number) => promisify(execFile)(process.execPath, [player, String(seed), String(share)]);
    await expect(Promise.all(seeds.map(play))).resolves.toHaveLength(players);
  },
);
