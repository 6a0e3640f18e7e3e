import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { exitCodes } from '../../src/library/errors.ts';
import { recordedBody, recordedReplies } from '../library/formats/recorded.ts';
import { run } from '../helpers/run.ts';
import { cut, type ScriptedReply, startScriptedServer } from '../helpers/scripted-server.ts';
import { eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import { createDice, type Dice, mutate, pieces } from './mutations.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { isFull } from '../helpers/full.ts';

/** `GATEWAY_CLI_FUZZ_SEED=<n>` brings a run back; each mutation of it has the next number. */
const seed = Number(process.env['GATEWAY_CLI_FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const count = Number(process.env['GATEWAY_CLI_FUZZ_COUNT'] ?? (isFull ? 10_000 : 100));
const parts = isFull ? 10 : 1;

interface Sample {
  name: string;
  command: readonly string[];
  status: number;
  body: Buffer;
}

const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d4948445200000010000000100806000000', 'hex'),
  Buffer.alloc(20_000, 7),
]);
const picture = { mimeType: 'image/png', data: png.toString('base64') };
const call = { functionCall: { name: 'f', args: { a: [1, { b: null }] } } };
const toolEvents = [
  ...messageEvents('Hi').slice(0, 4),
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
  { type: 'content_block_stop', index: 1 },
  ...messageEvents().slice(-2),
];
const chat = ['chat', 'x'];
const content = ['text', 'x'];
const gen = ['image', 'gen', 'x'];

const made: [string, readonly string[], number, object | string][] = [
  ['text', content, 200, textReply('Grüße 😀\n')],
  ['tool call', content, 200, { candidates: [{ content: { parts: [call] }, finishReason: 'STOP' }] }],
  ['pictures', gen, 200, imageReply(picture, { ...picture, thought: true }, picture)],
  ['picture in Markdown', gen, 200, textReply(`See: ![a](data:image/png;base64,${picture.data}) there`)],
  [
    'picture in a streamed text',
    chat,
    200,
    eventStream(...messageEvents('See: ![a](data:image/png;base64,', ...chunksOf(picture.data), ') there')),
  ],
  [
    'blocked',
    gen,
    200,
    { promptFeedback: { blockReason: 'SAFETY', safetyRatings: [{ category: 'A', probability: 'HIGH' }] } },
  ],
  ['stream', chat, 200, eventStream(...messageEvents('Hel', 'lo 😀', '\n'))],
  ['stream with a tool', chat, 200, eventStream(...toolEvents)],
  [
    'message',
    [...chat, '--no-stream'],
    200,
    {
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: {},
    },
  ],
  [
    'limit',
    content,
    429,
    { error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '3s' }] } },
  ],
  ['overloaded', chat, 529, { type: 'error', error: { type: 'overloaded_error', message: 'later' } }],
];

function chunksOf(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / 999) }, (_unused, index) =>
    text.slice(index * 999, (index + 1) * 999),
  );
}

const samples: Sample[] = [
  ...made.map(([name, command, status, body]) => ({
    name,
    command,
    status,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  })),
  ...recordedReplies(/./).map(({ file, http_status: status }) => ({
    name: file,
    command: file.startsWith('messages') ? chat : /image/.test(file) ? gen : content,
    status,
    body: Buffer.from(recordedBody(file)),
  })),
].filter(({ body }) => body.length < 400_000);

/** The reply as bytes: mostly its body is hurt, sometimes its head as well; it always ends. */
function hurt({ status, body }: Sample, dice: Dice): ScriptedReply {
  const other = dice.pick(samples).body;
  const type = body.subarray(0, 6).toString() === 'event:' ? 'text/event-stream' : 'application/json';
  const head = `HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\n`;
  const hurtBody = mutate(body, dice, other);
  switch (dice.below(5)) {
    case 0:
      return {
        raw: [
          ...pieces(
            mutate(Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body]), dice, other),
            dice,
          ),
          cut,
        ],
      };
    case 1:
      return { raw: [`${head}connection: close\r\n\r\n`, ...pieces(hurtBody, dice), cut] };
    case 2:
      return { status, headers: { 'content-type': type }, body: hurtBody };
    default:
      return { status, headers: { 'content-type': type }, chunks: pieces(hurtBody, dice) };
  }
}

const codes = new Set<number>(Object.values(exitCodes).map(({ code }) => code));
const longestMs = 30_000;

/** What is wrong with how a run ended; empty when nothing is. */
function complaints(ran: { code: number; stdout: string; stderr: string }, cwd: string): string[] {
  const wrong: string[] = [];
  if (!codes.has(ran.code) || ran.code === 1) wrong.push(`code ${ran.code}: ${ran.stderr}`);
  const document = JSON.parse(ran.stdout) as {
    exitCode: number;
    ok: boolean;
    images: { path: string; sha256: string }[];
  };
  if (document.exitCode !== ran.code || document.ok !== (ran.code === 0)) wrong.push('the document tells another code');
  if (ran.stdout.indexOf('\n') !== ran.stdout.length - 1) wrong.push('the document is not one line');
  const told = new Map(document.images.map(({ path, sha256 }) => [path, sha256]));
  for (const name of readdirSync(cwd)) {
    const hash = createHash('sha256')
      .update(readFileSync(join(cwd, name)))
      .digest('hex');
    if (told.get(name) !== hash) wrong.push(`${name} is not a picture that was told of`);
    told.delete(name);
  }
  if (told.size > 0) wrong.push(`${[...told.keys()].join(', ')} is missing`);
  if ([...ran.stderr].some((character) => /\p{Cc}/u.test(character) && character !== '\n'))
    wrong.push('stderr holds a control character');
  return wrong;
}

test.each(Array.from({ length: parts }, (_unused, part) => seed + part * count))(
  `hurt replies end in a code of the table, never 1, never in half a file (seed %i, ${count / parts} mutations)`,
  async (first) => {
    const server = await startScriptedServer();
    onTestFinished(() => server.close());
    const cwd = scratchFolder();
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 10 }));
    const env = {
      GATEWAY_BASE_URL: server.url,
      GATEWAY_API_KEY: 'k-12345678',
      GATEWAY_MODEL: 'm',
      GATEWAY_IMAGE_MODEL: 'm',
    };
    const wrong: string[] = [];
    const seen = new Set<number | undefined>();
    for (let at = first; at < first + count / parts; at++) {
      const dice = createDice(at);
      const sample = dice.pick(samples);
      server.always(hurt(sample, dice));
      const place = join(cwd, String(at));
      mkdirSync(place);
      const argv = [...sample.command, '--json', '--retries', '0', '--timeout', '20s'];
      const ran = await Promise.race([
        run(argv, { env: { ...env, GATEWAY_CONFIG: '/nonexistent' }, cwd: place }),
        hang(),
      ]);
      const found = ran === undefined ? ['it hangs'] : complaints(ran, place);
      seen.add(ran?.code);
      wrong.push(...found.map((complaint) => `seed ${at} (${sample.name}): ${complaint}`));
      if (ran === undefined) break;
      rmSync(place, { recursive: true, maxRetries: 10 });
    }
    expect(wrong).toEqual([]);
    // Hurt in many ways: whole after all, not JSON, cut, refused …
    expect(seen.size).toBeGreaterThan(3);
  },
  600_000,
);

/** Resolves with nothing after a time that no run needs. */
function hang(): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(() => resolve(undefined), longestMs).unref());
}
