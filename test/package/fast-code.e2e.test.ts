import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const chunks = join(import.meta.dirname, '../../dist/chunks');

const code = readdirSync(chunks)
  .map((name) => readFileSync(join(chunks, name), 'utf8'))
  .join('\n');

test('the files of the program export values, and no getter that each use would call', () => {
  expect(code.includes('exports.')).toBe(true);
  expect(code.includes('defineProperty(exports,"')).toBe(false);
});

test('objects of the program that begin with a spread do not get a class each on Node 20: those of packages alone are as they were', () => {
  const count = (pattern: RegExp): number => [...code.matchAll(pattern)].length;
  const shared = count(/\{\.\.\.null,/g);
  expect(shared).toBeGreaterThan(0);
  expect(count(/[(=,:?]\{\.\.\.(?!null,)[\w.]+,/g)).toBeLessThan(shared / 5);
  expect(code).not.toContain('globalThis.nothing');
});
