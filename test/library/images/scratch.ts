import { readdirSync } from 'node:fs';

export { scratchFolder } from '../../helpers/scratch.ts';

/** Names in a folder, sorted; hidden ones too. */
export function namesIn(folder: string): string[] {
  return readdirSync(folder).sort();
}

/** A PNG header of a given size: enough for type and pixels. */
export function pngHead(width: number, height: number): Buffer {
  const head = Buffer.from('89504e470d0a1a0a0000000d494844520000000000000000080600000000000000', 'hex');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
}
