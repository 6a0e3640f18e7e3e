// Plays random histories in a process of its own, bundled: `player.ts <seed> <count>`. The first that breaks a promise is shrunk, and shown.
import process from 'node:process';
import { assert, asyncProperty } from 'fast-check';
import { callFilesAtOnce } from './files-at-once.ts';
import { history } from './history.ts';
import { playHistory } from './oracle.ts';

const [seed, numRuns] = process.argv.slice(2).map(Number);

async function main(): Promise<void> {
  callFilesAtOnce();
  await assert(asyncProperty(history, playHistory), { seed: Number(seed), numRuns: Number(numRuns) });
}

void main();
