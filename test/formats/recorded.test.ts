import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Usage } from '../../src/formats/content/types.ts';
import { contentText, decodeContentReply } from '../../src/formats/content/reply.ts';
import type { ContentPart } from '../../src/formats/content/types.ts';
import { findErrorInReply } from '../../src/formats/error-body.ts';
import { failureOf } from '../../src/formats/failure.ts';
import { createMessageAssembler } from '../../src/formats/messages/events.ts';
import { decodeMessage, messageText } from '../../src/formats/messages/reply.ts';
import type { MessageReply } from '../../src/formats/messages/types.ts';
import { looksLikeSse } from '../../src/client/read-body.ts';
import { splitEvents } from './messages/feeding.ts';
import { hasRecorded, recordedBody, recordedReplies } from './recorded.ts';
import type { Expectation, Recorded } from './recorded.ts';

const ok = ({ http_status }: Recorded) => http_status === 200;
const content = recordedReplies(/^content\/.*\.json$/);
const messages = recordedReplies(/^messages\/.*\.json$/);
const streams = recordedReplies(/^messages\/.*\.sse$/);
const named = (replies: Recorded[]) => replies.map((reply) => [reply.file, reply] as const);

test.skipIf(!hasRecorded)('recorded replies of each kind are there (skipped without ../shared/fixtures)', () => {
  expect([content.length, messages.length, streams.length].every((count) => count > 10)).toBe(true);
});

describe.skipIf(!hasRecorded)('a recorded content reply is read as expected.json says', () => {
  test.each(named(content.filter(ok)))('%s', (file, { expected }) => {
    const json: unknown = JSON.parse(recordedBody(file));
    const reply = decodeContentReply(json);
    const [first] = reply.candidates;
    const parts = first?.parts ?? [];
    expect(findErrorInReply(json)).toBeUndefined();
    expect(first ? contentText(first) : '').toBe(expected.text);
    expect(reply.candidates).toHaveLength(expected.candidates);
    expect(parts.map(kindOf)).toStrictEqual(expected.part_kinds);
    expect(first?.finishReason ?? null).toBe(expected.finish_reason);
    expect(first?.finishMessage).toBe(expected.finish_message);
    expect(reply.blockReason).toBe(expected.block_reason);
    expect(reply.modelVersion).toBe(expected.model_version);
    const calls = parts.flatMap((part) => (part.kind === 'call' ? [{ name: part.name, args: part.input }] : []));
    expect(calls).toStrictEqual(expected.function_calls ?? []);
    const { usage } = expected;
    // expected.json leaves out the details, which tell of images.
    const { imageOutputTokens, ...counts }: Usage = reply.usage ?? {};
    expect(imageOutputTokens ?? 0).toBeLessThanOrEqual(counts.outputTokens ?? 0);
    expect(counts).toEqual({
      toolInputTokens: usage['toolUsePromptTokenCount'],
      inputTokens: usage['promptTokenCount'],
      outputTokens: usage['candidatesTokenCount'],
      thinkingTokens: usage['thoughtsTokenCount'],
      totalTokens: usage['totalTokenCount'],
    });
    const images = expected.images.map(({ declared_mime, sha256, thought }) => ({ declared_mime, sha256, thought }));
    expect(parts.flatMap(imageOf)).toStrictEqual(images);
  });
});

describe.skipIf(!hasRecorded)('a recorded message is read as expected.json says', () => {
  test.each(named(messages.filter(ok)))('%s', (file, { expected }) => {
    const json: unknown = JSON.parse(recordedBody(file));
    expect(findErrorInReply(json)).toBeUndefined();
    expectMessage(decodeMessage(json), expected);
  });
});

describe.skipIf(!hasRecorded)('a recorded stream is put together as expected.json says', () => {
  test.each(named(streams))('%s', (file, { expected }) => {
    const body = recordedBody(file);
    expect(looksLikeSse(new TextEncoder().encode(body.slice(0, 16)))).toBe(true);
    const assembler = createMessageAssembler();
    const deltas = splitEvents(body).flatMap((event) => assembler.feed(event));
    expect(deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')).toBe(expected.text);
    expect(deltas.at(-1)).toStrictEqual({ type: 'end' });
    expect(assembler.complete).toBe(true);
    expectMessage(assembler.finish(), expected);
  });
});

describe.skipIf(!hasRecorded)('a recorded error is told as expected.json says', () => {
  test.each(named([...content, ...messages].filter((reply) => !ok(reply))))('%s', (file, { http_status, expected }) => {
    const format = file.startsWith('content') ? 'content' : 'messages';
    const failure = failureOf({ status: http_status, headers: {}, body: recordedBody(file), format });
    const { message, status, type, request_id } = expected.error ?? { message: '' };
    expect(failure).toMatchObject({ class: 'rejected', details: { status: http_status, requestId: request_id } });
    expect(failure.message).toContain(
      `the gateway answered ${http_status} (${status ?? type}): ${message.slice(0, 190)}`,
    );
  });
});

function expectMessage(reply: MessageReply, expected: Expectation): void {
  const raws = reply.blocks.map((block) => block.raw);
  const ofType = (type: string) => raws.filter((raw) => raw['type'] === type);
  expect([reply.id, reply.model, reply.role, reply.complete]).toStrictEqual([
    expected.id,
    expected.model,
    'assistant',
    true,
  ]);
  expect(messageText(reply)).toBe(expected.text);
  expect(raws.map((raw) => raw['type'])).toStrictEqual(expected.block_types);
  expect(reply.stopReason ?? null).toBe(expected.stop_reason);
  expect(reply.stopSequence ?? null).toBe(expected.stop_sequence);
  expect(reply.blocks.map((block) => (block.kind === 'thinking' ? block.text : '')).join('')).toBe(
    expected.thinking ?? '',
  );
  expect(ofType('thinking').map((raw) => String(raw['signature']).length)).toStrictEqual(
    expected.thinking_signatures ?? [],
  );
  expect(ofType('redacted_thinking')).toHaveLength(expected.redacted_thinking_blocks ?? 0);
  const calls = reply.blocks.flatMap((block) => (block.kind === 'call' ? [block] : []));
  expect(calls.map(({ id, name, input }) => ({ id, name, input }))).toStrictEqual(expected.tool_use ?? []);
  const server = ofType('server_tool_use').map(({ name, input }) => ({ name, input }));
  expect(server).toStrictEqual(expected.server_tool_use ?? []);
  expect(raws.reduce((count, raw) => count + citationsIn(raw['citations']), 0)).toBe(expected.citations ?? 0);
  const { usage } = expected;
  expect(reply.usage).toMatchObject({ inputTokens: usage['input_tokens'], outputTokens: usage['output_tokens'] });
  expect(reply.usage?.cachedInputTokens).toBe(usage['cache_read_input_tokens']);
  expect(reply.usage?.thinkingTokens).toBe(thinkingIn(usage['output_tokens_details']));
}

function thinkingIn(details: Expectation['usage'][string] | undefined): number | undefined {
  return details !== null && typeof details === 'object' ? details['thinking_tokens'] : undefined;
}

function citationsIn(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

function kindOf(part: ContentPart): string {
  const kinds = { text: 'text', blob: 'inlineData', call: 'functionCall', 'call-piece': 'functionCall' };
  if (part.kind === 'code') return part.key;
  return part.kind === 'other' ? (part.keys.find((key) => key !== 'thoughtSignature') ?? 'empty') : kinds[part.kind];
}

function imageOf(part: ContentPart) {
  if (part.kind !== 'blob') return [];
  const sha256 = createHash('sha256').update(Buffer.from(part.data, 'base64')).digest('hex');
  return [{ declared_mime: part.mimeType, sha256, thought: part.thought }];
}
