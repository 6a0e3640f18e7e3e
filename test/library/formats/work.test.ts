import { expect, test } from 'vitest';
import { completions } from '../../../src/library/formats/completions/format.ts';
import { content } from '../../../src/library/formats/content/format.ts';
import { messages } from '../../../src/library/formats/messages/format.ts';
import { responses } from '../../../src/library/formats/responses/format.ts';
import { foldStream, foldWhole } from './accumulating.ts';

type Work = (amount: unknown, subject: unknown) => number;

/** What goes through all of a text or a list, and how much that is. */
const walks: [object, string, Work][] = [
  [JSON, 'parse', (text) => String(text).length],
  ...['filter', 'find', 'findLast', 'map', 'flatMap', 'indexOf', 'includes', 'slice'].map(
    (name): [object, string, Work] => [Array.prototype, name, (_, list) => (list as unknown[]).length],
  ),
  ...['values', 'entries', 'keys', 'forEach'].map((name): [object, string, Work] => [
    Map.prototype,
    name,
    (_, map) => (map as Map<unknown, unknown>).size,
  ]),
  [Map.prototype, Symbol.iterator as unknown as string, (_, map) => (map as Map<unknown, unknown>).size],
];

/** How many characters and values a call goes through, counted where it asks the runtime to. */
function countWork(run: () => unknown): number {
  let work = 0;
  const before = walks.map(([holder, name]) => Reflect.get(holder, name) as (...given: unknown[]) => unknown);
  for (const [at, [holder, name, amount]] of walks.entries()) {
    const real = before[at] as (...given: unknown[]) => unknown;
    Reflect.set(holder, name, function (this: unknown, ...given: unknown[]) {
      work += amount(given[0], this);
      return real.apply(this, given);
    });
  }
  try {
    run();
  } finally {
    for (const [at, [holder, name]] of walks.entries()) Reflect.set(holder, name, before[at]);
  }
  return work;
}

const list = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at));

const args = (at: number, count: number): string => (at === 0 ? '{"a":"' : at === count - 1 ? '"}' : 'xx');
const callChunks = (count: number, call: (at: number) => object): string[] =>
  list(count, (at) => JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call(at)] } }] }));

const output = (count: number, item: (at: number) => object): object => ({
  object: 'response',
  id: 'r',
  status: 'completed',
  output: list(count, item),
});

const cases: Record<string, (count: number) => () => unknown> = {
  'pieces of the arguments of a call, completions': (count) => {
    const chunks = callChunks(count, (at) => ({
      index: 0,
      ...(at === 0 && { id: 'a' }),
      function: { ...(at === 0 && { name: 'x' }), arguments: args(at, count) },
    }));
    return () => foldStream(completions, chunks);
  },
  'pieces of arguments that repeat the name': (count) => {
    const chunks = callChunks(count, (at) => ({ index: 0, function: { name: 'x', arguments: args(at, count) } }));
    return () => foldStream(completions, chunks);
  },
  'pieces of arguments without a number': (count) => {
    const chunks = callChunks(count, (at) => ({ function: { name: 'x', arguments: args(at, count) } }));
    return () => foldStream(completions, chunks);
  },
  'pieces of arguments each of which is an object': (count) => {
    const chunks = callChunks(count, (at) => ({
      index: 0,
      function: { name: 'x', arguments: at === 0 ? '{"a":[1,{}' : '{}' },
    }));
    return () => foldStream(completions, chunks);
  },
  'items of a responses reply': (count) => {
    const reply = output(count, (at) => ({
      type: at % 2 ? 'function_call' : 'message',
      id: `i${at}`,
      name: 'x',
      arguments: '{}',
      content: [{ type: 'output_text', text: 'a', annotations: [] }],
    }));
    return () => foldWhole(responses, reply);
  },
  'parts of an item of a responses reply': (count) => {
    const reply = output(1, () => ({
      type: 'message',
      content: list(count, () => ({ type: 'output_text', text: 'a' })),
    }));
    return () => foldWhole(responses, reply);
  },
  'items of a responses stream that stay open': (count) => {
    const item = (at: number): object => ({ type: 'function_call', id: `i${at}`, name: 'x', call_id: `c${at}` });
    const events = [
      ...list(count, (at) => ({ type: 'response.output_item.added', output_index: at, item: item(at) })),
      ...list(count, (at) => ({ type: 'response.function_call_arguments.delta', item_id: `i${at}`, delta: '{}' })),
      { type: 'response.completed', response: output(count, item) },
    ].map((event) => JSON.stringify(event));
    return () => foldStream(responses, events);
  },
  'blocks of a messages stream that stay open': (count) => {
    const events = [
      { type: 'message_start', message: { id: 'm' } },
      ...list(count, (index) => ({ type: 'content_block_start', index, content_block: { type: 'text', text: 'a' } })),
      ...list(count, (index) => ({ type: 'content_block_stop', index })),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ].map((event) => JSON.stringify(event));
    return () => foldStream(messages, events);
  },
  'parts of a content reply': (count) => {
    const parts = list(count, (at) => (at % 2 ? { text: 'a' } : { text: 'b', thought: true }));
    return () => foldWhole(content, { candidates: [{ content: { parts }, finishReason: 'STOP' }] });
  },
  'pieces of the arguments of a call, content': (count) => {
    const chunks = list(count, (at) => {
      const willContinue = at < count - 1;
      const partialArgs = [{ jsonPath: '$.a', stringValue: 'xx', willContinue }];
      const functionCall = { ...(at === 0 && { name: 'x' }), partialArgs, willContinue };
      return JSON.stringify({ candidates: [{ content: { parts: [{ functionCall }] } }] });
    });
    return () => foldStream(content, chunks);
  },
};

test.for(Object.entries(cases))('work grows with the length of a reply, not with its square: %s', ([, prepare]) => {
  const [short, long] = [prepare(150), prepare(600)];
  expect(countWork(long) / countWork(short)).toBeLessThan(6);
});
