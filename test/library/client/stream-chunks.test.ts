import { array, assert, asyncProperty, constantFrom, nat, oneof, record } from 'fast-check';
import { expect, test } from 'vitest';
import type { StreamDelta } from '../../../src/library/formats/events.ts';
import { feedAll, sample, splitEvents } from '../formats/messages/feeding.ts';
import { anyText } from '../../helpers/any-text.ts';
import { comb, messageOf, replyOf } from '../../replies/reading.ts';

const usual = record({ text: anyText, index: nat(1), pad: nat(2), head: constantFrom('', 'event: x\n', usualHead()) });
const deltas = usual.map(({ text, index, pad, head }) => {
  const data = sample.text(text, index).replace(/\}$/, `${' '.repeat(pad)}}`);
  return `${head}data: ${data}\n\n`;
});

function usualHead(): string {
  return 'event: content_block_delta\n';
}

/** What can come between the usual deltas, or is nearly one. */
const odd = constantFrom(
  'event: ping\ndata: {"type":"ping"}\n\n',
  ': comment\n\n',
  '\n',
  '\n\n\n',
  'event: content_block_delta\n\n',
  `data: ${sample.text('crlf')}\r\n\r\n`,
  `data: ${sample.text('cr')}\r\r`,
  `data: ${sample.text('two lines').replace(',', ',\ndata: ')}\n\n`,
  `id: 7\ndata: ${sample.text('id')}\n\n`,
  `data: ${sample.delta({ type: 'thinking_delta', thinking: 'hm' })}\n\n`,
  `data: ${sample.delta({ text: 'order', type: 'text_delta' })}\n\n`,
  `data: ${sample.block({ type: 'text', text: '' }, 1)}\n\n`,
  `data: ${sample.blockStop(0)}\n\n`,
  `data: ${sample.text('cut').slice(0, -2)}\n\n`,
  `data: ${sample.text('tab').replace('tab', 't\tb')}\n\n`,
);

/** How a stream may end. */
const endings = constantFrom('', ':', `data: ${sample.end}\n\n`, `data: ${sample.end}\n\ndata: ${sample.stop}\n\n`);

/** The text of each block: what may still become a picture is held back, so texts of two blocks may change places. */
function texts(deltas: readonly StreamDelta[]): string[] {
  const found: string[] = [];
  for (const delta of deltas) {
    if (delta.type === 'text') found[delta.block] = (found[delta.block] ?? '') + delta.text;
  }
  return found;
}

const streams = array(oneof({ weight: 6, arbitrary: deltas }, { weight: 1, arbitrary: odd }), { maxLength: 30 });

test('a stream means the same as its events one by one, wherever its chunks end', async () => {
  await assert(
    asyncProperty(streams, nat(400), endings, async (events, step, ending) => {
      const body = `data: ${sample.start}\n\n${events.join('')}data: ${sample.text('last')}\n\n${ending}`;
      const expected = feedAll(splitEvents(body));
      const bytes = Buffer.from(body);
      const read = await messageOf(replyOf(comb(bytes, { first: 0, step: step + 1 })));
      expect(texts(read.deltas)).toEqual(texts(expected.deltas));
      expect(read.answer.result.complete).toBe(expected.complete);
      expect(read.answer.error?.class).toBe(expected.error?.class ?? (expected.complete ? undefined : 'incomplete'));
      expect(read.deltas.filter(({ type }) => type !== 'text')).toEqual(
        expected.deltas.filter(({ type }) => type !== 'text'),
      );
    }),
  );
});

test('a block that begins where another was not stopped leaves it all its text', async () => {
  const events = [sample.text('end'), sample.block({ type: 'text', text: '' }), sample.text('x'), sample.end];
  const body = Buffer.from([sample.start, ...events].map((data) => `data: ${data}\n\n`).join(''));
  expect(texts((await messageOf(replyOf([body]))).deltas)).toEqual(['end', 'x']);
});
