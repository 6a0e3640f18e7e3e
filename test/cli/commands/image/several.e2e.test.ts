import { expect, test } from 'vitest';
import { serve, start } from '../../../faults/program.ts';
import { createPause } from '../../../helpers/scripted-server.ts';
import { imageReply } from '../../../helpers/with-server.ts';
import { png } from '../../../replies/deviation.ts';

test('after a 429 of one request -n sends none before its time', async () => {
  const server = await serve();
  const pause = createPause();
  const picture = JSON.stringify(imageReply({ mimeType: 'image/png', data: png }));
  server.reply({ status: 429, headers: { 'retry-after-ms': '2000' }, body: { error: { code: 429, message: 'slow' } } });
  server.reply({ chunks: [pause.until, picture] });
  server.always({ body: picture });
  const { printed, ended } = start(['image', 'gen', 'x', '-n', '4', '--concurrency', '2', '-o', 'out/', '-v'], server);
  await printed('rate limited (429): slow; retry 1 of 2 in 2 s');
  const limited = performance.now();
  // Its place is free now, and without the limit the third would go out at once.
  pause.release();
  await server.received(3);
  expect(performance.now() - limited).toBeGreaterThan(1500);
  expect(await ended).toMatchObject({ code: 0, stdout: [1, 2, 3, 4].map((n) => `out/image-${n}.png\n`).join('') });
  expect(server.requests).toHaveLength(5);
});
