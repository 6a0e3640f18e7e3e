import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const rows = Array.from({ length: 44 }, (_, index) => index + 1);

test('every row of wire.md section 6 has a test through the whole program', () => {
  const folder = import.meta.dirname;
  const sources = readdirSync(folder).filter((name) => /^deviations-.*\.test\.ts$/.test(name));
  const titles = sources.flatMap((name) => [
    ...readFileSync(join(folder, name), 'utf8').matchAll(/^deviation\('[^']*\(wire 6 #(\d+)\)'/gm),
  ]);
  const tested = new Set(titles.map(([, number]) => Number(number)));
  expect(rows.filter((row) => !tested.has(row))).toEqual([]);
  expect([...tested].filter((row) => !rows.includes(row))).toEqual([]);
});
