import { describe, expect, test } from 'vitest';
import { createCompletionsDecoder } from '../../../../src/library/formats/completions/reply.ts';
import type { DecoderInput } from '../../../../src/library/formats/events.ts';
import { chunk, feedAll, textOf } from './feeding.ts';

const hello = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Hel' }), chunk({ content: 'lo' })];

describe('an error in the middle', () => {
  const error = '"error":{"code":502,"message":"Provider disconnected"}';
  const said = { class: 'gateway', message: 'the gateway reported an error: Provider disconnected', billed: 'unknown' };

  test.each<[string, string | DecoderInput]>([
    ['without choices', `{${error}}`],
    ['with choices that say nothing', `{${error},"choices":[]}`],
    ['with the shape of the messages format', `{"type":"error",${error}}`],
    ['under a name', { event: 'error', data: '{"code":502,"message":"Provider disconnected"}' }],
    ['as a text', '{"error":"Provider disconnected"}'],
  ])('%s ends the stream, and what came is kept', (_, event) => {
    const { events, error: thrown, progress } = feedAll([...hello, event]);
    expect([textOf(events), progress]).toStrictEqual(['Hello', 'open']);
    expect(thrown).toMatchObject({ ...said, details: { sent: 'yes' } });
  });

  test('with choices comes after their events', () => {
    const last = `{"id":"x",${error},"choices":[{"index":0,"delta":{"content":"!"},"finish_reason":"error"}],"usage":{"prompt_tokens":1}}`;
    const { events, error: thrown } = feedAll([...hello, last]);
    expect(textOf(events)).toBe('Hello!');
    expect(events.at(-1)).toMatchObject({ type: 'broken', error: said });
    expect(thrown).toMatchObject(said);
  });

  test('an error among the chunks of one event comes after these chunks', () => {
    const { events, error: thrown } = feedAll([`[${[...hello, `{${error}}`].join(',')}]`]);
    expect([textOf(events), thrown]).toMatchObject(['Hello', said]);
  });

  test('an error in a candidate is an error of the reply, too', () => {
    const { events, error: thrown } = feedAll([
      ...hello,
      chunk({ content: '' }, { error: { message: 'Provider disconnected', code: 502 } }),
    ]);
    expect([textOf(events), thrown]).toMatchObject(['Hello', said]);
  });

  test('at once is not billed for sure', () => {
    expect(feedAll(['{"error":{"message":"Slow down","code":429}}']).error).toMatchObject({
      class: 'quota',
      billed: 'no',
    });
    expect(feedAll(['{"error":{"message":"x","type":"insufficient_quota"}}']).error).toMatchObject({
      details: { reason: 'quota-spent' },
    });
  });

  test.each([
    [
      'half an object',
      '{"choices":[{"index":0,"delta":{"conte',
      'an event of the stream is not JSON: {"choices":[{"index":0,"delta":{"conte',
    ],
    ['two objects', `${chunk({ content: 'a' })}{}`, 'an event of the stream is not JSON'],
    [
      'more values than are read',
      `[${'[],'.repeat(1 << 21)}0]`,
      'an event of the stream holds more than 1048576 values',
    ],
  ])('that is %s is a bad reply', (_, event, message) => {
    const { events, error: thrown } = feedAll([...hello, event]);
    expect(textOf(events)).toBe('Hello');
    expect(thrown).toMatchObject({ class: 'bad-reply', message: expect.stringContaining(message) });
  });

  test('an event that the end of the body cut says nothing, and a wrong one is an error', () => {
    expect(feedAll([...hello, { data: chunk({ content: '!' }).slice(0, -5), unterminated: true }])).toMatchObject({
      error: undefined,
      progress: 'open',
    });
    expect(feedAll([...hello, { data: '[DON', unterminated: true }]).error).toBeUndefined();
    expect(feedAll([...hello, { data: '{x', unterminated: true }]).error).toMatchObject({ class: 'bad-reply' });
  });
});

test.each<[string, unknown, string, string]>([
  ['a reply of another format', { candidates: [] }, 'bad-reply', 'it holds candidates'],
  ['a list of models', { object: 'list', data: [{ id: 'm' }] }, 'bad-reply', 'it holds object, data'],
  ['a text', 'x', 'bad-reply', 'not a reply of the completions format'],
  ['nothing', [], 'bad-reply', 'not a reply of the completions format'],
  ['an error', { error: { message: 'No credit', code: 402 } }, 'quota', 'No credit'],
])('takes %s for no reply', (_, json, name, message) => {
  expect(() => createCompletionsDecoder().whole(json)).toThrow(
    expect.objectContaining({ class: name, message: expect.stringContaining(message) }),
  );
});
