import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../src/library/client/client.ts';
import type { Payment } from '../../../src/library/client/payment.ts';
import { startFakeServer } from '../../fake-servers/start.ts';

test('a model that stands in and costs nothing is not paid by the payment of the one that refused', async () => {
  const headers = { 'content-type': 'application/json' };
  const gone = JSON.stringify({ error: { message: 'The model `dear` does not exist', code: 'model_not_found' } });
  const answer = '{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}';
  const server = await startFakeServer(({ body }) =>
    body.includes('"dear"') ? { status: 404, headers, body: gone } : { status: 200, headers, body: answer },
  );
  onTestFinished(() => server.close());
  const calls: string[] = [];
  const note = (name: string) => async (): Promise<void> => void calls.push(name);
  const payment: Payment = { reserve: note('reserve'), retry() {}, end: note('end'), cancel: note('cancel') };
  const client = createClient({
    baseUrl: server.url,
    apiKey: 'key-0123456789',
    payments: { open: ({ model }) => (model === 'dear' ? payment : undefined) },
  });
  onTestFinished(() => client.close());
  const prepared = await client.prepare({ model: 'dear', prompt: 'hi' }, { format: 'completions' });
  const deltas = client.ask({ ...prepared, fallback: 'free' });
  let next = await deltas.next();
  while (!next.done) next = await deltas.next();
  expect(next.value.result.text).toBe('Hi.');
  expect(calls).toEqual(['reserve', 'end']);
});
