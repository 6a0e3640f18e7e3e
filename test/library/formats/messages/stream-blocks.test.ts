import { describe, expect, test } from 'vitest';
import { array, assert, nat, object, property, string } from 'fast-check';
import type { JsonObject, JsonValue } from '../../../../src/library/json.ts';
import { feedAll, sample } from './feeding.ts';

const { start, block, blockStop, delta, text } = sample;
const tool = { type: 'tool_use', id: 't', name: 'f', input: {} };
const thinking = (text: string) => delta({ type: 'thinking_delta', thinking: text }, 1);
const input = (json: string) => delta({ type: 'input_json_delta', partial_json: json });

/** The blocks of the answer, as a later turn has them. */
function blocksOf(...events: string[]): JsonObject[] {
  return feedAll([start, ...events]).result.content ?? [];
}

const callsOf = (...events: string[]) => feedAll([start, ...events]).result.toolCalls;

describe('tool input', () => {
  test.each<[string, string[], JsonValue]>([
    ['joins its pieces', ['{"loc', 'ation": "San', ' Francisco"}'], { location: 'San Francisco' }],
    ['is {} when all pieces are empty (formats 4)', ['', ''], {}],
    ['is {} without any piece', [], {}],
    ['stays the text it was when it is cut (formats 4)', ['{"location": "Sa'], '{"location": "Sa'],
  ])('%s', (_, pieces, expected) => {
    const events = [block(tool), ...pieces.map(input), blockStop()];
    expect(callsOf(...events)).toStrictEqual([{ id: 't', name: 'f', input: expected }]);
    // What was cut is not part of a later turn.
    const isCut = typeof expected === 'string';
    expect(blocksOf(...events)).toStrictEqual(isCut ? [] : [{ ...tool, input: expected }]);
  });

  test('that came with the start is kept where no piece follows', () => {
    expect(blocksOf(block({ ...tool, input: { a: 1 } }), blockStop())).toMatchObject([{ input: { a: 1 } }]);
  });

  test('is reported piece by piece, empty ones left out', () => {
    const { deltas } = feedAll([start, block(tool), input(''), input('{"a"'), input(':1}')]);
    expect(deltas.slice(2)).toStrictEqual([
      { type: 'tool-input', json: '{"a"', block: 0 },
      { type: 'tool-input', json: ':1}', block: 0 },
    ]);
  });

  test('input of a tool that runs at the service is put together, too', () => {
    const raw = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    expect(blocksOf(block(raw), input('{"query":"x"}'))).toStrictEqual([{ ...raw, input: { query: 'x' } }]);
  });

  test('comes out whole however it is cut', () => {
    assert(
      property(object({ maxDepth: 2 }), array(nat(200)), (value, cuts) => {
        const json = JSON.stringify(value);
        const at = [0, ...cuts.map((cut) => cut % json.length).sort((a, b) => a - b), json.length];
        const pieces = at.slice(1).map((cut, i) => json.slice(at[i], cut));
        expect(blocksOf(block(tool), ...pieces.map(input))).toMatchObject([{ input: JSON.parse(json) as JsonValue }]);
      }),
    );
  });
});

describe('blocks', () => {
  test('of thinking keep their signature for a later turn', () => {
    const raw = { type: 'thinking', thinking: 'hm well', signature: 'sig' };
    const events = [
      block({ type: 'thinking', thinking: '', signature: '' }),
      delta({ type: 'thinking_delta', thinking: 'hm' }),
      delta({ type: 'thinking_delta', thinking: '' }),
      delta({ type: 'thinking_delta', thinking: ' well' }),
      delta({ type: 'signature_delta', signature: 'sig' }),
      blockStop(),
    ];
    expect(blocksOf(...events)).toStrictEqual([raw]);
    expect(feedAll([start, ...events]).result.thinking).toBe('hm well');
    expect(feedAll([start, ...events]).deltas.filter(({ type }) => type === 'thinking')).toStrictEqual([
      { type: 'thinking', text: 'hm', block: 0 },
      { type: 'thinking', text: ' well', block: 0 },
    ]);
  });

  test('of text keep their citations', () => {
    const citation = { type: 'web_search_result_location', url: 'u' };
    const raw = { type: 'text', text: 'a', citations: [citation, citation] };
    const cite = delta({ type: 'citations_delta', citation });
    expect(blocksOf(block({ type: 'text', text: '', citations: [] }), cite, text('a'), cite)).toStrictEqual([raw]);
  });

  test.each([
    ['redacted thinking', { type: 'redacted_thinking', data: 'x' }],
    ['results of server tools', { type: 'web_search_tool_result', tool_use_id: 's', content: [{ title: 't' }] }],
    ['compaction', { type: 'compaction', content: null }],
    ['kinds nobody knows', { type: 'hologram', pixels: [[1]] }],
  ])('that arrive whole are kept: %s', (_, raw) => {
    const { content, ...rest } = raw as { type: string; content?: unknown };
    const kept = content === null ? rest : raw;
    expect(blocksOf(block(raw), blockStop())).toStrictEqual([kept]);
  });

  test('of images arrive whole, and are not part of a later turn (deviation 5)', () => {
    const raw = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const { events, result } = feedAll([start, block(raw), blockStop()]);
    expect(events.slice(2)).toStrictEqual([
      { type: 'block-start', raw, index: 0 },
      { type: 'block-stop', index: 0 },
    ]);
    expect(result.content).toStrictEqual([]);
  });

  test('may begin with text, which is reported at once', () => {
    const { deltas, result } = feedAll([start, block({ type: 'text', text: 'Hel' }), text('lo')]);
    expect(deltas.slice(1)).toStrictEqual([
      { type: 'block-start', block: 0, blockType: 'text' },
      { type: 'text', text: 'Hel', block: 0 },
      { type: 'text', text: 'lo', block: 0 },
    ]);
    expect(result.text).toBe('Hello');
  });

  test('that run side by side are distinguished by their index', () => {
    const blocks = blocksOf(
      block({ type: 'text' }, 0),
      block({ type: 'thinking' }, 1),
      text('a', 0),
      thinking('x'),
      text('b', 0),
      thinking('y'),
    );
    expect(blocks).toMatchObject([{ text: 'ab' }, { thinking: 'xy' }]);
  });

  test('blocks that use the index of an earlier block again are new blocks', () => {
    expect(blocksOf(block({ type: 'text' }), text('a'), blockStop(), block({ type: 'text' }), text('b'))).toMatchObject(
      [{ text: 'a' }, { text: 'b' }],
    );
  });

  test.each([
    ['never began', [start, text('Hi')]],
    ['is of another kind', [start, block(tool), text('Hi')]],
    ['is over', [start, block({ type: 'text' }), blockStop(), text('Hi')]],
  ])('begin by themselves where text comes for a block that %s', (_, events) => {
    const { deltas, result } = feedAll(events);
    const block = deltas.filter(({ type }) => type === 'block-start').length - 1;
    expect(deltas.slice(-2)).toStrictEqual([
      { type: 'block-start', block, blockType: 'text' },
      { type: 'text', text: 'Hi', block },
    ]);
    expect(result.text).toBe('Hi');
  });

  test('deltas without an index belong to the newest open block', () => {
    const unindexed = [block({ type: 'text' }), text('a'), blockStop(), block({ type: 'text' }), text('b')].map(
      (data) => data.replace('"index":0,', '').replace(',"index":0', ''),
    );
    expect(blocksOf(...unindexed)).toMatchObject([{ text: 'a' }, { text: 'b' }]);
  });

  test('blocks of text come out whole however the deltas cut them', () => {
    assert(
      property(array(string({ unit: 'grapheme' })), (pieces) => {
        const { result, deltas } = feedAll([
          start,
          block({ type: 'text', text: '' }),
          ...pieces.map((piece) => text(piece)),
        ]);
        expect(result.text).toBe(pieces.join(''));
        expect(deltas.map((one) => (one.type === 'text' ? one.text : '')).join('')).toBe(pieces.join(''));
      }),
    );
  });
});
