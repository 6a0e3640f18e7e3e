import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isFull } from '../helpers/full.ts';
import { installFromRegistry } from '../helpers/registry.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const root = join(import.meta.dirname, '../..');

test.skipIf(!isFull)('the single executable runs where there is no Node', { timeout: 600_000 }, async () => {
  const folder = scratchFolder();
  await installFromRegistry(folder, 'node@26');
  const node = join(folder, 'node_modules/node/bin/node');
  execFileSync(process.execPath, [join(root, '.scripts/executable.js'), folder, node], { stdio: 'pipe' });
  const archive = readdirSync(folder).find((name) => name.endsWith('.tar.gz')) ?? '';
  const away = scratchFolder();
  execFileSync('tar', ['-xzf', join(folder, archive), '-C', away]);
  const home = join(away, archive.replace('.tar.gz', ''));
  expect(readdirSync(home).toSorted()).toEqual(
    ['LICENSE', 'THIRD-PARTY-LICENSES.txt', 'completions', 'gateway-cli', 'man'].toSorted(),
  );
  expect(readdirSync(join(home, 'completions'))).toHaveLength(4);
  expect(readdirSync(join(home, 'man'))).toContain('gateway-cli.1');

  // No variable but these, and no program on the path.
  const run = (...argv: string[]): string =>
    execFileSync(join(home, 'gateway-cli'), argv, {
      cwd: away,
      env: { PATH: '/nowhere', HOME: away },
      encoding: 'utf8',
    });
  expect(run('text', '--offline', 'three names for a lighthouse cat')).toContain('three names for a lighthouse cat');
  expect(run('image', 'gen', '--offline', 'a lighthouse at dusk', '-o', 'dusk.png')).toBe('dusk.png\n');
  expect(run('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(run('help', 'ci', '--recipe', 'github')).toContain('runs-on');
  const schema = '{"type":"object","required":["a"]}';
  const checked = ['text', '--offline', '--schema', '/dev/stdin', '--json', 'x'];
  const document = execFileSync(join(home, 'gateway-cli'), checked, { cwd: away, env: { HOME: away }, input: schema });
  expect(JSON.parse(document.toString())).toMatchObject({ ok: true });
});
