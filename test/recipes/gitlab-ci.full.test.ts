import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lacks } from '../helpers/screen.ts';
import { shell } from '../helpers/spawn.ts';
import { blockBelow, readRecipe, workspace } from './recipe.ts';

const lines = readRecipe('ci-gitlab.yml');

function list(key: string): string[] {
  const at = lines.findIndex((line) => line.trim() === `${key}:`);
  return blockBelow(lines, at).flatMap((line) => (line.startsWith('- ') ? [line.slice(2)] : []));
}

/** A runner ends a script at the first line that fails. */
const script = ['set -eo pipefail', ...list('script')].join('\n');

test.skipIf(lacks('jq'))('draws, and hands on variables', async () => {
  const place = workspace({ GITLAB_CI: 'true' });
  const ran = await shell(script, place);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(join(place.cwd, 'picture.env'), 'utf8')).toMatch(
    /^PICTURE_PATH=cover\.png\nPICTURE_SHA256=[\da-f]{64}\n$/,
  );
});

test.skipIf(lacks('jq')).each([
  ['fault-402', 5, true],
  ['fault-error-200', 6, true],
  ['fault-blocked', 10, false],
])('%s ends the job with %i', async (model, code, isAllowed) => {
  const place = workspace({ GATEWAY_IMAGE_MODEL: model });
  const ran = await shell(script, place);
  expect(ran.code).toBe(code);
  expect(list('exit_codes').includes(String(code))).toBe(isAllowed);
  const document = JSON.parse(readFileSync(join(place.cwd, 'picture.json'), 'utf8')) as { exitCode: number };
  expect(document.exitCode).toBe(code);
});
