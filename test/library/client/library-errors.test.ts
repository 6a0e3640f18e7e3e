import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { GatewayError, type ClientEvent, type Message, ResponseError } from '../../../src/index.ts';
import { startFakeServer } from '../../fake-servers/start.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { createPause } from '../../helpers/scripted-server.ts';
import { eventStream, messageEvents, textReply } from '../../helpers/with-server.ts';
import { test } from './library-client.ts';

const request = { model: 'm', prompt: 'x' };

/** A flag of the command line, or a variable that only the command reads. */
const foreign = /(?:^|[\s('"])--?[a-z]/;

async function failureOf(call: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}

test('no error of the library names a flag', async ({ server, client }) => {
  const gateway = client({ retries: 0 });
  const limit = { candidates: [{ content: { parts: [{ text: 'half' }] }, finishReason: 'MAX_TOKENS' }] };
  const replies: [object, () => Promise<unknown>][] = [
    [{ status: 401, body: {} }, () => gateway.generate(request)],
    [{ status: 404, body: {} }, () => gateway.generate(request)],
    [{ status: 400, body: {} }, () => gateway.generate({ ...request, maxTokens: 1 }, { format: 'messages' })],
    [{ status: 429, body: {} }, () => gateway.generate(request)],
    [{ status: 500, body: {} }, () => gateway.stream({ ...request, maxTokens: 1 }, { format: 'messages' }).reply()],
    [{ body: { other: 'json' } }, () => gateway.generate(request)],
    [{ body: limit }, () => gateway.generate(request, { requireComplete: true })],
    [{ body: textReply('words') }, () => gateway.generateImages(request)],
    [{ body: { candidates: [], promptFeedback: { blockReason: 'SAFETY' } } }, () => gateway.generate(request)],
    [{ chunks: [createPause().until] }, () => gateway.generate(request, { timeoutMs: 300 })],
  ];
  for (const [reply, call] of replies) {
    server.reply(reply);
    const error = await failureOf(call());
    expect(`${error.message} ${error.details.hint ?? ''}`).not.toMatch(foreign);
  }
});

test('errors before anything is sent name no flag either', async ({ client }) => {
  const calls = [
    () => client().generate({ model: '', prompt: 'x' }),
    () => client().generateImages(request, { folder: join(scratchFolder(), 'a/b') }),
    () => client({ baseUrl: 'http://gateway.test' }).generate(request),
    () => client({ ca: 'no PEM' }).generate(request),
    () => client({ clientCert: 'x' }).generate(request),
    ...[{ who: 'user' }, 1, null, { role: 'user' }, { role: 'system', content: 'x' }].map(
      (turn) => () => client().generate({ ...request, turns: [turn as Message] }),
    ),
    () => client().generate({ ...request, turns: {} as Message[] }),
  ];
  for (const call of calls) {
    const error = await failureOf(call());
    expect(error.class).toBe('usage');
    expect(`${error.message} ${error.details.hint ?? ''}`).not.toMatch(foreign);
  }
});

test('a failure that a setting could mend has its reason', async ({ server, client }) => {
  server.reply({ chunks: [createPause().until] });
  const late = await failureOf(client().generate(request, { timeoutMs: 300 }));
  expect(late.details).toMatchObject({ reason: 'timeout', value: 2 });
  expect(late.details.hint).toBeUndefined();
  server.reply({ status: 429, headers: { 'retry-after': '500' }, body: {} });
  const spent = await failureOf(client().generate(request));
  expect(spent.details).toMatchObject({ reason: 'retry-time', value: 500 });
});

test('an error that leaves the library has the hint of its reason, unless that names a flag', async ({
  server,
  client,
}) => {
  const insecure = client({ baseUrl: 'http://gateway.test' }).generate(request);
  const { class: kind, details } = await failureOf(insecure);
  expect([kind, details.reason, details.hint]).toEqual(['usage', 'insecure', undefined]);
  const spent = { status: 413, body: {} };
  const expected = { details: { reason: 'too-large', hint: 'send smaller or fewer images and files' } };
  const gateway = client({ retries: 0 });
  server.reply(spent);
  expect(await failureOf(gateway.generateImages(request))).toMatchObject(expected);
  server.reply(spent);
  const stream = gateway.stream(request);
  expect(await failureOf(stream[Symbol.asyncIterator]().next())).toMatchObject(expected);
  expect(await failureOf(stream.reply())).toMatchObject(expected);
});

test('an error without its hint is still a ResponseError with what came', async ({ server, client }) => {
  server.reply({ body: textReply('no picture today') });
  const error = await failureOf(client().generateImages(request));
  expect(error).toBeInstanceOf(ResponseError);
  expect(error).toMatchObject({ class: 'no-result', reply: { text: 'no picture today' } });
});

test.each(['16x9', '16:', '0:1', '1.:1', '0.5:1', ''])(
  'an aspect of %j is refused as the command refuses it',
  async (aspect) => {
    const { createClient } = await import('../../../src/index.ts');
    const client = createClient({ baseUrl: 'http://127.0.0.1:1' });
    const error = await failureOf(client.generateImages({ ...request, aspect }));
    expect(error).toMatchObject({ class: 'usage', details: { sent: 'no', hint: 'for example: 16:9' } });
    expect(error.message).toBe(`aspect takes width:height, not ${JSON.stringify(aspect)}`);
  },
);

test("a listener gets each event of a call, and that of the call in place of the client's", async ({
  server,
  client,
}) => {
  const busy = { status: 503, headers: { 'retry-after-ms': '1' }, body: {} };
  const told: ClientEvent[] = [];
  const gateway = client({ onEvent: (event) => told.push(event) });
  server.reply(busy);
  server.reply(busy);
  server.reply({ body: textReply('ok') });
  await gateway.generate(request);
  const error = { class: 'gateway', details: { status: 503, reason: 'retries' } };
  expect(told).toMatchObject([
    { type: 'sent', attempts: 1 },
    { type: 'refused' },
    { type: 'retry', attempt: 1, error },
    { type: 'sent', attempts: 2 },
    { type: 'refused' },
    { type: 'retry', attempt: 2 },
    { type: 'sent', attempts: 3 },
    { type: 'answered', attempts: 3, isRecorded: false },
  ]);
  const ofCall: string[] = [];
  server.reply(busy);
  server.reply({ body: eventStream(...messageEvents('ok')) });
  await gateway.stream(request, { format: 'messages', onEvent: ({ type }) => ofCall.push(type) }).reply();
  expect(ofCall).toEqual(['sent', 'refused', 'retry', 'sent', 'answered']);
  expect(told).toHaveLength(8);
});

test.for([
  [
    'throws',
    () => {
      throw new Error('no log');
    },
  ],
  ['rejects', async () => Promise.reject(new Error('no log'))],
] as const)(
  'a listener that %s while the request is sent ends the call, whose payment ends once',
  async ([, fail], { client }) => {
    const headers = { 'content-type': 'application/json' };
    const server = await startFakeServer(() => ({ status: 200, headers, body: JSON.stringify(textReply('ok')) }));
    onTestFinished(() => server.close());
    const ends: unknown[] = [];
    const payment = {
      reserve: async () => undefined,
      retry: () => undefined,
      end: async ({ error }: { error?: unknown }) => void ends.push(error),
      cancel: async () => undefined,
    };
    const onEvent = ({ type }: ClientEvent) => (type === 'sent' ? fail() : undefined);
    const gateway = client({ baseUrl: server.url, onEvent, payments: { open: () => payment } });
    const error: unknown = await gateway.generate(request).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: 'no log' });
    expect(ends).toEqual([error]);
  },
);
