import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lacks } from '../helpers/screen.ts';
import { shell } from '../helpers/spawn.ts';

const folder = join(import.meta.dirname, '../../dist/man');
const pages = readdirSync(folder);

test.skipIf(lacks('man')).each(pages)('man shows %s without a warning, at 80 columns and at 40', async (page) => {
  for (const columns of [80, 40]) {
    const ran = await shell(`man --warnings -E UTF-8 -l -Tutf8 ${join(folder, page)}`, {
      env: { MANWIDTH: `${columns}` },
    });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    // Bold type is each letter twice, with a backspace between.
    expect(ran.stdout).toContain('S\bSE\bEE\bE A\bAL\bLS\bSO\bO\n');
  }
});

test.skipIf(lacks('man'))('man shows flags and examples as they are typed', async () => {
  const { stdout } = await shell(`man -E UTF-8 -l ${join(folder, 'gateway-cli-image-gen.1')}`, {
    env: { MANWIDTH: '80' },
  });
  expect(stdout).toContain('\n       -o, --output <path|->\n');
  expect(stdout).toContain(
    `gateway-cli image gen --prompt-file prompt.txt -o \\\n           '{slug}-{n}.{ext}' --sidecar\n`,
  );
});
