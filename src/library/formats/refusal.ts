import { type Meaning, type Wording, wordings } from '../vendors/refusals.ts';
import type { ErrorBody } from './error-body.ts';
import type { FormatName } from './types.ts';

/** A meaning of a refusal, and the value that its words name: a field, a model, a format. */
export interface Said {
  means: Meaning;
  value?: string | undefined;
}

/** The words are at the beginning of a body, which may be long. */
const longestRead = 4000;

/** All that the words and names of an error mean for a request in a format, in the order of the table. */
export function readRefusal(status: number | undefined, error: ErrorBody, format?: FormatName): Said[] {
  const names = [error.type, error.status, error.reason, error.code].flatMap((name) =>
    name === undefined ? [] : String(name).toLowerCase(),
  );
  const texts = [error.message.slice(0, longestRead), ...names, ...(error.fields ?? []), ...(error.limits ?? [])];
  return wordings.flatMap((wording): Said[] => {
    const { means, formats, codes = [], words = [] } = wording;
    if (!concernsStatus(wording, status)) return [];
    if (formats !== undefined && (format === undefined || !formats.includes(format))) return [];
    const found = findWord(words, texts) ?? (codes.some((code) => names.includes(code)) ? {} : undefined);
    return found === undefined ? [] : [{ means, value: found.value ?? wording.value }];
  });
}

function concernsStatus({ at }: Wording, status: number | undefined): boolean {
  if (at === 'any') return true;
  if (status === undefined) return false;
  return at?.includes(status) ?? refusesRequest(status);
}

/** Statuses with a meaning of their own: the key, the quota, the path, the time. */
const ofOthers = new Set([401, 402, 403, 404, 408, 429]);

function refusesRequest(status: number): boolean {
  return status >= 400 && status < 500 && !ofOthers.has(status);
}

/** The first word that one of the texts contains, with its value. */
function findWord(
  words: readonly (string | RegExp)[],
  texts: readonly string[],
): { value?: string | undefined } | undefined {
  for (const word of words)
    for (const text of texts) {
      const match = typeof word === 'string' ? text.toLowerCase().includes(word) && [] : word.exec(text);
      if (match) return { value: match[1] };
    }
  return undefined;
}
