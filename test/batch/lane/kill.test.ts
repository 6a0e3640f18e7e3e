import { expect, test } from 'vitest';
import { killAndGoOn, paidOnce } from './kill.ts';

test.for([
  ['content', 'part-sent', '1'],
  ['messages', 'part-answered', '1'],
  ['completions', 'part-uploaded', '1'],
  ['completions', 'part-answered', '1'],
  ['messages', 'result-written', '7'],
] as const)(
  '%s, kill -9 at %s, time %s: the next run goes on, and no job is submitted twice',
  { timeout: 120_000 },
  async ([api, step, nth]) => expect(await killAndGoOn(api, [step, nth])).toMatchObject(paidOnce),
);
