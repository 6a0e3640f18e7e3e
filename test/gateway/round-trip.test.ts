import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeCompletionsRequest } from '../../src/library/formats/completions/decode.ts';
import { decodeContentRequest } from '../../src/library/formats/content/decode.ts';
import { type DecodedRequest, joinTurns } from '../../src/library/formats/decoded-request.ts';
import { encodeRequest, loadFormat } from '../../src/library/formats/format.ts';
import { decodeMessagesRequest } from '../../src/library/formats/messages/decode.ts';
import { getTurnBlocks, type Turn } from '../../src/library/formats/plain-request.ts';
import { decodeResponsesRequest } from '../../src/library/formats/responses/decode.ts';
import type { FormatName } from '../../src/library/formats/types.ts';
import { completionsOperation } from '../../src/gateway/completions/format.ts';
import { contentOperation } from '../../src/gateway/content/format.ts';
import { messagesOperation } from '../../src/gateway/messages/format.ts';
import { readAnswer } from '../../src/gateway/models/read-answer.ts';
import type { Candidate, ModelAnswer } from '../../src/gateway/models/task.ts';
import { responsesOperation } from '../../src/gateway/responses/format.ts';
import type { GatewayOperation, GatewayRequest, ModelRequest } from '../../src/gateway/types.ts';
import type { JsonObject } from '../../src/library/json.ts';
import { dotPng } from './gateway-under-test.ts';

const operations: readonly [FormatName, GatewayOperation, (body: JsonObject) => DecodedRequest][] = [
  ['content', contentOperation, decodeContentRequest],
  ['messages', messagesOperation, decodeMessagesRequest],
  ['completions', completionsOperation, decodeCompletionsRequest],
  ['responses', responsesOperation, decodeResponsesRequest],
];

const request: ModelRequest = {
  task: {
    model: 'm',
    prompt: '',
    earlier: [],
    media: [],
    toolResults: [],
    tools: [],
    choice: { mode: 'auto' },
    json: false,
    thinking: true,
    stop: [],
  },
  candidates: 1,
  stream: true,
  streamUsage: true,
  showThinking: true,
  image: { isAsked: false, promptPath: [], imagePath: [] },
};
const asked = { query: new URLSearchParams('alt=sse') } as GatewayRequest;

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((text) => text.trim() !== '');
const input = fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), {
  maxKeys: 3,
});
const call = fc.record({
  name: fc.stringMatching(/^[a-z_]{1,12}$/),
  input: input.map((each) => JSON.parse(JSON.stringify(each))),
});

const picture = { image: { mimeType: 'image/png', data: dotPng, size: { width: 1, height: 1 } } };

/** An answer as each format can say it. */
function answers(): fc.Arbitrary<ModelAnswer> {
  const said = fc.option(words, { nil: undefined });
  const parts = fc
    .tuple(said, fc.boolean(), said)
    .map(([before, hasPicture, after = '']): Candidate['parts'] => [
      ...(before === undefined ? [] : [{ text: before }]),
      ...(hasPicture ? [picture] : []),
      ...(hasPicture && after !== '' ? [{ text: after }] : []),
    ]);
  const candidate = fc
    .record({
      thinking: fc.option(words, { nil: undefined }),
      parts,
      calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ name: each }) => each }),
      isCut: fc.boolean(),
    })
    .map(({ thinking, parts: come, calls, isCut }): Candidate => ({
      thinking,
      parts: come,
      calls: calls.length === 0 ? undefined : calls,
      ended: isCut && calls.length === 0 && come.length > 0 ? 'max-tokens' : calls.length > 0 ? 'call' : 'end',
      usage: { thinking: 0, answer: 0 },
    }));
  const tokens = fc.record({ input: fc.nat(9999), thinking: fc.nat(99), answer: fc.nat(9999) });
  return fc.record({ candidate, tokens }).map(({ candidate: one, tokens: counted }) => ({
    model: 'm',
    id: 'abc',
    candidates: [one],
    drawn: false,
    tokens: counted,
  }));
}

/** The parts of an answer that all formats say: no ids, which each format makes, and pictures behind the text. */
function comparable({ model, tokens, candidates }: ModelAnswer): object {
  return {
    model,
    tokens,
    candidates: candidates.map(({ thinking, parts, calls = [], ended }) => ({
      thinking,
      text: parts.map(({ text = '' }) => text).join(''),
      pictures: parts.flatMap(({ image }) => image ?? []),
      calls: calls.map(({ name, input: given }) => ({ name, input: given })),
      ended,
    })),
  };
}

test.each(operations)(
  'the decoder of the %s format reads what the gateway writes, whole and streamed',
  async (name, operation) => {
    const format = await loadFormat(name);
    const head = { headers: {}, status: 200 };
    const { stream } = operation;
    if (stream === undefined) throw new Error('the operation has no stream');
    fc.assert(
      fc.property(answers(), (answer) => {
        const reply = operation.reply(answer, request);
        const whole = format.createDecoder(head).whole(JSON.parse(JSON.stringify(reply)));
        expect(comparable(readAnswer(whole, name))).toEqual(comparable(answer));
        const bytes = [...stream.events(reply, request)]
          .map((event, index) => stream.encode(event, index, asked))
          .join('');
        const decoder = format.createDecoder(head);
        const streamed = listEvents(bytes).flatMap((event) => decoder.feed(event));
        expect(comparable(readAnswer([...streamed, ...decoder.end()], name))).toEqual(comparable(answer));
        expect(decoder.progress).not.toBe('open');
      }),
      { seed: 20_261_128, numRuns: 150 },
    );
  },
);

/** The events of a stream: each line of a block is a field, and JSON has no line breaks. */
function listEvents(bytes: string): { event?: string; data: string }[] {
  return bytes
    .split(/\r?\n\r?\n/)
    .filter((block) => block !== '')
    .map(
      (block) =>
        Object.fromEntries(block.split(/\r?\n/).map((line) => line.split(/: (.*)/s).slice(0, 2))) as { data: string },
    );
}

/** Turns of a user and an assistant in turn; each call is answered in the next one. */
const conversation = fc
  .array(fc.record({ asked: words, said: words, calls: fc.array(call, { maxLength: 2 }), shows: fc.boolean() }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((rounds): Turn[] => {
    let number = 0;
    return rounds.flatMap(({ asked: prompt, said, calls, shows }): Turn[] => {
      const named = calls.map((each) => ({ type: 'tool_use', id: `call_${number++}`, ...each }));
      const results = named.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: `of ${id}` }));
      const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: dotPng } };
      const user: Turn = { role: 'user', content: [{ type: 'text', text: prompt }, ...(shows ? [image] : [])] };
      if (named.length === 0) return [user, { role: 'assistant', content: [{ type: 'text', text: said }] }];
      return [
        user,
        { role: 'assistant', content: [{ type: 'text', text: said }, ...named] },
        { role: 'user', content: results },
        { role: 'assistant', content: [{ type: 'text', text: said }] },
      ];
    });
  });

const plainRequest = fc.record({
  system: fc.option(words, { nil: undefined }),
  turns: conversation,
  maxTokens: fc.integer({ min: 1, max: 9999 }),
  temperature: fc.option(fc.integer({ min: 0, max: 1 }), { nil: undefined }),
  toolChoice: fc.constantFrom(undefined, 'any', 'none', 'tool:look'),
  schema: fc.option(fc.constant({ type: 'object', properties: {}, additionalProperties: false }), { nil: undefined }),
});
const look = { name: 'look', description: 'looks', schema: { type: 'object', properties: { at: { type: 'string' } } } };

/** A request without the ways in which formats write the same: a result as a text, no empty fields. */
function comparableRequest({ turns = [], ...rest }: DecodedRequest): unknown {
  const toBlock = (block: JsonObject): JsonObject =>
    Array.isArray(block['content'])
      ? { ...block, content: block['content'].map((part) => (part as { text: string }).text).join('') }
      : block;
  return JSON.parse(
    JSON.stringify({
      ...rest,
      turns: joinTurns(turns).map((each) => ({ role: each.role, content: getTurnBlocks(each).map(toBlock) })),
    }),
  );
}

test.each(operations)(
  'the gateway reads a request as it was encoded in the %s format',
  async (name, _operation, decode) => {
    const format = await loadFormat(name);
    fc.assert(
      fc.property(plainRequest, (plain) => {
        const given = { ...plain, tools: [look] };
        const encoded = encodeRequest({ ...given, use: 'text', model: 'm', stream: false }, format, { service: 'x' });
        const decoded = decode(JSON.parse(JSON.stringify(encoded.body)) as JsonObject);
        const { responseMime: _mime, ...read } = decoded;
        expect(comparableRequest(read)).toEqual(comparableRequest(given));
      }),
      { seed: 20_261_128, numRuns: 150 },
    );
  },
);
