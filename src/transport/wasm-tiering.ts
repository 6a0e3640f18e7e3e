import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8 from compiling undici's parser a second time in the background: on Node 20 that costs a short run 55 ms and 34 MiB
 * and holds its exit (design.md section 7). Works only before the first request, and for the whole process.
 */
export function stopWasmTierUp(): void {
  // `Error.isError` came with Node 24, whose V8 does not need this.
  if ('isError' in Error) return;
  setFlagsFromString('--no-wasm-dynamic-tiering');
  setFlagsFromString('--no-wasm-tier-up');
}
