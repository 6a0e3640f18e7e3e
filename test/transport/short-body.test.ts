import { expect, test } from 'vitest';
import { GatewayError } from '../../src/errors.ts';
import { readDivertedBody } from '../../src/transport/short-body.ts';

const picture = Buffer.alloc(30_000, 'QUJD').toString();

/** Reads a body in chunks of a size; what went to sinks, and what was left. */
async function read(body: string, size: number, end?: Error) {
  const sunk: string[] = [];
  const seen = { closed: false };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < body.length; at += size) yield Buffer.from(body.slice(at, at + size));
      if (end) throw end;
    } finally {
      seen.closed = true;
    }
  }
  const open = () => {
    const index = sunk.push('') - 1;
    const write = (bytes: Uint8Array) => void (sunk[index] += Buffer.from(bytes).toString());
    return { sink: { write, end: () => {} }, placeholder: '@' };
  };
  let json = '';
  let failure: unknown;
  try {
    await readDivertedBody(chunks(), { open }, (part) => (json += Buffer.from(part).toString()));
  } catch (error) {
    failure = error;
  }
  return { json, sunk, failure, closed: seen.closed };
}

test.each([1, 7, 8191, 8192, 8193, 100_000])(
  'chunks of %i bytes: the same whether a body is short or not',
  async (size) => {
    const short = `{"inlineData":{"data":"${picture.slice(0, 4000)}"}}`;
    expect(await read(short, size)).toMatchObject({ json: short, sunk: [], failure: undefined, closed: true });
    const long = `{"text":"${'x'.repeat(8000)}","inlineData":{"data":"${picture}"}}`;
    const { json, sunk } = await read(long, size);
    expect(json === long.replace(picture, '@')).toBe(true);
    expect(sunk.join('') === picture).toBe(true);
  },
);

test('a short body that is cut gives what came, and then its error', async () => {
  const cut = new GatewayError('incomplete', 'cut');
  expect(await read('{"a":"b', 3, cut)).toMatchObject({ json: '{"a":"b', failure: cut, closed: true });
});

test('a body that is just longer than short is looked at: levels are counted', async () => {
  expect(await read('['.repeat(8192), 1000)).toMatchObject({ failure: undefined });
  expect((await read('['.repeat(10_001), 1000)).failure).toMatchObject({ class: 'bad-reply' });
});

test('the source is closed when the reader of a long body stops', async () => {
  let closed = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from('{"a":"b"} ');
    } finally {
      closed = true;
    }
  }
  const enough = new Error('enough');
  const stop = () => {
    throw enough;
  };
  await expect(readDivertedBody(endless(), { open: () => expect.unreachable() }, stop)).rejects.toBe(enough);
  expect(closed).toBe(true);
});
