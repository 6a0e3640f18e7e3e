import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lacks } from '../../helpers/screen.ts';
import { shell } from '../../helpers/spawn.ts';

const page = join(import.meta.dirname, '../../../dist/man/gateway-cli.1');

test.skipIf(lacks('man')).each(['80', '40'])('man shows the page without a warning, at %s columns', async (columns) => {
  const ran = await shell(`man --warnings=w -E UTF-8 -l ${page}`, { env: { MANWIDTH: columns } });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain('\n       -q, --quiet\n');
  expect(ran.stdout).toContain('\nEXIT STATUS\n');
});
