import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLedger } from '../../src/cost/ledger.ts';
import { scratchFolder } from '../helpers/scratch.ts';

test('past the time limit, a cost waits only seconds for a lock of another host, and what is reserved counts', async () => {
  const path = join(scratchFolder(), 'team.jsonl');
  const ledger = openLedger({ path, limit: { amount: '5' }, now: Date.now });
  const bound = { amount: '1', isMost: true };
  const request = { command: 'text', service: 'openai', model: 'm', lane: 'live', bound, currency: 'USD' };
  const reserved = await ledger.reserve(request, new AbortController().signal);
  const before = readFileSync(path, 'utf8');
  writeFileSync(`${path}.lock`, '{"host":"elsewhere","pid":7,"nonce":"n"}\n');
  const since = performance.now();
  const spent = ledger.spend('id' in reserved ? reserved.id : '', '0.5', { signal: AbortSignal.abort() });
  await expect(spent).rejects.toThrow('another process holds its lock');
  expect(performance.now() - since).toBeLessThan(20_000);
  expect(readFileSync(path, 'utf8')).toBe(before);
});
