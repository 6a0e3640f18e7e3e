import type { Path } from './violation.ts';

/** So many fields are named in the log. */
const named = 5;
/** Longest step of a path that the log shows, in characters. */
const stepLength = 40;

/** What was left out of a body, in words for the log: the names come from the caller, so only plain ones are shown. */
export function listIgnored(paths: readonly Path[]): string[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, named).map((path) => path.map(plainStep).join('.'));
  const more = paths.length > named ? ` and ${paths.length - named} more` : '';
  return [`ignored ${shown.join(', ')}${more}`];
}

function plainStep(step: string | number): string {
  return String(step)
    .slice(0, stepLength)
    .replaceAll(/[^\w$-]/g, '?');
}
