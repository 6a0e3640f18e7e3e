import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { GatewayError } from '../../src/library/errors.ts';
import { isFull } from '../helpers/full.ts';
import { hasRecorded, recordedBody, recordedReplies } from '../library/formats/recorded.ts';
import { cut, type ScriptedReply } from '../helpers/scripted-server.ts';
import { eventStream, messageEvents, test } from '../helpers/with-server.ts';
import { png } from './deviation.ts';
import { contentOf, replyOf } from './reading.ts';

const minute = 60_000;
/** The full run cuts at every byte, the other at every 29th. */
const step = isFull ? 1 : 29;

/** The two ways in which a body lacks its end: the connection broke, or the gateway thinks it is whole. */
const endings: [string, (part: Buffer) => ScriptedReply][] = [
  ['a broken connection', (part) => ({ chunks: part.length > 0 ? [part, cut] : [cut] })],
  ['a clean end', (part) => ({ body: part })],
];

interface Document {
  complete: boolean;
  text?: string;
  images: { path: string; sha256: string }[];
  error?: { class: string };
}

const stream = Buffer.from(eventStream(...messageEvents('Zoë ', '🦅', ' flies')));
const recorded = recordedReplies(/^messages\/.*\.sse$/)
  .map(({ file }) => Buffer.from(recordedBody(file)))
  .toSorted((a, b) => a.length - b.length)[0];

describe.each(endings)('a stream with %s at any byte', (name, ending) => {
  test.for([
    ['made here', stream],
    ['recorded (skipped without ../shared/fixtures)', recorded],
  ] as const)(
    'is exit 0 only when it was complete, else 11, and what came is kept: %s',
    { timeout: minute },
    async ([, body], { server, cli, skip }) => {
      if (!body) return skip();
      const wrong: unknown[] = [];
      for (let at = 0; at <= body.length; at += step) {
        server.reply(ending(body.subarray(0, at)));
        const { code, stdout } = await cli(['chat', 'x', '--json']);
        const { complete, text = '' } = JSON.parse(stdout) as Document;
        const came = eventsIn(body.subarray(0, at).toString());
        const isEnded = came.some(({ delta }) => delta?.stop_reason !== undefined);
        const wanted = came.map(({ delta }) => delta?.text ?? '').join('');
        // An empty body that ends cleanly is not a cut: it is an empty reply.
        const expected = isEnded ? 0 : name === 'a clean end' && came.length === 0 ? 9 : 11;
        if (code !== expected || complete !== isEnded || text !== wanted) wrong.push({ at, code, complete, text });
      }
      expect(wrong).toEqual([]);
    },
  );
});

/** The events of which every byte came; the last may lack its blank line. */
function eventsIn(text: string): { delta?: { text?: string; stop_reason?: string } }[] {
  const events = text.split('\n\n');
  const last = events.pop() ?? '';
  const whole = parses(dataOf(last)) ? [...events, last] : events;
  return whole.map((event) => JSON.parse(dataOf(event)) as { delta?: { text?: string } });
}

function dataOf(event: string): string {
  return event.split('data: ')[1] ?? '';
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const part = `{"inlineData":{"mimeType":"image/png","data":"${png}"}}`;
const images = Buffer.from(
  `{"candidates":[{"content":{"parts":[{"text":"Hi"},${part},${part}]},"finishReason":"STOP"}]}`,
);

describe.each(endings)('an image reply with %s at any byte', (name, ending) => {
  test('publishes the pictures that came whole, and nothing else', { timeout: minute }, async ({ server, cli }) => {
    const wrong: unknown[] = [];
    for (let at = 0; at <= images.length; at += step) {
      server.reply(ending(images.subarray(0, at)));
      const { code, cwd } = await cli(['image', 'gen', 'x', '-o', 'out/', '--json']);
      const written = readdirSync(join(cwd, 'out')).map((file) => readFileSync(join(cwd, 'out', file), 'base64'));
      const whole = images.subarray(0, at).toString().split(`${png}"`).length - 1;
      const expected = at === images.length ? 0 : at === 0 && name === 'a clean end' ? 9 : 11;
      if (code !== expected || written.length !== whole || written.some((base64) => base64 !== png))
        wrong.push({ at, code, written });
      rmSync(cwd, { recursive: true, maxRetries: 10 });
    }
    expect(wrong).toEqual([]);
  });
});

test('a picture that streams to a file is kept only when its last byte came', { timeout: minute }, async () => {
  const data = `${png.slice(0, 92)}${'A'.repeat(16 * 1024)}`;
  const body = Buffer.from(
    `{"candidates":[{"content":{"parts":[{"text":"Hi"},{"inlineData":{"mimeType":"image/png","data":"${data}"}}]},"finishReason":"STOP"}]}`,
  );
  const last = body.indexOf(`${data}"`) + data.length;
  const broken = new GatewayError('incomplete', 'the connection broke');
  const wrong: unknown[] = [];
  const start = body.indexOf(data);
  // Inside the Base64, an odd step reaches every position in its groups of four.
  for (let at = 1; at < body.length; at += at > start + 100 && at < last - 100 ? (isFull ? 7 : 333) : 1) {
    const { answer } = await contentOf(replyOf([body.subarray(0, at)], broken));
    const { result, error } = answer;
    const isRight = error === broken && result.images.length === (at > last ? 1 : 0);
    if (!isRight) wrong.push({ at, error: String(error), images: result.images.length });
  }
  expect(wrong).toEqual([]);
});

const [photo] = recordedReplies(/image_jpeg_300KB/);

test.skipIf(!hasRecorded)(
  'a recorded image reply that is cut leaves no partial file (skipped without ../shared/fixtures)',
  { timeout: minute },
  async ({ server, cli }) => {
    const body = Buffer.from(recordedBody(photo?.file ?? ''));
    const { sha256 } = photo?.expected.images[0] ?? {};
    const start = body.indexOf('"data"');
    const end = body.indexOf('"', start + 20);
    const cwd = join(import.meta.dirname, '../../node_modules/.cache/cuts');
    const wrong: unknown[] = [];
    for (let at = 0; at < body.length; at += at > start + 10 && at < end - 10 ? (isFull ? 4001 : 40_001) : step) {
      mkdirSync(join(cwd, 'out'), { recursive: true });
      server.reply({ chunks: at > 0 ? [body.subarray(0, at), cut] : [cut] });
      const { code } = await cli(['image', 'gen', 'x', '-o', 'out', '--json'], { cwd });
      const written = readdirSync(join(cwd, 'out')).map((file) => readFileSync(join(cwd, 'out', file)));
      const hashes = written.map((bytes) => createHash('sha256').update(bytes).digest('hex'));
      if (code !== 11 || JSON.stringify(hashes) !== JSON.stringify(at > end ? [sha256] : [])) wrong.push({ at, code });
      rmSync(cwd, { recursive: true, maxRetries: 10 });
    }
    expect(wrong).toEqual([]);
  },
);
