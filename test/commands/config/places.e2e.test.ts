import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';

interface Places {
  places: { name: string; path: string }[];
  variables: { variables: string[] }[];
  telemetry: boolean;
}

test('every file that commands write unasked is in a place that config path --all names', async () => {
  const { cwd, stdout, code } = await shell(`
    mkdir work && cd work
    exec 3>&1 >/dev/null 2>&1
    node "$BIN" config set models.text local-text
    printf 'hello\\n' > prompts.txt
    node "$BIN" serve -- bash -c '
      node "$BIN" chat --session trip hello
      node "$BIN" models
      [ -e /dev/full ] && node "$BIN" text hello > /dev/full
      prices="{\\"local-text\\":{\\"input\\":\\"1\\",\\"output\\":\\"1\\"}}"
      node "$BIN" batch --prompts prompts.txt -o out --rate 100/s --rate-group team --budget team:5 --prices "$prices"'
    node "$BIN" config path --all --json >&3`);
  expect(code).toBe(0);
  const { places, telemetry } = JSON.parse(stdout) as Places;
  expect(telemetry).toBe(false);
  const written = listFiles(cwd).filter((path) => !path.startsWith('work') && path.includes('.json'));
  const known = places.map(({ path }) => relative(cwd, path));
  const placeOf = (file: string) => known.find((place) => file === place || file.startsWith(`${place}/`)) ?? file;
  const used = new Set(written.map(placeOf));
  expect([...used].filter((place) => !known.includes(place))).toEqual([]);
  expect(used.size).toBeGreaterThanOrEqual(5);
});

test('every variable that the source reads is one that config path --all names', async () => {
  const { stdout } = await shell('node "$BIN" config path --all --json');
  const named = new Set((JSON.parse(stdout) as Places).variables.flatMap(({ variables }) => variables));
  const source = join(import.meta.dirname, '../../../src');
  const texts = listFiles(source)
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(source, path), 'utf8'));
  const read = texts.flatMap((text) => [...text.matchAll(/\benv\['([A-Z][A-Z0-9_]*)'\]/g)].map(([, name]) => name));
  expect(read).toContain('NO_COLOR');
  expect([...new Set(read)].filter((name) => name !== undefined && !named.has(name))).toEqual([]);
});

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' });
}
