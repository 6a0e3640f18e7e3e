import type { FormatName } from './facts.ts';
import type { Format } from './format-types.ts';

/** Loads a format: a command speaks one of them. */
export async function loadFormat(name: FormatName): Promise<Format> {
  if (name === 'content') return (await import('./content/format.ts')).content;
  if (name === 'messages') return (await import('./messages/format.ts')).messages;
  return (await import('./completions/format.ts')).completions;
}
