import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { bareEnv, bin } from '../../helpers/spawn.ts';

test.skipIf(process.platform === 'win32')(
  'the config file stays as it was, and nothing beside it, when the disk does not take the new one',
  async () => {
    const folder = scratchFolder();
    const path = join(folder, 'config.json');
    writeFileSync(path, '{}', { mode: 0o600 });
    const limited = 'ulimit -f 0; exec "$0" "$@"';
    const argv = [process.execPath, bin, 'config', 'set', 'models.text', 'm'];
    const ran = spawnSync('bash', ['-c', limited, ...argv], {
      env: { ...bareEnv(folder), GATEWAY_CONFIG: path },
      encoding: 'utf8',
    });
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toContain(`${path}: cannot be written: `);
    expect(readFileSync(path, 'utf8')).toBe('{}');
    expect(readdirSync(folder)).toEqual(['config.json']);
  },
);
