import { describe, expect, test } from 'vitest';
import { offBy } from '../../helpers/processes.ts';
import { apiNames } from './batch-server.ts';
import { expectedOf, killAndGoOn, moments } from './kill.ts';

/** Clocks of the next run that are off, by days. */
const clocks = [[], offBy('+3d'), offBy('-3d')];

describe.for(apiNames)('%s: kill -9 at moments of a batch', (api) => {
  test.for(
    moments
      .filter(([step]) => step !== 'part-uploaded' || api !== 'messages')
      .map(([step, nth], at) => [step, nth, at] as const),
  )(
    '%s, time %s: no job is submitted twice, lost, or joined to the answer of another',
    { timeout: 120_000 },
    async ([step, nth, at]) => {
      const facts = await killAndGoOn(api, [step, nth], clocks[at % clocks.length]);
      expect(facts).toMatchObject(expectedOf(facts));
    },
  );
});
