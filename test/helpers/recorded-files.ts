import { readdirSync } from 'node:fs';

/** The recordings of a folder, sorted: `<folder of the request>/1.jsonl`. */
export function recordedFiles(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /[0-9a-f]{32}.\d+\.jsonl$/.test(name)).toSorted();
}
