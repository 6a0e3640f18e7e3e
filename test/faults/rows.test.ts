import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rows } from '../guards/rows.ts';
import { tableRows } from '../helpers/readme.ts';

const root = join(import.meta.dirname, '..');
const titles = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules') && !name.endsWith('rows.test.ts'))
  .map((name) => readFileSync(join(root, name), 'utf8'))
  .flatMap((source) => source.split('\n').filter((line) => line.includes('faults 2')))
  .join('\n')
  .toLowerCase();

/** The row's words stand in a title right behind its table, or behind another row of the same title. */
function hasTest(table: string, name: string): boolean {
  return titles.split('\n').some((line) => {
    const at = line.indexOf(`faults ${table}: `);
    return at >= 0 && line.indexOf(name.toLowerCase(), at) >= 0;
  });
}

test.each(Object.entries(rows).flatMap(([table, names]) => names.map((name) => [table, name] as const)))(
  'a test is named for row %s: %s',
  (table, name) => {
    // Titles made from a table (`faults 2b: %s`) carry their rows' names in that table.
    const inTable = titles.includes(`faults ${table}: %s`) && namedInTable(name);
    expect(hasTest(table, name) || inTable).toBe(true);
  },
);

const sources = ['replies', 'transport']
  .map((name) => readFileSync(join(root, `faults/${name}.test.ts`), 'utf8'))
  .join('\n');

function namedInTable(name: string): boolean {
  return sources.includes(`'${name}`);
}

test('every promise of the README names a test that is there', () => {
  const promises = tableRows('What it promises');
  expect(promises.length).toBeGreaterThan(5);
  for (const [promise, tests = ''] of promises) {
    const files = [...tests.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1] ?? '');
    expect([promise, files.length > 0, files.filter((file) => !existsSync(join(root, '..', file)))]).toEqual([
      promise,
      true,
      [],
    ]);
  }
});
