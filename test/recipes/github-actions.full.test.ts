import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lacks } from '../helpers/screen.ts';
import { type Shell, shell } from '../helpers/spawn.ts';
import { blockBelow, readRecipe, workspace } from './recipe.ts';

const lines = readRecipe('ci-github.yml');

/** The shell text of a step. */
function step(name: string): string {
  const start = lines.findIndex((line) => line.trim() === `- name: ${name}`);
  const at = lines.findIndex((line, index) => index > start && line.trim().startsWith('run:'));
  const inline = (lines[at] ?? '').trim().slice('run:'.length).trim();
  return inline === '|' ? blockBelow(lines, at).join('\n') : inline;
}

/** Runs steps as a runner does, `shell: bash`, until one fails; those that run always come after it. */
async function runJob(
  env: Record<string, string> = {},
): Promise<{ ran: Record<string, Shell>; read: (name: string) => string }> {
  const place = workspace({ GITHUB_ACTIONS: 'true', GITHUB_OUTPUT: 'output', GITHUB_STEP_SUMMARY: 'summary', ...env });
  const repository =
    'git init -q . && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m "Add a lamp" && touch output';
  await shell(repository, place);
  const ran: Record<string, Shell> = {};
  let failed = false;
  for (const name of ['Check', 'Draw', 'Notes', 'Summary']) {
    if (failed && name !== 'Summary') continue;
    ran[name] = await shell(`set -eo pipefail\n${step(name)}`, place);
    failed ||= ran[name].code !== 0;
  }
  return { ran, read: (name) => readFileSync(join(place.cwd, name), 'utf8') };
}

test.skipIf(lacks('jq', 'git'))('draws, hands on outputs and writes a summary', async () => {
  const { ran, read } = await runJob();
  expect(Object.values(ran).map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    Array.from({ length: 4 }, () => ({ code: 0, stderr: '' })),
  );
  expect(read('output')).toMatch(/^path=cover\.png\nsha256=[\da-f]{64}\n$/);
  expect(read('summary')).toMatch(/^Drew `cover\.png`, 1360×768, by local-image\n\n.*Add a lamp/s);
});

test.skipIf(lacks('jq', 'git'))(
  'a failure is an annotation, and the summary says what to do and whether it is billed',
  async () => {
    const { ran, read } = await runJob({ GATEWAY_IMAGE_MODEL: 'fault-402' });
    expect(ran['Draw']?.code).toBe(5);
    expect(ran['Draw']?.stderr).toMatch(/^::error title=gateway-cli quota::.+$/m);
    expect(ran['Notes']).toBeUndefined();
    expect(ran['Summary']?.code).toBe(0);
    expect(read('output')).toBe('');
    expect(read('summary')).toMatch(/^\*\*quota\*\*: .+\n\n.+\n\nBilled: no\n$/s);
  },
);

test('outside GitHub Actions there is no annotation', async () => {
  const place = workspace({ GATEWAY_IMAGE_MODEL: 'fault-402' });
  const ran = await shell('gateway-cli image gen x', place);
  expect(ran.code).toBe(5);
  expect(ran.stderr).not.toContain('::error');
});
