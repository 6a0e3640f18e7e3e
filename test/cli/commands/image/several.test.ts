import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { GatewayError } from '../../../../src/library/errors.ts';
import { createPause } from '../../../helpers/scripted-server.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { imageReply, test, textReply } from '../../../helpers/with-server.ts';
import { png } from '../../../replies/deviation.ts';

const dot = { mimeType: 'image/png', data: png };
const ok = { body: imageReply(dot) };
const rejected = { status: 400, body: { error: { code: 400, message: 'no such field', status: 'INVALID_ARGUMENT' } } };
const failing = { status: 500, body: { error: { code: 500, message: 'boom', status: 'INTERNAL' } } };
const gen = (...flags: string[]) => ['image', 'gen', 'x', '-o', 'out/', '--retries', '0', ...flags];

describe('-n', () => {
  test('makes the requested number of requests, four at a time', async ({ server, cli }) => {
    const pause = createPause();
    for (let n = 0; n < 6; n++) server.reply({ chunks: [pause.until, JSON.stringify(imageReply(dot))] });
    const running = cli(gen('-n', '6'));
    await server.received(4);
    expect(server.requests).toHaveLength(4);
    pause.release();
    const paths = Array.from({ length: 6 }, (_, n) => `out/image-${n + 1}.png\n`).join('');
    expect(await running).toMatchObject({ code: 0, stdout: paths, stderr: '' });
    expect(server.requests).toHaveLength(6);
  });

  test('--concurrency 2 sends two at a time, and keeps the order', async ({ server, cli }) => {
    const first = createPause();
    server.reply({ chunks: [first.until, JSON.stringify(imageReply(dot))] });
    for (let n = 0; n < 4; n++) server.reply(ok);
    const running = cli(gen('-n', '5', '--concurrency', '2'));
    // The others go on while the first one waits, one after the other.
    await server.received(5);
    first.release();
    const paths = Array.from({ length: 5 }, (_, n) => `out/image-${n + 1}.png\n`).join('');
    expect(await running).toMatchObject({ code: 0, stdout: paths, stderr: '' });
  });

  test('keeps what came where some failed: exit 11, and how to get the rest', async ({ server, cli }) => {
    server.reply(ok);
    server.reply(failing);
    server.reply(ok);
    const ran = await cli(gen('-n', '3'));
    expect(ran).toMatchObject({ code: 11, stdout: 'out/image-1.png\nout/image-2.png\n' });
    expect(ran.stderr).toContain('1 of 3 images are missing: the gateway answered 500 (INTERNAL): boom');
    expect(ran.stderr).toContain('ask for the rest: -n 1');
  });

  test('numbers the replies in the document', async ({ server, cli }) => {
    server.reply(ok);
    server.reply(ok);
    const { stdout } = await cli(gen('-n', '2', '--json'));
    const replies = [{ reply: 0 }, { reply: 1 }];
    expect(JSON.parse(stdout)).toMatchObject({ candidates: replies, images: replies });
  });

  test('reports in the document that the others were billed', async ({ server, cli }) => {
    server.reply(ok);
    server.reply({ ...failing, status: 503 });
    const { code, stdout } = await cli(gen('-n', '2', '--json'));
    expect([code, JSON.parse(stdout)]).toMatchObject([
      11,
      { ok: false, complete: false, images: [{}], attempts: 2, error: { class: 'incomplete', billed: 'yes' } },
    ]);
  });

  test('is exit 11 where one of several answers had words only', async ({ server, cli }) => {
    server.reply(ok);
    server.reply({ body: textReply('I cannot') });
    const ran = await cli(gen('-n', '2'));
    expect(ran).toMatchObject({ code: 11, stdout: 'out/image-1.png\n' });
    expect(ran.stderr).toContain('1 of 2 images are missing');
  });

  test('ends with the code of the failure where all failed', async ({ server, cli }) => {
    server.always(failing);
    expect(await cli(gen('-n', '3'))).toMatchObject({ code: 6, stdout: '' });
  });

  test('sends no more once the gateway rejects what all of them ask', async ({ server, cli }) => {
    server.always(rejected);
    expect(await cli(gen('-n', '50'))).toMatchObject({ code: 4, stdout: '' });
    expect(server.requests.length).toBeLessThan(9);
  });

  test('keeps the pictures that were done when the user interrupts the rest', async ({ server, cli }) => {
    const stop = new AbortController();
    const pause = createPause();
    server.reply(ok);
    server.reply({ chunks: ['{"candidates":[', pause.until] });
    const ended = new GatewayError('interrupted', 'interrupted');
    const onStdout = () => stop.abort(ended);
    const ran = await cli(gen('-n', '2'), { signal: stop.signal, onStdout });
    pause.release();
    expect(ran).toMatchObject({ code: 130, stdout: 'out/image-1.png\n' });
    expect(readdirSync(join(ran.cwd, 'out'))).toEqual(['image-1.png']);
  });
});

test('fewer candidates than asked are exit 11, and those that came are kept', async ({ server, cli }) => {
  server.reply(ok);
  const ran = await cli(gen('--candidates', '2'));
  expect(ran).toMatchObject({ code: 11, stdout: 'out/image-1.png\n' });
  expect(ran.stderr).toContain('1 of 2 images came');
});

test.for([
  [
    'a blocked prompt',
    { promptFeedback: { blockReason: 'PROHIBITED_CONTENT', safetyRatings: [{ category: 'C', probability: 'HIGH' }] } },
    ['blockReason PROHIBITED_CONTENT', 'C HIGH'],
  ],
  [
    'a blocked picture',
    { candidates: [{ content: {}, finishReason: 'IMAGE_SAFETY', finishMessage: 'Unable to show it' }] },
    ['finishReason IMAGE_SAFETY', 'Unable to show it'],
  ],
  ['no candidates at all', { candidates: [], usageMetadata: {} }, ['no image came']],
  [
    'words only',
    textReply(`I cannot\n\u001b[31mdraw${'!'.repeat(300)}`),
    ['finishReason STOP; the model answered: "I cannot ^[[31mdraw!!', '!!…"\n', 'answered in words'],
  ],
] as const)(
  '%s is exit 10 with its reasons, stdout empty, nothing written',
  async ([, body, told], { server, cli }) => {
    server.reply({ body });
    const ran = await cli(gen());
    expect(ran).toMatchObject({ code: 10, stdout: '' });
    for (const word of told) expect(ran.stderr).toContain(word);
    expect(existsSync(join(ran.cwd, 'out')) ? readdirSync(join(ran.cwd, 'out')) : []).toEqual([]);
  },
);

describe('--raw', () => {
  const odd = Buffer.from([0x7b, 0xff, 0x00, 0x0d, 0x0a, 0x7d]);

  test('prints the bytes of an image reply, and writes no file', async ({ server, cli }) => {
    const body = `${JSON.stringify(imageReply(dot))}  \n`;
    server.reply({ body });
    const ran = await cli(['image', 'gen', 'x', '--raw']);
    expect(ran).toMatchObject({ code: 0, stdout: body, stderr: '' });
    expect(readdirSync(ran.cwd)).toEqual([]);
  });

  test('prints bodies that are not JSON or not UTF-8 unchanged, with status 200 and with an error', async ({
    server,
    cli,
  }) => {
    server.reply({ body: odd });
    const good = await cli(['image', 'gen', 'x', '--raw']);
    expect([good.code, good.stdoutBytes]).toEqual([0, odd]);
    server.reply({ status: 404, body: odd });
    const bad = await cli(['text', 'x', '--raw']);
    expect([bad.code, bad.stdoutBytes]).toEqual([4, odd]);
  });

  test('prints a long error page whole', async ({ server, cli }) => {
    const page = `<html>${'x'.repeat(300_000)}</html>`;
    server.reply({ status: 404, body: page });
    expect((await cli(['text', 'x', '--raw'])).stdout).toBe(page);
  });

  test('prints the body of the last attempt only', async ({ server, cli }) => {
    server.reply({ status: 429, headers: { 'retry-after': '0' }, body: '{"error":{"message":"slow down"}}' });
    server.reply({ body: '{"ok":1}' });
    expect(await cli(['text', 'x', '--raw'])).toMatchObject({ code: 0, stdout: '{"ok":1}' });
  });
});

test('a 429 with a long wait holds back all requests in the flex lane, which waits that long', async ({
  server,
  cli,
}) => {
  for (const wait of ['61', '0']) server.reply({ status: 429, headers: { 'retry-after': wait }, body: { error: {} } });
  const ran = await cli(['image', 'gen', 'x', '-n', '2', '--lane', 'flex', '--timeout', '1500ms']);
  expect(ran.code).toBe(5);
  expect(server.requests).toHaveLength(2);
});

describe('a quota', () => {
  const error = { code: 429, message: 'exceeded', details: [{ violations: [{ quotaId: 'RequestsPerDayPerModel' }] }] };
  test.for([
    ['that is spent', { status: 429, body: { error } }],
    ['that is back in an hour', { status: 429, headers: { 'retry-after': '3600' }, body: { error: {} } }],
  ] as const)('%s ends all requests with exit 5', async ([, reply], { server, cli }) => {
    server.always(reply);
    const ran = await cli(['image', 'gen', 'x', '-n', '20', '--concurrency', '1']);
    expect(ran).toMatchObject({ code: 5, stdout: '' });
    expect(server.requests).toHaveLength(1);
  });
});

test('a name that an earlier picture of another type took is refused before anything is paid for', async ({
  server,
  cli,
}) => {
  const cwd = scratchFolder();
  const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex').toString('base64');
  server.reply({ body: imageReply({ mimeType: 'image/jpeg', data: jpeg }) });
  expect(await cli(['image', 'gen', 'x', '-o', 'cat.png'], { cwd })).toMatchObject({ code: 0, stdout: 'cat.jpg\n' });
  const again = await cli(['image', 'gen', 'x', '-o', 'cat.png'], { cwd });
  expect(again).toMatchObject({ code: 2, stdout: '' });
  expect(again.stderr).toContain('-o cat-2.png');
  expect(server.requests).toHaveLength(1);
  // The picture that is edited is not an earlier output.
  server.reply(ok);
  const edited = await cli(['image', 'edit', '-i', 'cat.jpg', 'x', '-o', 'cat.png'], { cwd });
  expect(edited).toMatchObject({ code: 0, stdout: 'cat.png\n' });
});
