import { expect, test } from 'vitest';
import { contentOf, messageOf, replyOf as replyOfChunks } from '../replies/reading.ts';

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
