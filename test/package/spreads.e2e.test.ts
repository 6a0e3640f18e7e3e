import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const chunks = join(import.meta.dirname, '../../dist/chunks');

test('objects of the program that begin with a spread do not get a class each on Node 20: those of packages alone are as they were', () => {
  const code = readdirSync(chunks)
    .map((name) => readFileSync(join(chunks, name), 'utf8'))
    .join('\n');
  const count = (pattern: RegExp): number => [...code.matchAll(pattern)].length;
  const shared = count(/\{\.\.\.null,/g);
  expect(shared).toBeGreaterThan(0);
  expect(count(/[(=,:?]\{\.\.\.(?!null,)[\w.]+,/g)).toBeLessThan(shared / 5);
  expect(code).not.toContain('globalThis.nothing');
});
