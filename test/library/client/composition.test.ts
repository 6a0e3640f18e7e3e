import { expect, test } from 'vitest';
import { type GatewayClientOptions, openGatewayClient } from '../../../src/library/client/gateway-client.ts';
import { startDeadline } from '../../../src/library/client/deadline.ts';
import { drainDeltas } from '../../../src/library/client/deltas.ts';
import type { PaidEnd } from '../../../src/library/client/payment.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import { createMemoryStore } from '../../../src/library/images/store.ts';
import type { Fetch, FetchWrapper, HttpReply, HttpRequest } from '../../../src/library/transport/types.ts';
import { textReply } from '../../helpers/with-server.ts';

/** What happened, in the order in which it did. */
type Step = 'log' | 'cache' | 'key' | 'reserve' | 'connect' | 'retry' | 'answered' | 'failed' | 'settled' | 'unsettled';

const post = { path: '/v1beta/models/m:generateContent', format: 'content', use: 'text', body: {} } as const;

const answer = (status = 200): HttpReply => {
  async function* body() {
    yield Buffer.from(JSON.stringify(status === 200 ? textReply('hello') : { error: { code: status, message: 'no' } }));
  }
  return { status, headers: { 'retry-after-ms': '0' }, body: body() };
};

const refusal = new GatewayError('over-budget', 'the budget is spent', { sent: 'no', billed: 'no', retryable: false });

/** Asks once, with a budget for some attempts; `ends` are what the connection does. */
async function ask(
  ends: readonly (() => HttpReply)[],
  {
    budget = 9,
    cached,
    signal,
    ...retrying
  }: Pick<GatewayClientOptions, 'retries' | 'retryMaxWaitMs'> & {
    budget?: number;
    cached?: HttpReply;
    signal?: AbortSignal;
  } = {},
) {
  const steps: Step[] = [];
  const left = [...ends];
  const sent: HttpRequest[] = [];
  const seenByCache: HttpRequest[] = [];
  let end: PaidEnd = {};
  const fetch: Fetch = async (request, call) => {
    await call.beforeSend?.();
    steps.push('connect');
    sent.push(request);
    call.onSent?.();
    return (left.shift() as () => HttpReply)();
  };
  const log: FetchWrapper = (next) => async (request, call) => {
    steps.push('log');
    return next(request, call);
  };
  const cache: FetchWrapper = (next) => async (request, call) => {
    steps.push('cache');
    seenByCache.push(request);
    return cached ?? next(request, call);
  };
  const options: GatewayClientOptions = {
    baseUrl: 'http://127.0.0.1:1',
    apiKey: () => (steps.push('key'), 'secret'),
    connection: { fetch },
    retryMaxWaitMs: 1,
    ...retrying,
    wrappers: [log, cache],
    payments: {
      open: () => ({
        async reserve() {
          if (budget-- <= 0) throw refusal;
          steps.push('reserve');
        },
        retry: () => void steps.push('retry'),
        async end(ended) {
          end = ended;
          steps.push(ended.answer || ended.error ? 'settled' : 'unsettled');
        },
        cancel: async () => undefined,
      }),
    },
    onEvent: ({ type }) => void (type === 'answered' && steps.push(type)),
    explain: async (error) => (steps.push('failed'), error),
  };
  const client = openGatewayClient(options);
  const deltas = client.ask(
    { post, model: 'm' },
    { deadline: startDeadline(60_000, signal), store: createMemoryStore() },
  );
  const outcome = await drainDeltas(deltas).then(
    ({ attempts, isRecorded, result }) => ({ attempts, isRecorded, text: result.text }),
    (error: GatewayError) => ({ attempts: error.details.attempts, class: error.class, billed: error.billed }),
  );
  return { steps, outcome, sent, seenByCache, end };
}

test('each attempt passes the log, the cache, the key and the budget, in this order, and only then connects', async () => {
  const { steps, outcome, sent, seenByCache } = await ask([answer]);
  expect(steps).toEqual(['log', 'cache', 'key', 'reserve', 'connect', 'answered', 'settled']);
  expect(outcome).toEqual({ attempts: 1, isRecorded: false, text: 'hello' });
  expect(sent[0]?.headers).toMatchObject({ 'x-vendor-a-api-key': 'secret' });
  expect(JSON.stringify(seenByCache[0]?.headers)).not.toContain('secret');
});

test('two failed attempts and an answer are three attempts, each paid for', async () => {
  const { steps, outcome } = await ask([() => answer(500), () => answer(500), answer]);
  const attempt = ['log', 'cache', 'reserve', 'connect'];
  expect(steps.filter((step) => step !== 'key')).toEqual([
    ...attempt,
    'retry',
    ...attempt,
    'retry',
    ...attempt,
    'answered',
    'settled',
  ]);
  expect(outcome).toMatchObject({ attempts: 3 });
});

test('what a cache answers reads no key, is paid from no budget, and was not sent', async () => {
  const { steps, outcome } = await ask([], { budget: 0, cached: { ...answer(), recordedAt: 5 } });
  expect(steps).toEqual(['log', 'cache', 'answered', 'settled']);
  expect(outcome).toEqual({ attempts: 0, isRecorded: true, text: 'hello' });
});

test('an attempt that the budget refuses is none, and those before it are counted in the error', async () => {
  const first = await ask([], { budget: 0 });
  expect(first.steps).toEqual(['log', 'cache', 'key', 'failed', 'settled']);
  expect(first.outcome).toEqual({ attempts: 0, class: 'over-budget', billed: 'no' });
  const second = await ask([() => answer(500)], { budget: 1 });
  expect(second.outcome).toMatchObject({ attempts: 1, class: 'over-budget' });
  expect(second.end.error).toMatchObject({ class: 'over-budget' });
});

test('an error tells how many attempts were made, sent or not', async () => {
  const refused = () => {
    throw new GatewayError('not-sent', 'connection refused', { sent: 'no', retryable: true });
  };
  const unsent = await ask([refused, refused], { retries: 1, retryMaxWaitMs: 60_000 });
  expect(unsent.outcome).toEqual({ attempts: 2, class: 'not-sent', billed: 'no' });
  const lost = () => {
    throw new GatewayError('no-reply', 'the connection was lost', { sent: 'yes' });
  };
  expect((await ask([lost])).outcome).toEqual({ attempts: 1, class: 'no-reply', billed: 'unknown' });
});

test('a caller that stops while its request is in flight gets its reason, with the attempts, and the cost is settled', async () => {
  const controller = new AbortController();
  const reason = new GatewayError('interrupted', 'ended by INT');
  const stop = () => {
    controller.abort(reason);
    throw reason;
  };
  const { steps, outcome } = await ask([stop], { signal: controller.signal });
  expect(outcome).toEqual({ attempts: 1, class: 'interrupted', billed: 'unknown' });
  expect(steps.slice(-2)).toEqual(['failed', 'settled']);
});
