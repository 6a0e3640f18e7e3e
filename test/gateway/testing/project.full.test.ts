import { execFileSync } from 'node:child_process';
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFull } from '../../helpers/full.ts';
import { shell, type Shell } from '../../helpers/spawn.ts';
import { type Installed, packAndInstall } from '../../package/installed.ts';

const root = join(import.meta.dirname, '../../..');
const node = JSON.stringify(process.execPath);

/** A project of a user, with the package from its tarball. */
let installed: Installed;
let cwd: string;
const run = (script: string): Promise<Shell> => shell(script, { cwd });

beforeAll(() => {
  installed = packAndInstall();
  ({ cwd } = installed);
  for (const name of ['vitest', '@types', 'typescript'])
    symlinkSync(join(root, 'node_modules', name), join(cwd, 'node_modules', name));
  for (const [name, as] of [
    ['typed.ts', 'typed.test.ts'],
    ['plain.cjs', 'plain.test.cjs'],
  ] as const)
    copyFileSync(join(import.meta.dirname, 'project', name), join(cwd, as));
  copyFileSync(join(root, 'test/fixtures/dusk.png'), join(cwd, 'cat.png'));
}, 300_000);
afterAll(() => installed.remove());

test('the types of gateway-cli/testing pass strict checks', async () => {
  const compilerOptions = { module: 'nodenext', target: 'es2023', strict: true, exactOptionalPropertyTypes: true };
  const options = { ...compilerOptions, noEmit: true, skipLibCheck: true, types: ['node'] };
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['typed.test.ts'] }));
  expect(await run(`${node} node_modules/typescript/bin/tsc -p .`)).toMatchObject({ code: 0, stdout: '' });
}, 120_000);

test('vitest runs with gateway-cli/testing', async () => {
  expect(await run(`${node} node_modules/vitest/vitest.mjs run typed`)).toMatchObject({ code: 0 });
}, 60_000);

test('node:test runs with gateway-cli/testing, and fails for a request that no answer matches', async () => {
  expect(await run(`${node} --test plain.test.cjs`)).toMatchObject({ code: 0 });
  const missed = await run(`MISS=1 ${node} --test plain.test.cjs`);
  expect(missed.code).toBe(1);
  expect(missed.stdout).toContain("no answer for the prompt 'what?'");
}, 60_000);

describe.skipIf(!isFull)('from the registry', () => {
  test('jest runs with gateway-cli/testing, and fails for a request that no answer matches', async () => {
    const jest = `${node} jest/node_modules/jest/bin/jest.js --rootDir . --testMatch '**/plain.test.cjs'`;
    // With the environment of the user: the registry can be a mirror.
    const words = ['install', '--prefix', 'jest', '--no-audit', '--no-fund', '--ignore-scripts', 'jest@30.2.0'];
    execFileSync('npm', words, { cwd, stdio: 'pipe' });
    expect(await run(jest)).toMatchObject({ code: 0 });
    const missed = await run(`MISS=1 ${jest}`);
    expect(missed.code).toBe(1);
    expect(missed.stderr).toContain("no answer for the prompt 'what?'");
  }, 300_000);
});
