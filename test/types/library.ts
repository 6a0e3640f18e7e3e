// Compiled against the packed tarball by test/package/tarball.test.ts: what a user of the library writes, and what is refused.
import {
  type Client,
  createClient,
  type ErrorClass,
  type FilePicture,
  GatewayError,
  type MemoryPicture,
  type Reply,
  ResponseError,
  type StreamDelta,
} from 'gateway-cli';

const client: Client = createClient({
  baseUrl: new URL('https://gateway.example.com'),
  apiKey: async () => 'key',
  auth: { text: 'bearer' },
  headerNames: { version: 'x-version' },
});

export async function text(signal: AbortSignal): Promise<string> {
  const reply: Reply = await client.generate(
    { model: 'm', prompt: 'hi', temperature: 0.2, schema: { type: 'object' } },
    { signal, timeoutMs: 1000 },
  );
  const tokens: number | undefined = reply.usage?.totalTokens;
  return `${reply.text} ${tokens ?? '?'} ${reply.candidates[0]?.finishReason ?? ''}`;
}

export async function images(): Promise<string[]> {
  const memory: MemoryPicture[] = (await client.generateImages({ model: 'm', prompt: 'a cat', aspect: '16:9' })).images;
  const bytes: Uint8Array | undefined = memory[0]?.data;
  const media = [bytes ?? new Uint8Array(), { path: 'in.png' }, { data: new Uint8Array(), mimeType: 'image/png' }];
  const files: FilePicture[] = (await client.generateImages({ model: 'm', media }, { folder: 'out' })).images;
  // @ts-expect-error pictures in memory have no path
  const none: unknown = memory[0]?.path;
  if (none !== undefined) throw new Error('a path');
  return files.map(({ path }) => path);
}

export async function stream(): Promise<string> {
  const answer = client.stream(
    { model: 'm', maxTokens: 64, turns: [{ role: 'user', content: 'hi' }], prompt: 'go on' },
    { format: 'messages' },
  );
  let said = '';
  for await (const delta of answer) said += textOf(delta);
  for await (const delta of client.stream({ model: 'm', prompt: 'hi', candidates: 1 })) said += textOf(delta);
  const { stopReason, toolCalls } = await answer.reply();
  return `${said} ${stopReason ?? ''} ${toolCalls.length}`;
}

function textOf(delta: StreamDelta): string {
  if (delta.type === 'text' || delta.type === 'thinking') return delta.text;
  return delta.type === 'tool-input' ? delta.json : '';
}

export async function failures(): Promise<ErrorClass | undefined> {
  try {
    await client.generate({ model: 'm', maxTokens: 1, prompt: 'hi' }, { format: 'messages' });
  } catch (error) {
    if (error instanceof ResponseError) return error.reply.complete ? undefined : error.class;
    if (error instanceof GatewayError && error.details.retryable && error.billed === 'no') return error.class;
    throw error;
  } finally {
    await client.close();
  }
  return undefined;
}

// @ts-expect-error there is no such service
createClient({ service: 'nobody' });
// @ts-expect-error there is no such format
void client.generate({ model: 'm', prompt: 'hi' }, { format: 'yaml' });
// @ts-expect-error there is no such form
createClient({ baseUrl: 'https://gateway.example.com', auth: 'basic' });
// @ts-expect-error a model is needed
void client.generate({ prompt: 'hi' });
