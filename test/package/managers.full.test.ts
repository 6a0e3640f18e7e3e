import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shell } from '../helpers/spawn.ts';
import { version } from '../../src/library/version.ts';
import { type Installed, packAndInstall } from './installed.ts';

const bins = join(import.meta.dirname, 'managers/node_modules/.bin');
let installed: Installed;

beforeAll(() => {
  installed = packAndInstall();
}, 300_000);
afterAll(() => installed?.remove());

/** Lines of a shell in an empty folder; $TARBALL is the package. Nothing else is fetched: there is no registry. */
const ways = [
  ['npx', 'npx --yes --package "$TARBALL" gateway-cli'],
  ['npm, globally', 'npm install --global --prefix g "$TARBALL" >&2 && g/bin/gateway-cli'],
  ['pnpm dlx', 'pnpm dlx "$TARBALL"'],
  ['pnpm', 'echo {} > package.json && pnpm add "$TARBALL" >&2 && node_modules/.bin/gateway-cli'],
  ['pnpm, globally', 'PATH="$PWD/g:$PATH" PNPM_HOME="$PWD/g" pnpm add --global "$TARBALL" >&2 && g/gateway-cli'],
  ['yarn', 'echo {} > package.json && yarn add --silent "file:$TARBALL" && node_modules/.bin/gateway-cli'],
  ['yarn, globally', 'yarn global add --silent --prefix g --global-folder f "file:$TARBALL" && g/bin/gateway-cli'],
  ['bunx', 'bunx --package "$TARBALL" gateway-cli'],
  ['bun', 'echo {} > package.json && bun add "$TARBALL" >&2 && node_modules/.bin/gateway-cli'],
  ['bun, globally', 'BUN_INSTALL="$PWD/g" bun add --global "$TARBALL" >&2 && g/bin/gateway-cli'],
] as const;

describe('the tarball', () => {
  test.for(ways)('runs by %s', { timeout: 120_000 }, async ([, way]) => {
    const env = {
      PATH: `${bins}:${process.env['PATH']}`,
      TARBALL: installed.tarball,
      npm_config_registry: 'http://127.0.0.1:9',
      npm_config_update_notifier: 'false',
    };
    const ran = await shell(`${way} --version`, { env });
    expect([ran.code, ran.stdout.trim(), ran.code === 0 ? '' : ran.stderr]).toEqual([0, version, '']);
  });
});
