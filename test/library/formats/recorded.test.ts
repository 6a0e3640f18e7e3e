import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { looksLikeSse } from '../../../src/library/client/reply-body.ts';
import { content } from '../../../src/library/formats/content/format.ts';
import { findErrorInReply } from '../../../src/library/formats/format.ts';
import type { ReplyEvent, Usage } from '../../../src/library/formats/events.ts';
import { readFailedReply } from '../../../src/library/formats/failure.ts';
import { messages } from '../../../src/library/formats/messages/format.ts';
import { eventsOf, type Folded, foldStream, foldWhole } from './accumulating.ts';
import { splitEvents } from './messages/feeding.ts';
import { type Expectation, hasRecorded, type Recorded, recordedBody, recordedReplies } from './recorded.ts';

const ok = ({ http_status }: Recorded) => http_status === 200;
const contents = recordedReplies(/^content\/.*\.json$/);
const wholeMessages = recordedReplies(/^messages\/.*\.json$/);
const streams = recordedReplies(/^messages\/.*\.sse$/);
const named = (replies: Recorded[]) => replies.map((reply) => [reply.file, reply] as const);

test.skipIf(!hasRecorded)('recorded replies of each kind are there (skipped without ../shared/fixtures)', () => {
  expect([contents.length, wholeMessages.length, streams.length].every((count) => count > 10)).toBe(true);
});

describe.skipIf(!hasRecorded)('a recorded content reply is read as expected.json says', () => {
  test.each(named(contents.filter(ok)))('%s', (file, { expected }) => {
    const json: unknown = JSON.parse(recordedBody(file));
    const { events, result } = foldWhole(content, json);
    const [first] = result.candidates;
    expect(findErrorInReply(json)).toBeUndefined();
    expect(result.text).toBe(expected.text);
    expect(result.candidates).toHaveLength(expected.candidates);
    expect(kindsOf(events)).toStrictEqual(expected.part_kinds.map(kindOf));
    expect(first?.finishReason ?? null).toBe(expected.finish_reason);
    expect(first?.finishMessage).toBe(expected.finish_message);
    expect(eventsOf(events, 'facts').at(-1)?.facts.stopReason).toBe(expected.block_reason);
    expect(result.modelVersion).toBe(expected.model_version);
    const calls = result.toolCalls.map(({ name, input }) => ({ name, args: input }));
    expect(calls).toStrictEqual(expected.function_calls ?? []);
    const { usage } = expected;
    // expected.json leaves out the details, which describe images.
    const { imageOutputTokens, searches = 0, ...counts }: Usage = result.usage ?? {};
    expect(searches > 0).toBe(events.some(({ type }) => type === 'source') && file.includes('grounded'));
    expect(imageOutputTokens ?? 0).toBeLessThanOrEqual(counts.outputTokens ?? 0);
    expect(counts).toEqual({
      toolInputTokens: usage['toolUsePromptTokenCount'],
      inputTokens: usage['promptTokenCount'],
      outputTokens: usage['candidatesTokenCount'],
      thinkingTokens: usage['thoughtsTokenCount'],
      totalTokens: usage['totalTokenCount'],
    });
    const images = expected.images.map(({ declared_mime, sha256, thought }) => ({ declared_mime, sha256, thought }));
    expect(eventsOf(events, 'blob').map(imageOf)).toStrictEqual(images);
  });
});

describe.skipIf(!hasRecorded)('a recorded message is read as expected.json says', () => {
  test.each(named(wholeMessages.filter(ok)))('%s', (file, { expected }) => {
    const json: unknown = JSON.parse(recordedBody(file));
    expect(findErrorInReply(json)).toBeUndefined();
    expectMessage(foldWhole(messages, json), expected);
  });
});

describe.skipIf(!hasRecorded)('a recorded stream is put together as expected.json says', () => {
  test.each(named(streams))('%s', (file, { expected }) => {
    const body = recordedBody(file);
    expect(looksLikeSse(new TextEncoder().encode(body.slice(0, 16)))).toBe(true);
    const read = foldStream(messages, splitEvents(body));
    const { deltas } = read;
    expect(deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('')).toBe(expected.text);
    expect(deltas.at(-1)).toStrictEqual({ type: 'end' });
    expectMessage(read, expected);
  });
});

describe.skipIf(!hasRecorded)('a recorded error is reported as expected.json says', () => {
  test.each(named([...contents, ...wholeMessages].filter((reply) => !ok(reply))))(
    '%s',
    (file, { http_status, expected }) => {
      const format = file.startsWith('content') ? 'content' : 'messages';
      const failure = readFailedReply({ status: http_status, headers: {}, body: recordedBody(file), format });
      const { message, status, type, request_id } = expected.error ?? { message: '' };
      expect(failure).toMatchObject({ class: 'rejected', details: { status: http_status, requestId: request_id } });
      expect(failure.message).toContain(
        `the gateway answered ${http_status} (${status ?? type}): ${message.slice(0, 190)}`,
      );
    },
  );
});

function expectMessage({ events, result, progress }: Folded, expected: Expectation): void {
  const raws = result.content ?? [];
  const ofType = (type: string) => raws.filter((raw) => raw['type'] === type);
  expect([result.responseId, result.modelVersion, result.role, progress]).toStrictEqual([
    expected.id,
    expected.model,
    'assistant',
    'ended',
  ]);
  expect(result.text).toBe(expected.text);
  expect(eventsOf(events, 'block-start').map(({ raw }) => raw['type'])).toStrictEqual(expected.block_types);
  expect(raws.map((raw) => raw['type'])).toStrictEqual(expected.block_types);
  expect(result.stopReason ?? null).toBe(expected.stop_reason);
  expect(result.stopSequence ?? null).toBe(expected.stop_sequence);
  expect(result.thinking ?? '').toBe(expected.thinking ?? '');
  expect(ofType('thinking').map((raw) => String(raw['signature']).length)).toStrictEqual(
    expected.thinking_signatures ?? [],
  );
  expect(ofType('redacted_thinking')).toHaveLength(expected.redacted_thinking_blocks ?? 0);
  expect(result.toolCalls).toStrictEqual(expected.tool_use ?? []);
  const server = ofType('server_tool_use').map(({ name, input }) => ({ name, input }));
  expect(server).toStrictEqual(expected.server_tool_use ?? []);
  expect(raws.reduce((count, raw) => count + citationsIn(raw['citations']), 0)).toBe(expected.citations ?? 0);
  const { usage } = expected;
  expect(result.usage).toMatchObject({ inputTokens: usage['input_tokens'], outputTokens: usage['output_tokens'] });
  expect(result.usage?.cachedInputTokens).toBe(usage['cache_read_input_tokens']);
  expect(result.usage?.thinkingTokens).toBe(thinkingIn(usage['output_tokens_details']));
}

function thinkingIn(details: Expectation['usage'][string] | undefined): number | undefined {
  return details !== null && typeof details === 'object' ? details['thinking_tokens'] : undefined;
}

function citationsIn(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

/** A part of the wire, by the event that reports it. */
function kindOf(part: string): string {
  const kinds: Record<string, string> = { inlineData: 'blob', functionCall: 'call', text: 'text' };
  return kinds[part] ?? 'code';
}

function kindsOf(events: readonly ReplyEvent[]): string[] {
  const kinds = events.map(({ type }) => (type === 'thinking' ? 'text' : type));
  return kinds.filter((type) => ['text', 'blob', 'call', 'code'].includes(type));
}

function imageOf({ mimeType, data, draft }: Extract<ReplyEvent, { type: 'blob' }>) {
  const sha256 = createHash('sha256').update(Buffer.from(data, 'base64')).digest('hex');
  return { declared_mime: mimeType, sha256, thought: draft };
}
