import { describe, expect } from 'vitest';
import { lateClock } from '../../helpers/late-clock.ts';
import { imageReply, test, textReply } from '../../helpers/with-server.ts';
import { png } from '../../replies/deviation.ts';

/** A terminal whose line cannot be animated. */
const plain = { tty: { stderr: true }, env: { TERM: 'dumb' } };

describe('a wait of five seconds', () => {
  test('is one line on a dumb terminal', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    const ran = await cli(['text', 'hi'], { clock: lateClock(), ...plain });
    expect(ran).toMatchObject({ code: 0, stdout: 'hello\n', stderr: 'still waiting for the gateway after 5 s\n' });
  });

  test.for([{}, { CI: 'true' }, { GITHUB_ACTIONS: 'true' }])(
    'is silent in a pipe with %j',
    async (env, { server, cli }) => {
      server.reply({ status: 429, headers: { 'retry-after-ms': '1' } });
      server.reply({ body: textReply('hello') });
      const ran = await cli(['text', 'hi'], { clock: lateClock(), env });
      expect(ran).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
    },
  );

  test('is silent with -q', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    const ran = await cli(['text', 'hi', '-q'], { clock: lateClock(), ...plain });
    expect(ran).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
  });

  test('counts the answers of -n', async ({ server, cli }) => {
    for (let n = 0; n < 3; n++) server.reply({ body: imageReply({ mimeType: 'image/png', data: png }) });
    const ran = await cli(['image', 'gen', 'x', '-n', '3', '-o', 'out/'], { clock: lateClock(), ...plain });
    expect(ran).toMatchObject({ code: 0, stderr: 'still waiting for the gateway after 5 s (3/3)\n' });
  });
});
