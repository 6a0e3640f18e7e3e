import type { Guard } from './guard.ts';

/** Code that is taken out: the file below `src/`, what stands there, and what stands there then. */
export type Cut = readonly [file: string, find: string, replace: string];

/** Guards of table 2c that one test notices; the test's file below `test/`, its title behind `faults 2c: `. */
export function noticedBy(test: string, title: string, ...cuts: readonly Cut[]): Guard[] {
  return cuts.map(([file, find, replace]) => ({
    file: `src/${file}`,
    find,
    replace,
    test: `test/${test}.test.ts`,
    title: `faults 2c: ${title}`,
  }));
}

/** A guard of table 2d, and what stands there without it. */
export function secretGuard(file: string, [find, replace]: [string, string], test: string, title: string): Guard {
  return { file: `src/${file}`, find, replace, test, title: `faults 2d: ${title}` };
}
