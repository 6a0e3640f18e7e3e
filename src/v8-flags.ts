import { setFlagsFromString } from 'node:v8';

/**
 * What Node 20's V8 does in the background for programs that run for hours costs one that runs for a second or two its
 * promptness, above all where other processes want the second processor, too:
 * - compiling undici's parser a second time: 55 ms, 34 MiB and a held exit for a short run (design.md section 7);
 * - optimizing every function that has run for some ms: a quarter of a batch's processor time, and deltas that wait. What is
 *   hot fifteen times as long is optimized still;
 * - collecting young garbage on several threads: the main one waits until the others had a processor.
 */
const flags = ['--no-wasm-dynamic-tiering', '--no-wasm-tier-up', '--no-parallel-scavenge'];

/** Later versions do not know it and say so on stderr. */
const flagsOfNode20 = ['--interrupt-budget=1000000'];

/** Makes V8 leave that, in the whole process: for a program of its own, never for a library. Before the first request. */
export function tuneV8(): void {
  if (!isNeeded()) return;
  const isNode20 = process.versions.v8.startsWith('11.3.');
  for (const flag of isNode20 ? [...flags, ...flagsOfNode20] : flags) setFlagsFromString(flag);
}

/**
 * Keeps V8's young heap at the size that it has. Decoding makes as much short-lived garbage as a reply has Base64: V8 would
 * let it have 10 MiB more, and would be no faster (design.md section 7).
 */
export function keepYoungHeapSmall(): void {
  if (isNeeded()) setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Lets V8's young heap grow at once to what thousands of replies need: doubled step by step it would be collected twice as
 * often in the first half second.
 */
export function growYoungHeapFast(): void {
  if (isNeeded()) setFlagsFromString('--semi-space-growth-factor=8');
}

/** For who serves for hours: the great collection comes when the heap has grown by half, not when it is four times as large. */
export function keepHeapSmall(): void {
  keepYoungHeapSmall();
  setFlagsFromString('--heap-growing-percent=50');
}

/** `Error.isError` came with Node 24, whose V8 does not need this. */
function isNeeded(): boolean {
  return !('isError' in Error);
}
