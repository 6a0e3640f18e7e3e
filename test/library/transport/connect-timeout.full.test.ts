import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { post, settled } from './post.ts';

// Needs a process of its own, as files of the full suite have: undici keeps its first timer, which must be the one that the test moves.
test('the connect timeout is ten seconds by default', async () => {
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const accepted = once(silent, 'connection');
  const ending = post(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
  await accepted;
  // undici checks its clock twice a second.
  vi.advanceTimersByTime(11_000);
  const message = expect.stringContaining('no connection within 10 s');
  expect(await settled(ending)).toMatchObject({ sent: false, error: { class: 'not-sent', message } });
});
