import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { hasRecorded, recordedBody, recordedReplies } from '../library/formats/recorded.ts';
import type { Expectation, Recorded } from '../library/formats/recorded.ts';
import type { Ran } from '../helpers/run.ts';
import type { ScriptedServer } from '../helpers/scripted-server.ts';
import { test } from '../helpers/with-server.ts';

type Cli = (argv: readonly string[]) => Promise<Ran>;

const all = recordedReplies(/./);
const named = (choose: (reply: Recorded) => boolean) => all.filter(choose).map((reply) => [reply.file, reply] as const);
const ok = ({ http_status }: Recorded) => http_status === 200;
const isContent = ({ file }: Recorded) => file.startsWith('content/');
const hasImages = ({ expected }: Recorded) => (expected.images ?? []).length > 0;

test.skipIf(!hasRecorded)('all 83 recorded replies are checked (skipped without ../shared/fixtures)', () => {
  const groups = [content, pictures, messages, errors];
  expect(groups.flat().map(([file]) => file)).toHaveLength(83);
  expect(new Set(groups.flat().map(([file]) => file)).size).toBe(all.length);
});

const content = named((reply) => ok(reply) && isContent(reply) && !hasImages(reply));
const pictures = named((reply) => ok(reply) && isContent(reply) && hasImages(reply));
const messages = named((reply) => ok(reply) && !isContent(reply));
const errors = named((reply) => !ok(reply));

/** Answers the next request as it was recorded; the bytes are stored without their compression. */
function queue(server: ScriptedServer, { file, http_status, headers }: Recorded): void {
  const { 'content-encoding': _, ...plain } = headers;
  server.reply({ status: http_status, headers: plain, body: recordedBody(file) });
}

/** Replays a reply and reads the JSON document of the run. */
async function replay(reply: Recorded, { server, cli }: Replay, ...argv: string[]) {
  queue(server, reply);
  const { model, model_version: version } = reply.expected as { model?: string; model_version?: string };
  const ran = await cli([...argv, '-m', model ?? version ?? 'm', '--json']);
  return { ...ran, document: JSON.parse(ran.stdout) as Record<string, unknown> };
}

interface Replay {
  server: ScriptedServer;
  cli: Cli;
}

describe.skipIf(!hasRecorded)('a recorded content reply yields what expected.json says', () => {
  for (const [file, reply] of content) {
    test(file, async ({ server, cli }) => {
      const { expected } = reply;
      const { code, document } = await replay(reply, { server, cli }, 'text', 'x');
      const answered = expected.text !== '' || expected.function_calls !== undefined;
      expect(code).toBe(answered ? 0 : 10);
      expectContent(document, expected);
    });
  }
});

describe.skipIf(!hasRecorded)('a recorded picture lands on the disk as expected.json says', () => {
  for (const [file, reply] of pictures) {
    test(file, async ({ server, cli }) => {
      const { expected } = reply;
      const { code, cwd, document, stderr } = await replay(reply, { server, cli }, 'image', 'gen', 'x', '-o', 'out/');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expectContent(document, expected);
      const images = document['images'] as { path: string }[];
      const wanted = expected.images.map(({ declared_mime, sha256, bytes, size: [width, height] }) => ({
        mimeType: declared_mime,
        sha256,
        bytes,
        width,
        height,
      }));
      expect(images).toMatchObject(wanted);
      const written = images.map(({ path }) => readFileSync(join(cwd, path)));
      expect(written.map((bytes) => createHash('sha256').update(bytes).digest('hex'))).toEqual(
        wanted.map(({ sha256 }) => sha256),
      );
      expect(readdirSync(join(cwd, 'out'))).toHaveLength(wanted.length);
    });
  }
});

test.skipIf(!hasRecorded)(
  'an image model that answers in words is exit 10, and the words are kept',
  async ({ server, cli }) => {
    const reply = all.find(({ file }) => file.endsWith('image_model_text_only.json')) as Recorded;
    const { code, document, stderr } = await replay(reply, { server, cli }, 'image', 'gen', 'x');
    expect(code).toBe(10);
    expect(document).toMatchObject({ text: reply.expected.text, images: [], error: { class: 'no-result' } });
    expect(stderr).toContain('finishReason STOP');
  },
);

describe.skipIf(!hasRecorded)('a recorded message yields what expected.json says', () => {
  for (const [file, reply] of messages) {
    const streamed = file.endsWith('.sse');
    test(file, async ({ server, cli }) => {
      const { expected } = reply;
      // What follows a pause is no part of the recording.
      const isPaused = expected.stop_reason === 'pause_turn';
      const flags = [...(streamed ? [] : ['--no-stream']), ...(isPaused ? ['--max-turns', '1'] : [])];
      const told: unknown = file.includes('web-fetch-tool.error') ? expect.stringContaining('web_fetch failed') : '';
      const { code, document, stderr } = await replay(reply, { server, cli }, 'chat', 'x', ...flags);
      expect([code, stderr]).toEqual(isPaused ? [11, expect.stringContaining('pause_turn')] : [0, told]);
      expectMessage(document, expected);
      queue(server, reply);
      const plain = await cli(['chat', 'x', ...flags]);
      expect(plain.stdout).toBe(expected.text === '' ? '' : withNewline(expected.text));
    });
  }
});

describe.skipIf(!hasRecorded)('a recorded error ends with its exit code and message', () => {
  for (const [file, reply] of errors) {
    test(file, async ({ server, cli }) => {
      const { message = '', request_id } = reply.expected.error ?? {};
      const command = isContent(reply) ? 'text' : 'chat';
      const { code, document } = await replay(reply, { server, cli }, command, 'x');
      expect(code).toBe(4);
      const error = { class: 'rejected', status: reply.http_status, retryable: false, sent: 'yes', billed: 'no' };
      expect(document).toMatchObject({ ok: false, exitCode: 4, attempts: 1, error });
      const told = document['error'] as { message: string; requestId?: string };
      expect(told.message).toContain(message.slice(0, 190));
      expect(told.requestId).toBe(request_id);
    });
  }
});

function expectContent(document: Record<string, unknown>, expected: Expectation): void {
  const candidates = document['candidates'] as Record<string, unknown>[];
  expect(candidates).toHaveLength(expected.candidates);
  expect(candidates[0]?.['finishMessage']).toBe(expected.finish_message);
  expect(document['text']).toBe(expected.text);
  expect(document['modelVersion']).toBe(expected.model_version);
  expect(document['stopReason'] ?? null).toBe(expected.finish_reason ?? expected.block_reason ?? null);
  const calls = document['toolCalls'] as { name: string; input: object }[];
  expect(calls.map(({ name, input }) => ({ name, args: input }))).toEqual(expected.function_calls ?? []);
  if (expected.block_reason !== undefined) {
    const { block_reason: blockReason, block_reason_message: blockReasonMessage } = expected;
    expect(document['promptFeedback']).toMatchObject({ blockReason, blockReasonMessage });
  }
  const { usage } = expected;
  const { imageOutputTokens, searches, ...counts } = (document['usage'] ?? {}) as Record<string, number>;
  // What expected.json leaves out: a part of the answer's tokens.
  if (imageOutputTokens !== undefined) expect(imageOutputTokens).toBeLessThanOrEqual(counts['outputTokens'] ?? 0);
  if (searches !== undefined) expect(document['sources']).not.toEqual([]);
  expect(counts).toEqual(
    known({
      inputTokens: usage['promptTokenCount'],
      outputTokens: usage['candidatesTokenCount'],
      thinkingTokens: usage['thoughtsTokenCount'],
      cachedInputTokens: usage['cachedContentTokenCount'],
      toolInputTokens: usage['toolUsePromptTokenCount'],
      totalTokens: usage['totalTokenCount'],
    }),
  );
}

function expectMessage(document: Record<string, unknown>, expected: Expectation): void {
  const { id, model, text, stop_reason, stop_sequence, usage } = expected;
  expect(document).toMatchObject({
    ok: stop_reason !== 'pause_turn',
    complete: !['max_tokens', 'pause_turn'].includes(stop_reason ?? ''),
    responseId: id,
    modelVersion: model,
    role: 'assistant',
    text,
    images: [],
    stopReason: stop_reason,
    toolCalls: expected.tool_use ?? [],
    attempts: 1,
  });
  expect(document['stopSequence'] ?? null).toBe(stop_sequence);
  expect(document['usage']).toMatchObject(
    known({
      inputTokens: usage['input_tokens'],
      outputTokens: usage['output_tokens'],
      cachedInputTokens: usage['cache_read_input_tokens'],
    }),
  );
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

function known(counts: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => typeof count === 'number'));
}
