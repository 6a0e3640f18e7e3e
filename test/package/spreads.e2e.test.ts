import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const chunks = join(import.meta.dirname, '../../dist/chunks');

test('no object of the program begins with a spread before other members: on Node 20 each would have a class of its own', () => {
  const code = readdirSync(chunks).map((name) => readFileSync(join(chunks, name), 'utf8'));
  const found = code.flatMap((text) =>
    [...text.matchAll(/[(=,:?]\{\.\.\.(?!null,)[\w.]+,.{20}/g)].map(([place]) => place),
  );
  expect(found).toEqual([]);
  expect(code.join('')).toContain('...null,');
});
