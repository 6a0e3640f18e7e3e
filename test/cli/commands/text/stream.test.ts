import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createPause, cut, reset } from '../../../helpers/scripted-server.ts';
import { canaryKey, test, textReply } from '../../../helpers/with-server.ts';
import { jsonLines } from '../../../helpers/json-lines.ts';
import { png } from '../../../replies/deviation.ts';

/** As the public service frames its events. */
const sse = (...pieces: readonly (object | string)[]): string =>
  pieces.map((piece) => `data: ${typeof piece === 'string' ? piece : JSON.stringify(piece)}\r\n\r\n`).join('');
const piece = (parts: readonly object[], more: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  modelVersion: 'm-001',
  responseId: 'r-1',
});
const words = (...texts: readonly string[]): object[] => texts.map((text) => piece([{ text }]));
const last = {
  ...piece([{ text: '' }], { finishReason: 'STOP' }),
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};
const headers = { 'content-type': 'text/event-stream' };

test('asks for the stream of the operation and prints its text', async ({ server, cli }) => {
  server.reply({ headers, body: sse(...words('Hel', 'lo'), last) });
  expect(await cli(['text', 'hi', '--stream'])).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1beta/models/m:streamGenerateContent?alt=sse' });
  expect(request?.headers).toMatchObject({ accept: 'text/event-stream', 'x-vendor-a-api-key': canaryKey });
  expect(request?.json()).toEqual({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] });
});

test('prints a delta before the server sends the next', async ({ server, cli }) => {
  const pause = createPause();
  server.reply({ headers, chunks: [sse(...words('first ')), pause.until, sse(...words('second'), last)] });
  const seen: string[] = [];
  const ran = await cli(['text', 'hi', '--stream'], {
    onStdout(text) {
      seen.push(text);
      pause.release();
    },
  });
  expect(ran).toMatchObject({ code: 0, stdout: 'first second\n' });
  expect(seen[0]).toBe('first ');
});

test('--json prints the one document, with the usage of the last event', async ({ server, cli }) => {
  const early = { ...piece([{ text: 'Hel' }]), usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } };
  server.reply({ headers, body: sse(early, ...words('lo'), last) });
  const { code, stdout } = await cli(['text', 'hi', '--stream', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    text: 'Hello',
    complete: true,
    stopReason: 'STOP',
    responseId: 'r-1',
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
  });
});

test('--jsonl prints the events of chat, thoughts too, and how it ended', async ({ server, cli }) => {
  const thought = piece([{ text: 'hm', thought: true }]);
  server.reply({ headers, body: sse(thought, ...words('a', 'b'), last) });
  const { code, stdout } = await cli(['text', 'hi', '--stream', '--jsonl']);
  expect(code).toBe(0);
  expect(jsonLines(stdout)).toEqual([
    { type: 'start', id: 'r-1', model: 'm-001' },
    { type: 'block-start', block: 0, blockType: 'thinking' },
    { type: 'thinking', text: 'hm', block: 0 },
    { type: 'block-stop', block: 0 },
    { type: 'block-start', block: 1, blockType: 'text' },
    { type: 'text', text: 'a', block: 1 },
    { type: 'text', text: 'b', block: 1 },
    { type: 'block-stop', block: 1 },
    { type: 'stop', stopReason: 'STOP' },
    { type: 'end' },
    {
      type: 'result',
      complete: true,
      stopReason: 'STOP',
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
      responseId: 'r-1',
      modelVersion: 'm-001',
      role: 'model',
      toolCalls: [],
    },
  ]);
});

const overloaded = { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } };

describe('keeps what was printed and asks once', () => {
  test.for([
    ['without a finish reason', [sse(...words('Hel', 'lo'))], 11, 'the stream ended without a finish reason'],
    ['that [DONE] ends without a finish reason', [sse(...words('Hel', 'lo'), '[DONE]')], 11, 'without a finish reason'],
    ['whose connection is cut', [sse(...words('Hel', 'lo')), cut], 11, 'incomplete'],
    [
      'whose connection is reset inside an event',
      [sse(...words('Hel', 'lo')), 'data: {"cand', reset],
      11,
      'incomplete',
    ],
    ['with an error inside', [sse(...words('Hel', 'lo'), overloaded)], 6, 'overloaded'],
    ['with what is not JSON', [sse(...words('Hel', 'lo'), '<html>')], 9, 'an event of the stream is not JSON'],
  ] as const)(
    'a stream %s keeps what was printed and is requested once',
    async ([, chunks, code, message], { server, cli }) => {
      server.reply({ headers, chunks });
      const ran = await cli(['text', 'hi', '--stream']);
      expect(ran).toMatchObject({ code, stdout: 'Hello\n' });
      expect(ran.stderr).toContain(message);
      expect(server.requests).toHaveLength(1);
    },
  );
});

test('an error in the place of the first event is not asked again', async ({ server, cli }) => {
  server.reply({ headers, body: sse(overloaded) });
  expect(await cli(['text', 'hi', '--stream'])).toMatchObject({ code: 6, stdout: '' });
});

test('a 503 before the stream is asked again', async ({ server, cli }) => {
  server.reply({ status: 503, body: overloaded });
  server.reply({ headers, body: sse(...words('ok'), last) });
  expect(await cli(['text', 'hi', '--stream'])).toMatchObject({ code: 0, stdout: 'ok\n' });
});

test('a prompt that is blocked in the first event is exit 10', async ({ server, cli }) => {
  server.reply({ headers, body: sse({ promptFeedback: { blockReason: 'SAFETY' } }) });
  const ran = await cli(['text', 'hi', '--stream']);
  expect(ran).toMatchObject({ code: 10, stdout: '' });
  expect(ran.stderr).toContain('blockReason SAFETY');
});

test('an answer that the token limit cut is reported, and with --require-complete exit 11', async ({ server, cli }) => {
  server.always({ headers, body: sse(...words('Hel'), piece([], { finishReason: 'MAX_TOKENS' })) });
  const ran = await cli(['text', 'hi', '--stream']);
  expect(ran).toMatchObject({ code: 0, stdout: 'Hel\n' });
  expect(ran.stderr).toContain('--max-tokens');
  expect(await cli(['text', 'hi', '--stream', '--require-complete'])).toMatchObject({ code: 11, stdout: 'Hel\n' });
});

test('images of a stream are saved, also those inside its text', async ({ server, cli }) => {
  const inline = piece([{ inlineData: { mimeType: 'image/png', data: png } }]);
  const link = `![x](data:image/png;base64,${png})`;
  server.reply({
    headers,
    body: sse(...words('a ', link.slice(0, 9), link.slice(9, 60), `${link.slice(60)} b`), inline, last),
  });
  const { code, stdout, cwd } = await cli(['text', 'draw', '--stream', '-o', 'out/']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'a  b\n' });
  for (const name of ['image-1.png', 'image-2.png'])
    expect(readFileSync(join(cwd, 'out', name), 'base64'), name).toBe(png);
});

test.for([
  ['a whole reply', textReply('Hello')],
  ['a list of pieces', [...words('Hel', 'lo'), last]],
])('reads %s in the place of events', async ([, body], { server, cli }) => {
  server.reply({ body });
  expect(await cli(['text', 'hi', '--stream'])).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
});

test('a list of pieces without a finish reason is not whole', async ({ server, cli }) => {
  server.always({ body: words('Hel', 'lo') });
  for (const asked of [['--stream'], []]) {
    const ran = await cli(['text', 'hi', ...asked]);
    expect(ran).toMatchObject({ code: 11, stdout: 'Hello\n' });
    expect(ran.stderr).toContain('the stream ended without a finish reason');
  }
});

test.for([
  [404, '{"detail":"Not Found"}', 4, 'check the model and the base URL; where they are right,\n'],
  [405, '{"detail":"Method Not Allowed"}', 4, '\n'],
  [501, '{"error":{"code":501,"message":"no such operation","status":"UNIMPLEMENTED"}}', 6, '\n'],
] as const)('status %i says to leave --stream out', async ([status, body, code, before], { server, cli }) => {
  server.reply({ status, body });
  const ran = await cli(['text', 'hi', '--stream']);
  expect(ran).toMatchObject({ code, stdout: '' });
  expect(ran.stderr).toContain(`${before}  this gateway does not stream the content format: leave --stream out\n`);
});

test.for([
  [['--stream', '--candidates', '2'], '--stream prints one candidate, and 2 are asked for'],
  [['--stream', '--set', 'generationConfig.candidateCount=3'], '--stream prints one candidate, and 3 are asked for'],
  [['--jsonl'], '--jsonl prints the events of a stream'],
  [['--stream', '--jsonl', '--raw'], 'both write to stdout'],
  [['--set', 'stream=true'], '--stream of text'],
] as const)('%j is refused before anything is sent', async ([flags, message], { cli }) => {
  const ran = await cli(['text', 'hi', ...flags]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
});

test('candidates that were not asked for are reported', async ({ server, cli }) => {
  const second = { candidates: [{ content: { parts: [{ text: 'other' }] }, finishReason: 'STOP', index: 1 }] };
  server.reply({ headers, body: sse(...words('one'), second, last) });
  const ran = await cli(['text', 'hi', '--stream']);
  expect(ran).toMatchObject({ code: 0, stdout: 'one\n' });
  expect(ran.stderr).toContain('2 candidates came');
});

test('--schema holds the whole text against the schema at its end', async ({ server, cli }) => {
  const asked = ['text', 'hi', '--stream', '--schema', '-'];
  const schema = { stdin: '{"type":"object"}' };
  server.reply({ headers, body: sse(...words('{"a"', ':1}'), last) });
  expect(await cli(asked, schema)).toMatchObject({ code: 0, stdout: '{"a":1}\n', stderr: '' });
  server.reply({ headers, body: sse(...words('[', ']'), last) });
  expect(await cli(asked, schema)).toMatchObject({ code: 11, stdout: '[]\n' });
});

test('--raw hands the events on, --dry-run and --curl show the address', async ({ server, cli }) => {
  const body = sse(...words('Hello'), last);
  server.reply({ headers, body });
  expect(await cli(['text', 'hi', '--stream', '--raw'])).toMatchObject({ code: 0, stdout: body });
  for (const flag of ['--dry-run', '--curl'])
    expect((await cli(['text', 'hi', '--stream', flag])).stdout).toContain('/m:streamGenerateContent?alt=sse');
});

test('a recorded stream is replayed, and does not answer the request without --stream', async ({ server, cli }) => {
  server.reply({ headers, body: sse(...words('Hel', 'lo'), last) });
  const { cwd } = await cli(['text', 'hi', '--stream', '--record', 'kept']);
  expect(await cli(['text', 'hi', '--stream', '--replay', 'kept'], { cwd })).toMatchObject({
    code: 0,
    stdout: 'Hello\n',
  });
  expect(await cli(['text', 'hi', '--replay', 'kept'], { cwd })).toMatchObject({ code: 2, stdout: '' });
});

test('text --offline --stream prints the answer while it is written', async ({ cli }) => {
  const { code, stdout } = await cli(['text', '--offline', '--stream', '--jsonl', 'Hello']);
  expect(code).toBe(0);
  expect(stdout.match(/"type":"text"/g)?.length).toBeGreaterThan(5);
});

test('stream is not a key of a text job', async ({ cli }) => {
  const ran = await cli(['batch', '-', '-o', 'out'], { stdin: '{"prompt":"hi","stream":true}\n' });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('unknown job key "stream" for text');
});
