import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../../../faults/program.ts';

const script = (name: string): string =>
  `trap 'echo got ${name}; exit 7' ${name}; bash -c 'echo $$ > started; echo ready; exec sleep 60'`;

/** Whether a process runs; one that ended and was not waited for does not. */
function runs(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test.for(['INT', 'TERM', 'HUP'] as const)('serve passes SIG%s on, to all that its command started', async (name) => {
  const running = start(['serve', '-q', '--', 'bash', '-c', script(name)], { url: 'http://127.0.0.1:9' });
  await running.printed('ready');
  running.child.kill(`SIG${name}`);
  const ran = await running.ended;
  expect(ran.stdout).toContain(`got ${name}`);
  expect(ran.signal).toBe(`SIG${name}`);
  await expect.poll(() => runs(Number(readFileSync(join(running.cwd, 'started'), 'utf8')))).toBe(false);
});

test('serve logs a request that was under way when it was told to end', async () => {
  const running = start(['serve', '--port', '0', '--pace', '400'], { url: 'http://127.0.0.1:9' });
  const [printed] = (await once(running.child.stdout as NodeJS.ReadableStream, 'data')) as [string];
  const [, url = '', key = ''] = /BASE_URL=(\S+) GATEWAY_API_KEY=(\S+)/.exec(printed) ?? [];
  const messages = [{ role: 'user', content: 'hi' }];
  const body = JSON.stringify({ model: 'local-chat', max_tokens: 9, stream: true, messages });
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const reply = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body });
  running.child.kill('SIGINT');
  const isOpen = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    );
  await expect.poll(isOpen).toBe(false);
  expect(await reply.text()).toContain('message_stop');
  expect((await running.ended).stderr).toMatch(/POST \/v1\/messages 200 local-chat /);
});
