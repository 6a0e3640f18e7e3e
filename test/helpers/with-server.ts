import { test as base } from 'vitest';
import { run, type Ran, type RunOptions } from './run.ts';
import { type ScriptedServer, startScriptedServer } from './scripted-server.ts';

/** The key of every test. It must never be seen in any output. */
export const canaryKey = 'canary-7f3a9c51-secret';

/** A test with a scripted server, and a run of the program that points at it. */
export const test = base.extend<{
  server: ScriptedServer;
  cli: (argv: readonly string[], options?: RunOptions) => Promise<Ran>;
}>({
  server: async ({}, use) => {
    const server = await startScriptedServer();
    await use(server);
    await server.close();
  },
  cli: async ({ server }, use) => {
    await use((argv, options = {}) => {
      const env = {
        GATEWAY_BASE_URL: server.url,
        GATEWAY_API_KEY: canaryKey,
        GATEWAY_MODEL: 'm',
        GATEWAY_IMAGE_MODEL: 'm',
      };
      return run(argv, { ...options, env: { ...env, ...options.env } });
    });
  },
});

/** A content-format reply with one text. */
export function textReply(text: string, more: object = {}): object {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    modelVersion: 'm-001',
    responseId: 'r-1',
    ...more,
  };
}

/** A content-format reply with one image part for each given Base64 text. */
export function imageReply(...images: readonly { mimeType: string; data: string; thought?: true }[]): object {
  const parts = images.map(({ mimeType, data, thought }) => ({
    inlineData: { mimeType, data },
    ...(thought && { thought }),
  }));
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    modelVersion: 'm-001',
    responseId: 'r-1',
  };
}

/** The server-sent events of a messages reply, as literal text. */
export function eventStream(...events: readonly object[]): string {
  return events
    .map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

/** The events of a whole streamed answer with the given text deltas. */
export function messageEvents(...texts: readonly string[]): object[] {
  return [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm-001',
        content: [],
        usage: { input_tokens: 4 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...texts.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ];
}
