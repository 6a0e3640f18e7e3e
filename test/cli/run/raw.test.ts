import { expect } from 'vitest';
import { test } from '../../helpers/with-server.ts';

const body = 'a\u001b[2Jb';

test('--raw is exact on a terminal too, and warns of that', async ({ server, cli }) => {
  server.reply({ body });
  const ran = await cli(['text', 'x', '--raw'], { tty: { stdout: true } });
  expect(ran).toMatchObject({ code: 0, stdout: body });
  expect(ran.stderr).toMatch(/^gateway-cli: warning: --raw [^\n]*terminal[^\n]*\n$/);
  server.reply({ body });
  expect(await cli(['text', 'x', '--raw'])).toMatchObject({ code: 0, stdout: body, stderr: '' });
});
