import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { cut, type ScriptedReply } from '../../helpers/scripted-server.ts';
import { failureOf, open, requestTo, serve } from './post.ts';

/** A body whose last byte fills the queue of a reader that does not read, and a longer one. */
const sizes = [128 * 1024, 300_000];
const head = (fields: string) => `HTTP/1.1 200 OK\r\n${fields}\r\n\r\n`;

type Make = (body: string) => ScriptedReply;
const shapes: [string, boolean, Make][] = [
  ['until the connection ends', true, (body) => ({ raw: [head('connection: close'), body, cut] })],
  ['of a known length', true, (body) => lengthy(body.length, body, 'connection: close\r\n')],
  ['of a known length, kept alive', true, (body) => lengthy(body.length, body)],
  ['shorter than was said', false, (body) => lengthy(body.length + 1, body, 'connection: close\r\n')],
  ['shorter than was said, kept alive', false, (body) => lengthy(body.length + 1, body)],
  ['in chunks', true, (body) => chunked(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)],
  ['in chunks without a last one', false, (body) => chunked(`${body.length.toString(16)}\r\n${body}`)],
];
const cases = shapes.flatMap(([name, isWhole, make]) => sizes.map((size) => ({ name, isWhole, make, size })));

function lengthy(length: number, body: string, more = ''): ScriptedReply {
  return { raw: [head(`${more}content-length: ${length}`), body, cut] };
}

function chunked(frames: string): ScriptedReply {
  return { raw: [head('connection: close\r\ntransfer-encoding: chunked'), frames, cut] };
}

// undici 7 asserts that its parser is not paused when a connection ends (nodejs/undici#5360).
describe('slow reader: the connection ends while the reader is paused', () => {
  test.each(cases)('a body $name, $size bytes', async ({ isWhole, make, size }) => {
    const server = await serve();
    server.reply(make('x'.repeat(size)));
    const { body } = await open().fetch(requestTo(server.url), { signal: new AbortController().signal });
    await manyTurns();
    let bytes = 0;
    let error: unknown;
    try {
      for await (const chunk of body) bytes += chunk.byteLength;
    } catch (thrown) {
      error = thrown;
    }
    expect([bytes, error === undefined]).toEqual([size, isWhole]);
    if (!isWhole) expect(failureOf({ text: '', sent: true, error }).class).toBe('incomplete');
  });

  test.each(['connection: close', 'content-length: 400000', 'connection: close\r\ncontent-length: 400000'])(
    'because we close it (%s)',
    async (fields) => {
      const server = await serve();
      server.reply({ raw: [head(fields), 'x'.repeat(300_000)] });
      const transport = open();
      await transport.fetch(requestTo(server.url), { signal: new AbortController().signal });
      await manyTurns();
      await transport.close();
      await expect(server.requests[0]?.closed).resolves.toBeUndefined();
    },
  );
});

/** Until the bytes of the server arrived and the queue is full. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 500; turn++) await setImmediate();
}
