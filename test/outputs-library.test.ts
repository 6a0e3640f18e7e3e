import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Client, createClient, GatewayError } from '../src/index.ts';
import { toReply, wholeMessage } from './helpers/recorded-run.ts';
import {
  badRequest,
  blocked,
  call,
  ends,
  events,
  open,
  parts,
  piece,
  pieces,
  png,
  refusal,
  several,
  start,
  tail,
  thought,
  toolUse,
} from './helpers/replies.ts';
import { startScriptedServer } from './helpers/scripted-server.ts';
import { imageReply, textReply } from './helpers/with-server.ts';

const libraryCalls: readonly (readonly [string, object | string, (client: Client) => unknown])[] = [
  ['generateContent', textReply('Hello'), (client) => client.generateContent({ model: 'm', prompt: 'hi' })],
  [
    'generateContent, several candidates',
    several,
    (client) => client.generateContent({ model: 'm', prompt: 'hi', candidates: 3 }),
  ],
  ['generateContent, blocked', blocked, (client) => client.generateContent({ model: 'm', prompt: 'hi' })],
  ['generateContent, a call', parts([call]), (client) => client.generateContent({ model: 'm', prompt: 'hi' })],
  ['generateContent, refused', badRequest, (client) => client.generateContent({ model: 'm', prompt: 'hi' })],
  [
    'streamContent',
    pieces(piece('Hel'), piece('lo', { finishReason: 'STOP' })),
    (client) => read(client.streamContent({ model: 'm', prompt: 'hi' })),
  ],
  [
    'streamContent, whole reply',
    textReply('Hello'),
    (client) => read(client.streamContent({ model: 'm', prompt: 'hi' })),
  ],
  ['generateImages', imageReply(png), (client) => client.generateImages({ model: 'm', prompt: 'a dot' })],
  ['generateImages, words', textReply('no'), (client) => client.generateImages({ model: 'm', prompt: 'a dot' })],
  ['messages', wholeMessage(), (client) => client.messages({ model: 'm', maxTokens: 9, prompt: 'hi' })],
  ['messages, refusal', refusal, (client) => client.messages({ model: 'm', maxTokens: 9, prompt: 'hi' })],
  [
    'streamMessages',
    events(start, ...thought, ...toolUse, ...ends('tool_use')),
    (client) => read(client.streamMessages({ model: 'm', maxTokens: 9, prompt: 'hi' })),
  ],
  [
    'streamMessages, whole reply',
    wholeMessage(),
    (client) => read(client.streamMessages({ model: 'm', maxTokens: 9, prompt: 'hi' })),
  ],
  [
    'streamMessages, without its end',
    events(start, open, ...tail.slice(0, 1)),
    (client) => read(client.streamMessages({ model: 'm', maxTokens: 9, prompt: 'hi' })),
  ],
];

async function read(stream: ReturnType<Client['streamMessages']>): Promise<object> {
  const deltas: object[] = [];
  const thrown: unknown = await (async () => {
    for await (const delta of stream) deltas.push(delta);
  })().catch((error: unknown) => error);
  const reply: unknown = await stream.reply().catch((error: unknown) => error);
  return { deltas, thrown, reply };
}

/** JSON that keeps what JSON leaves out: errors, bytes and undefined values. */
function shown(value: unknown): string {
  return JSON.stringify(
    value,
    (key, item: unknown) => {
      if (item instanceof GatewayError)
        return {
          name: item.name,
          class: item.class,
          message: item.message,
          details: item.details,
          reply: 'reply' in item ? item.reply : undefined,
        };
      if (item instanceof Uint8Array) return `${item.length} bytes`;
      if (key === 'durationMs') return 'MS';
      return item === undefined ? 'undefined' : item;
    },
    1,
  );
}

test('library: what calls return is that of test/fixtures/outputs/library.txt', async () => {
  const recorded: string[] = [];
  for (const [about, reply, ask] of libraryCalls) {
    const server = await startScriptedServer();
    server.reply(toReply(reply));
    const client = createClient({ baseUrl: server.url, apiKey: 'KEY' });
    const outcome = await Promise.resolve(ask(client)).catch((error: unknown) => error);
    recorded.push(`# ${about}\n${shown(outcome).replaceAll(`127.0.0.1:${server.port}`, 'HOST')}\n\n`);
    await client.close();
    await server.close();
  }
  await expect(recorded.join('')).toMatchFileSnapshot(join(import.meta.dirname, 'fixtures/outputs/library.txt'));
});
