import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shell } from './helpers/spawn.ts';

const src = join(import.meta.dirname, '../src');
const topic = (name: string): string => readFileSync(join(src, 'cli/help/topics', `${name}.md`), 'utf8');

test('the topic trust names each place in which commands write unasked', async () => {
  const { cwd, code } = await shell(`
    mkdir work && cd work
    exec 3>&1 >/dev/null 2>&1
    node "$BIN" config set models.text local-text
    printf 'hello\\n' > prompts.txt
    node "$BIN" serve -- bash -c '
      node "$BIN" chat --session trip hello
      node "$BIN" models
      [ -e /dev/full ] && node "$BIN" text hello > /dev/full
      prices="{\\"local-text\\":{\\"input\\":\\"1\\",\\"output\\":\\"1\\"}}"
      node "$BIN" batch --prompts prompts.txt -o out --rate 100/s --rate-group team --budget team:5 --prices "$prices"'`);
  expect(code).toBe(0);
  const written = readdirSync(cwd, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.startsWith('work') && path.includes('.json'),
  );
  const known = [...topic('trust').matchAll(/^\| `~\/([^`]+)` \|/gm)].map(([, path = '']) => path);
  const placeOf = (file: string) => known.find((place) => file === place || file.startsWith(`${place}/`)) ?? file;
  const used = new Set(written.map(placeOf));
  expect([...used].filter((place) => !known.includes(place))).toEqual([]);
  expect(used.size).toBeGreaterThanOrEqual(5);
});

test('the topics trust, settings and services name each variable that the source reads by its name', () => {
  const read = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readFileSync(join(src, name), 'utf8').matchAll(/\benv\['([A-Z_0-9]+)'\]/g)])
    .map(([, name = '']) => name);
  const named = new Set(['trust', 'settings', 'services'].flatMap((name) => topic(name).match(/[A-Z_0-9]+/g) ?? []));
  expect(read.length).toBeGreaterThan(10);
  expect(read.filter((name) => !named.has(name))).toEqual([]);
});
