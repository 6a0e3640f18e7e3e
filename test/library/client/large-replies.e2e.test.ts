import { kill, pid } from 'node:process';
import { expect, test } from 'vitest';
import { createCompletionsDecoder } from '../../../src/library/formats/completions/reply.ts';
import type { HttpReply } from '../../../src/library/transport/types.ts';
import { chunk } from '../formats/completions/feeding.ts';
import { contentOf, messageOf, replyOf as replyOfChunks } from '../../replies/reading.ts';

const replyOf = (text: string) => replyOfChunks([Buffer.from(text)]);

test('a reply that holds more values than memory should hold is refused before it is parsed', async () => {
  const items = '{},'.repeat(1_500_000);
  const event = `data: {"candidates":[{"content":{"parts":[${items.repeat(3)}{}]}}]}\n\n`;
  for (const text of [event, event.slice('data: '.length)]) {
    await expect(contentOf(replyOf(text))).rejects.toMatchObject({
      class: 'bad-reply',
      message: expect.stringContaining('values'),
    });
  }
  const start = `data: {"type":"content_block_start","content_block":{"type":"x","y":[${items}{}]}}\n\n`;
  await expect(messageOf(replyOf(start))).rejects.toMatchObject({
    class: 'bad-reply',
    message: expect.stringContaining('values'),
  });
});

test('a reply keeps no more of what is not reported than any answer has', () => {
  const decoder = createCompletionsDecoder();
  const piece = { data: chunk({ refusal: 'x'.repeat(9 * 1024 * 1024) }) };
  const feed = (): void => {
    for (let at = 0; at < 8; at++) decoder.feed(piece);
  };
  expect(feed).toThrow(
    expect.objectContaining({ class: 'bad-reply', message: 'the answer is longer than 67108864 characters' }),
  );
});

test.skipIf(process.platform === 'win32')(
  'a signal that comes while a reply is parsed and decoded ends the command, however few candidates are read',
  async () => {
    let heard = false;
    process.once('SIGUSR2', () => (heard = true));
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`{"candidates":[${'{},'.repeat(200_000)}{"content":{"parts":[{"text":"a"}]}}`);
      yield Buffer.from(']}');
      kill(pid, 'SIGUSR2');
    }
    const reply: HttpReply = { status: 200, headers: {}, body: body() };
    const endOf = (): undefined => {
      if (heard) throw new Error('interrupted');
    };
    await expect(contentOf(reply, { endOf })).rejects.toThrow('interrupted');
  },
);
