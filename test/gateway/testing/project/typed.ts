import { readFileSync } from 'node:fs';
import * as vitest from 'vitest';
import { createClient } from 'gateway-cli';
import { startGateway, useGateway, type Answers, type Gateway } from 'gateway-cli/testing';

const answers: Answers = [
  { prompt: /cat/, image: readFileSync('cat.png') },
  { prompt: 'weather', turns: [{ tool: { name: 'get_weather' } }, 'It is sunny.'] },
  { prompt: 'story', stream: ['Once ', 10, 'upon a time'] },
  { prompt: 'hello', text: 'Hi there' },
];
const gateway: Gateway = useGateway({ answers, faults: ['fault-503'] }, vitest);

// @ts-expect-error a text is not a number
void (() => startGateway({ answers: { hello: 3 } }));

vitest.test('a client gets the answers', async () => {
  const client = createClient({ baseUrl: gateway.url, apiKey: gateway.key });
  const { text } = await client.generate({ model: 'any', prompt: 'hello' });
  const { images } = await client.generateImages({ model: 'any', prompt: 'a cat' });
  await client.close();
  vitest.expect([text, images[0]?.mimeType]).toEqual(['Hi there', 'image/png']);
  vitest.expect(gateway.requests().map(({ prompt }) => prompt)).toEqual(['hello', 'hello', 'a cat']);
});
