import { readdirSync } from 'node:fs';
import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';

interface Listed {
  files: { path: string }[];
}

test('every file that commands write unasked is in a place that doctor --files names', async () => {
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
    node "$BIN" doctor --files --json >&3`);
  expect(code).toBe(0);
  const { files } = JSON.parse(stdout) as Listed;
  const written = readdirSync(cwd, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.startsWith('work') && path.includes('.json'),
  );
  const known = files.map(({ path }) => relative(cwd, path));
  const placeOf = (file: string) => known.find((place) => file === place || file.startsWith(`${place}/`)) ?? file;
  const used = new Set(written.map(placeOf));
  expect([...used].filter((place) => !known.includes(place))).toEqual([]);
  expect(used.size).toBeGreaterThanOrEqual(5);
});
