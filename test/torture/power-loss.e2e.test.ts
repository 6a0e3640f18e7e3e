import { describe, expect, test } from 'vitest';
import { isFull } from '../helpers/full.ts';
import { countIn } from './campaign.ts';
import { cutPower, restarted } from './power-loss.ts';

describe.skipIf(process.platform === 'win32')('the power fails after any change', () => {
  test.each(restarted)(
    '%s: goes on, whatever the file system kept of what was not synced',
    { timeout: 1_800_000 },
    async (name) => {
      const { states, wrong } = await cutPower(name, !isFull);
      if (isFull) expect(states).toBeGreaterThanOrEqual(countIn('states', name));
      expect(wrong.join('\n\n')).toBe('');
    },
  );
});
