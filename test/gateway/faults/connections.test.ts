import { EventEmitter, once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createOfflineHandler } from '../../../src/gateway/offline-handler.ts';
import type { Handler } from '../../../src/gateway/types.ts';
import { message, turn, startGateway, type GatewayUnderTest, sharedGateway } from '../gateway-under-test.ts';
import { askFaults } from './ask.ts';

const gateway = sharedGateway();
const { chat, complete, completeStream, stream, write } = askFaults(gateway);

/** The bytes of a reply that is cut. */
function cutReply(from: GatewayUnderTest, more: object = {}): Promise<string> {
  const body = JSON.stringify(message('hi', { model: 'fault-cut', ...more }));
  const head = `Host: 127.0.0.1:${from.port}\r\nx-api-key: local-test-key\r\nvendor-b-version: 2023-06-01\r\nContent-Type: application/json`;
  return from.raw(`POST /v1/messages HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

/** What of a stream comes before it is cut, out of its chunks. */
async function cutStream(from: GatewayUnderTest): Promise<string> {
  const reply = await cutReply(from, { stream: true });
  const chunks = reply.slice(reply.indexOf('\r\n\r\n') + 2);
  return chunks
    .split(/\r\n[0-9a-f]+\r\n/)
    .join('')
    .trimEnd();
}

describe('connections', () => {
  const broken = [
    ['fault-cut', 'terminated'],
    ['fault-reset-body', 'terminated'],
    ['fault-reset', 'fetch failed'],
  ] as const;
  it.each(broken)('%s', async (model, text) => {
    for (const ask of [write, chat, stream, complete, completeStream]) await expect(ask(model)).rejects.toThrow(text);
  });

  it('fault-cut sends half of what the head promises', async () => {
    const reply = await cutReply(gateway);
    const [, length] = /content-length: (\d+)/.exec(reply) ?? [];
    expect(reply.slice(reply.indexOf('\r\n\r\n') + 4)).toHaveLength(Math.ceil(Number(length) / 2));
  });

  it('fault-slow and fault-drip answer in full in the end', async () => {
    for (const model of ['fault-slow', 'fault-drip'])
      expect([(await write(model)).status, (await stream(model)).text.includes('message_stop')]).toEqual([200, true]);
  });

  it.each(['fault-hang', 'fault-stall'])('%s waits until the caller leaves', async (model) => {
    const events = new EventEmitter();
    const offline = createOfflineHandler({});
    const handler: Handler = (request) => {
      events.emit('asked');
      return offline(request);
    };
    const waiting = await startGateway({ handler, log: (entry) => events.emit('logged', entry) });
    const body = JSON.stringify(turn('hi'));
    const head = `Host: 127.0.0.1:${waiting.port}\r\nx-vendor-a-api-key: local-test-key\r\nContent-Type: application/json`;
    const socket = connect(waiting.port, '127.0.0.1');
    socket.write(
      `POST /v1beta/models/${model}:generateContent HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await Promise.race([once(events, 'asked'), once(events, 'logged')]);
    const logged = once(events, 'logged');
    socket.destroy();
    expect(await logged).toMatchObject([{ note: 'the caller left' }]);
    await waiting.close();
  });

  it.each(['fault-stall', 'fault-cut'])('%s of a paced stream begins at once', async (model) => {
    const slow = await startGateway({ pace: 600_000 });
    const body = JSON.stringify(message('hi', { model, stream: true }));
    const contents = JSON.stringify(turn('hi'));
    for (const [path, text] of [
      ['/v1/messages', body],
      [`/v1beta/models/${model}:streamGenerateContent?alt=sse`, contents],
    ] as const) {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer local-test-key' };
      const sent = request(slow.url + path, {
        method: 'POST',
        headers: { ...headers, 'vendor-b-version': '2023-06-01' },
      });
      sent.end(text);
      const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
      const [first] = (await once(response, 'data')) as [Buffer];
      expect(String(first)).toMatch(/^(event|data): /);
      sent.destroy();
    }
    await slow.close(0);
  });

  it('a stream with a pace is cut at the same place as a stream without', async () => {
    const brisk = await startGateway({ pace: 1 });
    const [whole, paced] = await Promise.all([gateway, brisk].map(cutStream));
    expect(paced).toBe(whole);
    expect(whole).toContain('content_block_delta');
    await brisk.close(0);
  });

  it('fault-empty and fault-garbage-json are whole replies of status 200', async () => {
    expect(await write('fault-empty')).toMatchObject({ status: 200, text: '' });
    expect(await chat('fault-garbage-json')).toMatchObject({
      status: 200,
      json: undefined,
      text: expect.stringContaining('oops'),
    });
  });
});
