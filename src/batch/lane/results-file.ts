import { readSync } from 'node:fs';
import { createGatheredFile, removeFile } from '../../library/index.ts';

/** The results of a provider batch while they are joined to its jobs, each found by its slot: they lie in a temporary file. */
export type ResultsFile = Awaited<ReturnType<typeof openResultsFile>>;

/** Opens a file of results in a folder. Throws GatewayError not-written. */
export async function openResultsFile(folder: string) {
  const file = await createGatheredFile(folder);
  const places = new Map<number, { offset: number; bytes: number } | undefined>();
  return {
    /** The number of slots that have a result. */
    get size(): number {
      return places.size;
    },
    has: (slot: number): boolean => places.has(slot),
    /** Adds the result of a slot. Throws GatewayError not-written. */
    async add(slot: number, json: string): Promise<void> {
      const block = Buffer.from(json);
      places.set(slot, { offset: file.bytes, bytes: block.byteLength });
      await file.append(block);
    },
    /** Notes that a slot has a result, which is not needed any more. */
    note: (slot: number): void => void places.set(slot, undefined),
    /** Begins again without any result. */
    restart(): void {
      places.clear();
      file.restart();
    },
    /** Writes the results that were added: they can be read from then on. Throws GatewayError not-written. */
    flush: file.flush,
    /** The result that was added for a slot. */
    read(slot: number): string | undefined {
      const place = places.get(slot);
      if (place === undefined) return undefined;
      const buffer = Buffer.allocUnsafe(place.bytes);
      // It is read synchronously: the system has it in memory, and a promise takes ten times as long.
      readSync(file.handle.fd, buffer, 0, place.bytes, place.offset);
      return buffer.toString();
    },
    async remove(): Promise<void> {
      await file.handle.close().catch(() => undefined);
      await removeFile(file.path);
    },
  };
}
