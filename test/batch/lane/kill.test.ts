import { expect, test } from 'vitest';
import { expectedOf, killAndGoOn } from './kill.ts';

test.for([
  ['content', 'part-creating', '1'],
  ['messages', 'part-answered', '1'],
] as const)(
  '%s, kill -9 at %s, time %s: the next run goes on, and no job is submitted twice',
  { timeout: 120_000 },
  async ([api, step, nth]) => {
    const facts = await killAndGoOn(api, [step, nth]);
    expect(facts).toMatchObject(expectedOf(facts));
  },
);
