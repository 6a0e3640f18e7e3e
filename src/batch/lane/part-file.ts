import type { FileHandle } from 'node:fs/promises';
import { cannotWrite } from '../../files/synced-file.ts';
import { createTempFile, writeFully } from '../../files/temp-file.ts';

/** A temporary file in the folder of the batch. Its methods throw GatewayError not-written. */
export interface PartFile {
  path: string;
  handle: FileHandle;
  write(bytes: Uint8Array, offset: number): Promise<void>;
}

export async function createPartFile(folder: string): Promise<PartFile> {
  const refuse = (error: unknown): never => {
    throw cannotWrite(folder, error);
  };
  const { path, handle } = await createTempFile(folder).catch(refuse);
  return { path, handle, write: (bytes, offset) => writeFully(handle, bytes, offset).catch(refuse) };
}
