import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Copy, copyProject } from './copy.ts';
import { rows, type Table } from './rows.ts';

/** What keeps a row of faults.md, and the test that notices when it is gone. */
export interface Guard {
  /** Below the project's folder: `src/transport/deadline.ts`. */
  file: string;
  /** The guard as it stands there, once. */
  find: string;
  /** What stands there when it is removed; the program must still build. */
  replace: string;
  /** The test's file. */
  test: string;
  /** How the test's title begins, or for a row of `test.each` the whole of it. */
  title: string;
}

const root = join(import.meta.dirname, '../..');
const read = (name: string) => readFileSync(join(root, name), 'utf8');
/** `npm run test:guards` takes each guard out, builds, and runs its test: some seconds each. */
const isRemoving = process.env['GATEWAY_CLI_TEST_GUARDS'] === '1';

/**
 * Says for each row of a table of faults.md which code keeps it. Always checked: no row is left out, and each guard stands
 * where it is said to stand. With `GATEWAY_CLI_TEST_GUARDS=1`: its test fails without it, and passes with it.
 */
export function guards(table: Table, byRow: Record<string, readonly Guard[]>): void {
  const all = Object.entries(byRow).flatMap(([row, list]) => list.map((guard) => ({ row, guard })));

  test(`each row of ${table} has a guard`, () => {
    expect(Object.keys(byRow)).toEqual([...rows[table]]);
    expect(Object.entries(byRow).filter(([, list]) => list.length === 0)).toEqual([]);
  });

  test.each(all)('$row: its guard stands once in $guard.file', ({ guard }) => {
    expect(read(guard.file).split(guard.find).length - 1, guard.find).toBe(1);
    expect(guard.replace).not.toBe(guard.find);
    expect(guard.title).toMatch(new RegExp(`^faults ${table}: `));
    expect(read(guard.test)).toContain(`faults ${table}: `);
  });

  describe.runIf(isRemoving)('without its guard', () => {
    removals(all);
  });
}

function removals(all: readonly { row: string; guard: Guard }[]): void {
  let copy: Copy | undefined;
  afterAll(() => copy?.remove());
  const minutes = { timeout: 300_000 };

  test.each(all)('$row: $guard.title fails without it', minutes, async ({ guard }) => {
    copy ??= copyProject();
    const without = await copy.run(guard, false);
    expect(without.failed, without.output).toBeGreaterThan(0);
  });

  const tests = [...new Map(all.map(({ guard }) => [`${guard.test} ${guard.title}`, guard])).values()];
  test.each(tests)('$title passes with its guard', minutes, async (guard) => {
    copy ??= copyProject();
    const whole = await copy.run(guard, true);
    expect(whole.failed, whole.output).toBe(0);
    expect(whole.passed, whole.output).toBeGreaterThan(0);
  });
}
