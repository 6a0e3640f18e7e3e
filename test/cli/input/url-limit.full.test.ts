import { expect } from 'vitest';
import { test } from './with-host.ts';

test('more than 64 MiB are refused as they come, whatever length was promised', async ({
  server,
  host,
  trust,
  cli,
}) => {
  const block = Buffer.alloc(1024 * 1024);
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield ((sent++, block));
  }
  host.reply({ headers: { 'content-type': 'image/png' }, chunks: endless() });
  const ran = await cli(['image', 'edit', 'x', '-i', `${host.url}/cat.png?t=secret`, ...trust]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`-i '${host.url}/cat.png' holds more than 64 MiB`);
  expect(sent).toBeGreaterThan(64);
  expect(sent).toBeLessThan(128);
  await host.requests[0]?.closed;
  expect(server.requests).toEqual([]);
});
