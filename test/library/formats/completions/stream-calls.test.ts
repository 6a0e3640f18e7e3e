import { describe, expect, test } from 'vitest';
import type { ReplyEvent } from '../../../../src/library/formats/events.ts';
import { chunk, feedAll, only } from './feeding.ts';

const stop = chunk({}, { finish_reason: 'tool_calls' });

/** A chunk with pieces of calls. */
const piece = (...calls: object[]): string => chunk({ tool_calls: calls });
const fn = (name: string | undefined, args?: unknown): object => ({ function: { name, arguments: args } });

/** The calls that the events of a stream come to: id, name and input, each as it was reported. */
function callsIn(events: readonly ReplyEvent[]): unknown[] {
  const calls = new Map<number | undefined, { raw: object; json: string; stopped: boolean }>();
  for (const event of events) {
    if (event.type === 'block-start') calls.set(event.index, { raw: event.raw, json: '', stopped: false });
    const call = 'index' in event ? calls.get(event.index) : undefined;
    if (event.type === 'tool-input' && call) call.json = event.isAll ? event.json : call.json + event.json;
    if (event.type === 'block-stop' && call) call.stopped = true;
  }
  return [...calls.values()].map(({ raw, json, stopped }) => {
    const { id, name } = raw as { id?: string; name: string };
    return [id, name, json, stopped];
  });
}

const weather = ['c1', 'weather', '{"city":"Oslo"}', true];
const time = ['c2', 'time', '{"zone":1}', true];

const streams: [string, string[], unknown[]][] = [
  [
    'as the documents show them',
    [
      piece({ index: 0, id: 'c1', type: 'function', ...fn('weather', '') }),
      piece({ index: 0, ...fn(undefined, '{"city":') }),
      piece({ index: 0, ...fn(undefined, '"Oslo"}') }),
      piece({ index: 1, id: 'c2', type: 'function', ...fn('time', '') }),
      piece({ index: 1, ...fn(undefined, '{"zone":1}') }),
    ],
    [weather, time],
  ],
  [
    'whole in one chunk',
    [
      piece(
        { index: 0, id: 'c1', ...fn('weather', '{"city":"Oslo"}') },
        { index: 1, id: 'c2', ...fn('time', '{"zone":1}') },
      ),
    ],
    [weather, time],
  ],
  [
    'whole in one chunk, without a number',
    [piece({ id: 'c1', ...fn('weather', '{"city":"Oslo"}') }, { id: 'c2', ...fn('time', '{"zone":1}') })],
    [weather, time],
  ],
  [
    'all with one number (Gemini)',
    [
      piece({ index: 0, id: 'c1', ...fn('weather', '{"city":"Oslo"}') }),
      piece({ index: 0, id: 'c2', ...fn('time', '{"zone":1}') }),
    ],
    [weather, time],
  ],
  [
    'in pieces without a number',
    [
      piece({ id: 'c1', ...fn('weather', '') }),
      piece(fn(undefined, '{"city":')),
      piece(fn('', '"Oslo"}')),
      piece({ id: 'c2', ...fn('time', '') }),
      piece(fn(undefined, '{"zone":1}')),
    ],
    [weather, time],
  ],
  [
    'in pieces that have another number (LocalAI)',
    [
      piece({ index: 0, id: 'c1', ...fn('weather', '') }),
      piece({ index: 1, id: 'c1', ...fn('', '{"city":') }),
      piece({ index: 2, id: null, ...fn('', '"Oslo"}') }),
    ],
    [weather],
  ],
  [
    'with id and name in every piece',
    [
      piece({ index: 0, id: 'c1', ...fn('weather', '{"city":') }),
      piece({ index: 0, id: 'c1', ...fn('weather', '"Oslo"}') }),
      piece({ index: 1, id: 'c2', ...fn('time', '') }),
      piece({ index: 1, id: 'c2', ...fn('time', '{"zone":1}') }),
    ],
    [weather, time],
  ],
  [
    'with the name alone in every piece',
    [piece(fn('weather', '{"city":')), piece(fn('weather', '"Oslo"}')), piece(fn('weather', '{}'))],
    [
      [undefined, 'weather', '{"city":"Oslo"}', true],
      [undefined, 'weather', '{}', true],
    ],
  ],
  [
    'with a name in pieces',
    [
      piece({ index: 0, id: 'c1', ...fn('wea') }),
      piece({ index: 0, ...fn('ther') }),
      piece({ index: 0, ...fn(undefined, '{"city":"Oslo"}') }),
    ],
    [weather],
  ],
  [
    'with pieces that alternate',
    [
      piece({ index: 0, id: 'c1', ...fn('weather', '{"city":') }, { index: 1, id: 'c2', ...fn('time', '{"zone"') }),
      piece({ index: 1, ...fn(undefined, ':1}') }, { index: 0, ...fn(undefined, '"Oslo"}') }),
    ],
    [weather, time],
  ],
  ['with arguments that are an object', [piece({ index: 0, id: 'c1', ...fn('weather', { city: 'Oslo' }) })], [weather]],
  [
    'without arguments',
    [piece({ index: 0, id: 'c1', ...fn('a', '') }), piece({ index: 1, id: 'c2', ...fn('b', null) })],
    [
      ['c1', 'a', '', true],
      ['c2', 'b', '', true],
    ],
  ],
  [
    'as older servers send them',
    [
      chunk({ function_call: { name: 'weather', arguments: '' } }),
      chunk({ function_call: { arguments: '{"city":' } }),
      chunk({ function_call: { arguments: '"Oslo"}' } }),
    ],
    [[undefined, 'weather', '{"city":"Oslo"}', true]],
  ],
  [
    'whose arguments come whole again',
    [
      piece({ index: 0, id: 'c1', ...fn('weather', '{"city":') }),
      piece({ index: 0, ...fn(undefined, '"Oslo"}') }),
      piece({ index: 0, ...fn(undefined, '{"city":"Oslo"}') }),
    ],
    [weather],
  ],
  [
    'whose pieces each have all that came before',
    ['', '{"ci', '{"city":"O', '{"city":"Oslo"}'].map((json) => piece({ index: 0, id: 'c1', ...fn('weather', json) })),
    [weather],
  ],
  [
    'whose arguments begin with an empty object',
    ['{}', '{"city":', '"Oslo"}'].map((json) => piece({ index: 0, id: 'c1', ...fn('weather', json) })),
    [weather],
  ],
  [
    'whose arguments hold an object of the same beginning',
    ['{"a":', '{"a":1}', '}'].map((json) => piece({ index: 0, id: 'c1', ...fn('f', json) })),
    [['c1', 'f', '{"a":{"a":1}}', true]],
  ],
  [
    'that all have the number 0 and no id, of two tools',
    [
      piece({ index: 0, ...fn('weather', '{"city":"Oslo"}') }),
      piece({ index: 0, ...fn('time', '{"zone":') }),
      piece({ index: 0, ...fn(undefined, '1}') }),
    ],
    [
      [undefined, 'weather', '{"city":"Oslo"}', true],
      [undefined, 'time', '{"zone":1}', true],
    ],
  ],
  [
    'that all have the number 0 and no id, of one tool',
    ['{"city":"Oslo"}', '{"city":"Rome"}', '{"city":"Rome"}'].map((json) =>
      piece({ index: 0, ...fn('weather', json) }),
    ),
    [
      [undefined, 'weather', '{"city":"Oslo"}', true],
      [undefined, 'weather', '{"city":"Rome"}', true],
    ],
  ],
  [
    'beside which an empty one of the older form comes (Snowflake)',
    [chunk({ content: 'Hi', function_call: { name: '', arguments: '' } }), chunk({ tool_calls: [{}] })],
    [],
  ],
  [
    'of a tool of free text, whose input is no JSON',
    [
      piece({ index: 0, id: 'c1', type: 'custom', custom: { name: 'patch', input: '' } }),
      piece({ index: 0, custom: { input: 'say "a' } }),
      piece({ index: 0, custom: { input: '"\nb' } }),
    ],
    [['c1', 'patch', '{"input":"say \\"a\\"\\nb"}', true]],
  ],
  [
    'of a tool of free text that got none',
    [piece({ index: 0, id: 'c1', type: 'custom', custom: { name: 'patch', input: '' } })],
    [['c1', 'patch', '{"input":""}', true]],
  ],
  ['that are nothing', [chunk({ tool_calls: [] }), chunk({ tool_calls: [null] }), chunk({ tool_calls: null })], []],
];

describe('reads calls', () => {
  test.each(streams)('%s', (_, data, calls) => {
    const { events, error } = feedAll([...data, stop]);
    expect([callsIn(events), error]).toStrictEqual([calls, undefined]);
  });

  test('and reports their arguments piece by piece, once the name is known', () => {
    const { events } = feedAll([
      piece({ index: 0, id: 'c1', ...fn('f', '') }),
      piece({ index: 0, ...fn(undefined, '{"a"') }),
      piece({ index: 0, ...fn(undefined, ':1}') }),
      stop,
    ]);
    expect(events.slice(1)).toStrictEqual([
      { type: 'block-start', raw: { type: 'tool_use', id: 'c1', name: 'f', input: {} }, index: 1 },
      { type: 'tool-input', json: '{"a"', index: 1 },
      { type: 'tool-input', json: ':1}', index: 1 },
      { type: 'block-stop', index: 1 },
      { type: 'candidate', reason: 'tool_calls', message: undefined, candidate: 0 },
    ]);
  });

  test('calls are read with the proof of thinking that Gemini wants back', () => {
    const extra_content = { google: { thought_signature: 'c2ln' } };
    const { events } = feedAll([piece({ index: 0, id: 'c1', ...fn('f', '{}'), extra_content }), stop]);
    expect(only(events, 'signature')).toStrictEqual([{ type: 'signature', signature: 'c2ln', index: 1 }]);
  });

  test('calls that were cut are read as far as they came, also where only the name came', () => {
    const { events, progress } = feedAll([
      piece({ index: 0, id: 'c1', ...fn('f', '{"a') }),
      piece({ index: 1, id: 'c2', ...fn('g', '') }),
    ]);
    expect([callsIn(events), progress]).toStrictEqual([
      [
        ['c1', 'f', '{"a', false],
        ['c2', 'g', '', false],
      ],
      'open',
    ]);
  });

  test('up to a bound that no model reaches', () => {
    const { error } = feedAll([piece(...Array.from({ length: 1001 }, (_, index) => ({ index, ...fn('f', '{}') })))]);
    expect(error).toMatchObject({ class: 'bad-reply', message: 'the answer has more than 1000 calls of tools' });
  });

  test('in the order of their numbers, where the second comes first', () => {
    const { events } = feedAll([
      piece({ index: 2, id: 'c3', ...fn('h', '{}') }),
      piece({ index: 0, id: 'c1', ...fn('f', '{}') }),
      piece({ index: 1, id: 'c2', ...fn('g', '{}') }),
      stop,
    ]);
    expect(only(events, 'block-start')).toMatchObject([
      { raw: { id: 'c3' }, index: 1 },
      { raw: { id: 'c1' }, index: 2, before: 1 },
      { raw: { id: 'c2' }, index: 3, before: 1 },
    ]);
  });

  test('after thinking, under numbers of their own', () => {
    const { events } = feedAll([chunk({ reasoning: 'hm' }), piece({ index: 0, id: 'c1', ...fn('f', '{}') }), stop]);
    expect(only(events, 'thinking', 'block-start').map((event) => 'index' in event && event.index)).toStrictEqual([
      0, 1,
    ]);
  });
});
