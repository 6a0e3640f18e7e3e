import { describe, expect } from 'vitest';
import { lateClock } from '../../helpers/late-clock.ts';
import { imageReply, test, textReply } from '../../helpers/with-server.ts';
import { png } from '../../replies/deviation.ts';

describe('a wait of five seconds in a pipe', () => {
  test('is one line on stderr', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    const ran = await cli(['text', 'hi'], { clock: lateClock() });
    expect(ran).toMatchObject({ code: 0, stdout: 'hello\n', stderr: 'still waiting for the gateway after 5 s\n' });
  });

  test('is silent with -q', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    const ran = await cli(['text', 'hi', '-q'], { clock: lateClock() });
    expect(ran).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
  });

  test('counts the answers of -n', async ({ server, cli }) => {
    for (let n = 0; n < 3; n++) server.reply({ body: imageReply({ mimeType: 'image/png', data: png }) });
    const ran = await cli(['image', 'gen', 'x', '-n', '3', '-o', 'out/'], { clock: lateClock() });
    expect(ran).toMatchObject({ code: 0, stderr: 'still waiting for the gateway after 5 s (3/3)\n' });
  });
});
