import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createPause, startScriptedServer } from '../../../helpers/scripted-server.ts';
import { textReply } from '../../../helpers/with-server.ts';
import { connect } from './client.ts';

/** The memory that a process occupies, in MiB. */
function memoryOf(pid: number): number {
  const [, kib = ''] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

test.skipIf(process.platform !== 'linux')(
  'two hundred calls leave memory as it was',
  async () => {
    const mcp = await connect(['--offline']);
    const many = async (calls: number): Promise<void> => {
      for (let call = 0; call < calls; call++) await mcp.call('ask', { prompt: `hi ${call}` });
    };
    await many(20);
    const before = memoryOf(mcp.pid);
    await many(200);
    expect(memoryOf(mcp.pid) - before).toBeLessThan(15);
    await mcp.client.close();
  },
  600_000,
);

test('progress keeps a call alive for longer than its client would wait', async () => {
  const server = await startScriptedServer();
  const mcp = await connect([], { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456', GATEWAY_MODEL: 'm' });
  const pause = createPause();
  server.reply({ chunks: [pause.until, JSON.stringify(textReply('late'))] });
  const messages: (string | undefined)[] = [];
  const onprogress = ({ message }: { message?: string | undefined }): void => {
    messages.push(message);
    if (messages.length === 2) pause.release();
  };
  const options = { onprogress, timeout: 15_000, resetTimeoutOnProgress: true };
  const { content } = await mcp.call('ask', { prompt: 'hi' }, options);
  expect(content[0]?.text).toBe('late');
  expect(messages).toEqual(['waiting for the gateway, 10 s', 'waiting for the gateway, 20 s']);
  await mcp.client.close();
  await server.close();
}, 120_000);
