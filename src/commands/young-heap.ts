import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8's young heap at the size that it has. Decoding makes as much short-lived garbage as a reply has Base64: V8 would
 * let it have 10 MiB more, and would be no faster (design.md section 7). For the whole process, so for commands only.
 */
export function keepYoungHeapSmall(): void {
  // `Error.isError` came with Node 24, whose V8 does not need this.
  if (!('isError' in Error)) setFlagsFromString('--semi-space-growth-factor=1');
}

/** For who serves for hours: the great collection comes when the heap has grown by half, not when it is four times as large. */
export function keepHeapSmall(): void {
  keepYoungHeapSmall();
  setFlagsFromString('--heap-growing-percent=50');
}
