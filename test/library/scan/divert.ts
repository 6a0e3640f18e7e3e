import { divertBase64, type ScanOptions } from '../../../src/library/scan/json-scan.ts';

export interface Diverted {
  json: string;
  strings: string[];
}

/** Scans a body and collects every diverted string; `@0`, `@1` … replace them. */
export async function divert(chunks: readonly (string | Uint8Array)[], options: ScanOptions = {}): Promise<Diverted> {
  const strings: string[] = [];
  const diversion = {
    async open() {
      const index = strings.push('') - 1;
      const write = (bytes: Uint8Array): void => {
        strings[index] += Buffer.from(bytes).toString('latin1');
      };
      return { sink: { write, end: () => {} }, placeholder: `@${index}` };
    },
  };
  const parts: Uint8Array[] = [];
  for await (const part of divertBase64(iterate(chunks), diversion, { threshold: 8, ...options })) {
    parts.push(Uint8Array.from(part));
  }
  return { json: Buffer.concat(parts).toString(), strings };
}

async function* iterate(chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}
