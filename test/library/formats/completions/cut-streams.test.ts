import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { chunk, feedAll, feedBytes, sse, textOf } from './feeding.ts';

const call = (more: object): string => chunk({ tool_calls: [{ index: 0, ...more }] });

/** Streams as services send them: their data, framed as they frame it. */
const streams: [string, string][] = [
  [
    'OpenAI',
    sse(
      chunk({ role: 'assistant', content: '', refusal: null }),
      chunk({ content: 'Grüße, 世' }),
      chunk({ content: '界 👋' }),
      chunk({}, { finish_reason: 'stop' }),
      '{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}',
      '[DONE]',
    ),
  ],
  [
    'OpenRouter, with comments and thinking',
    `: OPENROUTER PROCESSING\n\n${sse(
      chunk({
        role: 'assistant',
        content: '',
        reasoning: 'h',
        reasoning_details: [{ type: 'reasoning.text', text: 'h', index: 0 }],
      }),
      chunk({ content: '', reasoning: 'm', reasoning_details: [{ type: 'reasoning.text', text: 'm', index: 0 }] }),
      chunk({ content: 'Hi' }),
    )}: OPENROUTER PROCESSING\n\n${sse(chunk({ content: '!' }, { finish_reason: 'stop' }), '[DONE]')}`,
  ],
  [
    'calls, with CRLF and without blanks',
    sse(
      call({ id: 'c1', function: { name: 'weather', arguments: '' } }),
      call({ function: { arguments: '{"city":"' } }),
      call({ function: { arguments: 'Zürich"}' } }),
      chunk({}, { finish_reason: 'tool_calls' }),
      '[DONE]',
    )
      .replaceAll('data: ', 'data:')
      .replaceAll('\n', '\r\n'),
  ],
  [
    'an error in the middle',
    sse(
      chunk({ content: 'Hal' }),
      '{"error":{"code":502,"message":"Upstream"},"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"error"}]}',
    ),
  ],
  ['no end', sse(chunk({ content: 'Hal' }), chunk({ content: 'b' }))],
  ['a whole reply', sse('{"choices":[{"index":0,"message":{"content":"Hallo"},"finish_reason":"stop"}]}')],
];

test.each(streams)('%s: a stream that is split anywhere says the same', async (_, body) => {
  const bytes = Buffer.from(body);
  const whole = await feedBytes(bytes);
  const misread: unknown[] = [];
  for (let at = 1; at < bytes.length; at++) {
    const split = await feedBytes(bytes.subarray(0, at), bytes.subarray(at));
    if (!isDeepStrictEqual(split, whole)) misread.push([at, split]);
  }
  expect(misread).toEqual([]);
});

test.each(streams)('%s: a stream that is cut anywhere keeps what came, and invents nothing', async (_, body) => {
  const bytes = Buffer.from(body);
  const whole = await feedBytes(bytes);
  const blocks = body.split(/(?<=\r?\n\r?\n)/);
  for (let at = 0; at < bytes.length; at++) {
    const cut = await feedBytes(bytes.subarray(0, at));
    // The events that came whole.
    let length = 0;
    const came = blocks.filter((block) => (length += Buffer.byteLength(block)) <= at);
    const kept = feedAll(came.map((block) => block.replace(/^(?:data: ?|:.*)/, '').trim()));
    for (const type of ['text', 'thinking'] as const) {
      expect(textOf(whole.events, type).startsWith(textOf(cut.events, type))).toBe(true);
      expect(textOf(cut.events, type).startsWith(textOf(kept.events, type))).toBe(true);
    }
    const inputs = ({ events }: typeof cut): string =>
      events.map((event) => (event.type === 'tool-input' ? event.json : '')).join('');
    expect(inputs(whole).startsWith(inputs(cut)) && inputs(cut).startsWith(inputs(kept))).toBe(true);
    // An event that lacks its blank line alone counts.
    const reasons = cut.events.filter((event) => event.type === 'candidate' && event.reason !== undefined);
    expect(cut.progress === 'open').toBe(reasons.length === 0);
    if (cut.progress === 'ended') expect(bytes.subarray(0, at).toString()).toContain('[DONE]');
    if (cut.error) expect(cut.error.message).toBe(whole.error?.message);
  }
});
