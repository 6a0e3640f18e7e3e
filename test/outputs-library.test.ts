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
  ['generate', textReply('Hello'), (client) => client.generate({ model: 'm', prompt: 'hi' })],
  ['generate, several candidates', several, (client) => client.generate({ model: 'm', prompt: 'hi', candidates: 3 })],
  ['generate, blocked', blocked, (client) => client.generate({ model: 'm', prompt: 'hi' })],
  ['generate, a call', parts([call]), (client) => client.generate({ model: 'm', prompt: 'hi' })],
  ['generate, refused', badRequest, (client) => client.generate({ model: 'm', prompt: 'hi' })],
  [
    'stream',
    pieces(piece('Hel'), piece('lo', { finishReason: 'STOP' })),
    (client) => read(client.stream({ model: 'm', prompt: 'hi' })),
  ],
  ['stream, whole reply', textReply('Hello'), (client) => read(client.stream({ model: 'm', prompt: 'hi' }))],
  ['generateImages', imageReply(png), (client) => client.generateImages({ model: 'm', prompt: 'a dot' })],
  ['generateImages, words', textReply('no'), (client) => client.generateImages({ model: 'm', prompt: 'a dot' })],
  [
    'generate in the messages format',
    wholeMessage(),
    (client) => client.generate({ model: 'm', maxTokens: 9, prompt: 'hi' }, { format: 'messages' }),
  ],
  [
    'generate in the messages format, refusal',
    refusal,
    (client) => client.generate({ model: 'm', maxTokens: 9, prompt: 'hi' }, { format: 'messages' }),
  ],
  [
    'stream in the messages format',
    events(start, ...thought, ...toolUse, ...ends('tool_use')),
    (client) => read(client.stream({ model: 'm', maxTokens: 9, prompt: 'hi' }, { format: 'messages' })),
  ],
  [
    'stream in the messages format, whole reply',
    wholeMessage(),
    (client) => read(client.stream({ model: 'm', maxTokens: 9, prompt: 'hi' }, { format: 'messages' })),
  ],
  [
    'stream in the messages format, without its end',
    events(start, open, ...tail.slice(0, 1)),
    (client) => read(client.stream({ model: 'm', maxTokens: 9, prompt: 'hi' }, { format: 'messages' })),
  ],
];

async function read(stream: ReturnType<Client['stream']>): Promise<object> {
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
