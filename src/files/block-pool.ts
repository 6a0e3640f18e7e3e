/** Size of a block in bytes. */
export const blockSize = 128 * 1024;
const mostSpare = 8;
const spare: Buffer[] = [];

/** Memory to fill; one that was given back where there is one, for V8 would collect hundreds of them only late. */
export function takeBlock(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(blockSize);
}

/** Gives a block back that nobody reads or writes any more. */
export function giveBlock(block: Buffer): void {
  if (spare.length < mostSpare) spare.push(block);
}
