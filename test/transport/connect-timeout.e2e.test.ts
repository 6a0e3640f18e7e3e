import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { post, settled } from './post.ts';

// Alone in its process, as no quick test is: undici keeps the timer that it began with, which must be one that the test moves.
test('a connection that is not made within ten seconds is given up where nothing else is said', async () => {
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const accepted = once(silent, 'connection');
  const ending = post(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
  await accepted;
  // undici looks at its clock twice a second.
  vi.advanceTimersByTime(11_000);
  const message = expect.stringContaining('no connection within 10 s');
  expect(await settled(ending)).toMatchObject({ sent: false, error: { class: 'not-sent', message } });
});
