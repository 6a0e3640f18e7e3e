import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { shell } from './spawn.ts';

/** Installs packages in a folder: a network, or npm's cache, is needed. */
export async function installFromRegistry(cwd: string, ...packages: readonly string[]): Promise<void> {
  writeFileSync(join(cwd, 'package.json'), '{}');
  const install = `npm install --prefer-offline --no-audit --no-fund --loglevel error ${packages.join(' ')}`;
  const cache = process.env['npm_config_cache'] ?? join(homedir(), '.npm');
  const ran = await shell(install, { cwd, env: { npm_config_update_notifier: 'false', npm_config_cache: cache } });
  if (!existsSync(join(cwd, 'node_modules'))) throw new Error(ran.stdout + ran.stderr);
}
