import { expect, test } from 'vitest';
import { readContent } from '../../src/client/content.ts';
import { readMessage } from '../../src/client/messages.ts';
import { createMemoryStore } from '../../src/images/store.ts';
import { replyOf as replyOfChunks } from '../replies/reading.ts';

const replyOf = (text: string) => replyOfChunks([Buffer.from(text)]);

test('a reply that holds more values than memory should hold is refused before it is parsed', async () => {
  const items = '{},'.repeat(1_500_000);
  const event = `data: {"candidates":[{"content":{"parts":[${items.repeat(3)}{}]}}]}\n\n`;
  for (const text of [event, event.slice('data: '.length)]) {
    const asked = readContent(replyOf(text), { store: createMemoryStore(), model: 'm' });
    await expect(asked).rejects.toMatchObject({ class: 'bad-reply', message: expect.stringContaining('values') });
  }
  const start = `data: {"type":"content_block_start","content_block":{"type":"x","y":[${items}{}]}}\n\n`;
  const reading = readMessage(replyOf(start), { store: createMemoryStore(), model: 'm' });
  expect((await reading.next()).value).toMatchObject({
    error: { class: 'bad-reply', message: expect.stringContaining('values') },
  });
});
