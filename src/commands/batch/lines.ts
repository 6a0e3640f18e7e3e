import { openIfThere } from '../../batch/journal.ts';
import { readLines } from '../../batch/read-lines.ts';

/** What the whole lines of a file hold; without the file nothing. A torn last line is ignored. */
export async function* linesOf<Parsed>(
  path: string,
  parse: (text: string) => Parsed | undefined,
): AsyncGenerator<Parsed, void> {
  const handle = await openIfThere(path);
  if (handle === undefined) return;
  try {
    for await (const { text, whole } of readLines(handle)) {
      const parsed = whole ? parse(text) : undefined;
      if (parsed !== undefined) yield parsed;
    }
  } finally {
    await handle.close();
  }
}
