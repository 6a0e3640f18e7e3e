import { expect, test } from 'vitest';
import { payFrom } from '../../../src/library/client/payment.ts';
import { GatewayError } from '../../../src/library/errors.ts';

const never = new AbortController().signal;
const request = { model: 'm', post: { format: 'messages' as const, body: {} } };

/** A payment, and what became of each reserved amount. */
function open() {
  const ends: string[] = [];
  const reserve = async () => ({
    spend: async () => void ends.push('spent'),
    free: async () => void ends.push('freed'),
  });
  return { ends, payment: payFrom({ reserve }, request) };
}

test('an attempt that may have been billed is spent, also if the request ends before the next one', async () => {
  const { ends, payment } = open();
  await payment.reserve(never);
  payment.retry(new GatewayError('gateway', 'status 500'));
  await payment.end({ error: new GatewayError('interrupted', 'ended by INT', { billed: 'no', isDoubtful: true }) });
  expect(ends).toEqual(['spent']);
});

test('a request that was certainly not billed is not spent', async () => {
  const { ends, payment } = open();
  await payment.reserve(never);
  payment.retry(new GatewayError('quota', 'status 429'));
  await payment.reserve(never);
  await payment.end({ error: new GatewayError('quota', 'status 429') });
  expect(ends).toEqual(['freed']);
});
