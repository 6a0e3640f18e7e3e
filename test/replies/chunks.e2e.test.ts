import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../src/library/client/client.ts';
import { startDeadline } from '../../src/library/client/deadline.ts';
import { encodeRequest } from '../../src/library/formats/format.ts';
import { messages } from '../../src/library/formats/messages/format.ts';
import { hasRecorded, recordedBody, recordedReplies } from '../library/formats/recorded.ts';
import { startScriptedServer } from '../helpers/scripted-server.ts';
import { comb, halves, messageOf, printed, replyOf } from './reading.ts';
import { isFull } from '../helpers/full.ts';

const streams = recordedReplies(/\.sse$/).map(({ file, expected }) => ({
  file,
  expected,
  body: Buffer.from(recordedBody(file)),
}));
/** Longer streams get a seam at every offset too, but many seams at once: fewer in the full run, which leaves none out. */
const { long, step, stride } = isFull ? { long: 4096, step: 251, stride: 1 } : { long: 512, step: 31, stride: 10 };

describe.skipIf(!hasRecorded)('a recorded stream reads the same however its bytes arrive', () => {
  test.each(streams.map((stream) => [stream.file, stream] as const))('%s', async (_, { body, expected }) => {
    const whole = await messageOf(replyOf([body]));
    expect(printed(whole.deltas)).toBe(expected.text);
    // An answer that pauses is not finished.
    const complete = expected.stop_reason !== 'pause_turn';
    expect(whole.answer).toMatchObject({ error: undefined, result: { complete, text: expected.text } });
    const same = JSON.stringify(whole);
    const apart = isFull || body.length < 50_000 ? 1 : 5;
    expect(JSON.stringify(await messageOf(replyOf(comb(body, { first: 0, step: apart }))))).toBe(same);
    const offsets = body.length < long ? body.length : step;
    const misread: number[] = [];
    for (let at = 0; at < offsets; at += stride) {
      const chunks = body.length < long ? halves(body, at) : comb(body, { first: at, step });
      if (JSON.stringify(await messageOf(replyOf(chunks))) !== same) misread.push(at);
    }
    expect(misread).toEqual([]);
  });
});

const [first] = streams.toSorted((a, b) => a.body.length - b.body.length);

test.skipIf(!first)(
  'a stream cut in two at any offset reads the same over kept connections (skipped without ../shared/fixtures)',
  async () => {
    const { body, expected } = first as (typeof streams)[number];
    const server = await startScriptedServer();
    const client = createClient({ baseUrl: server.url, apiKey: 'k', retries: 0 });
    onTestFinished(async () => {
      await client.close();
      await server.close();
    });
    const deadline = startDeadline(60_000);
    for (let at = 0; at <= body.length; at += stride) {
      server.reply({ headers: { 'content-type': 'text/event-stream' }, chunks: halves(body, at).filter(isSome) });
      const post = encodeRequest({ use: 'chat', model: 'm', stream: true }, messages, { service: 'gateway/messages' });
      const { reply } = await client.send(post, { deadline });
      const { deltas, answer } = await messageOf(reply);
      expect([at, printed(deltas), answer.error]).toEqual([at, expected.text, undefined]);
    }
    expect(server.connections).toBeLessThan(6);
  },
  30_000,
);

function isSome(chunk: Uint8Array): boolean {
  return chunk.length > 0;
}
