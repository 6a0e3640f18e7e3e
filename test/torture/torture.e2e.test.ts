import { describe, expect, test } from 'vitest';
import { isFull } from '../helpers/full.ts';
import { countIn, listFailures, torture } from './campaign.ts';
import { tasks } from './tasks.ts';

/** So many calls of each task fail in `npm test`. */
const sampled = 2;

describe.skipIf(process.platform === 'win32')('every call of the file system and of the network fails once', () => {
  test.each(Object.entries(tasks))(
    '%s: nothing that was paid for is lost or paid twice, and no half of a file is left',
    { timeout: 1_800_000 },
    async (name, task) => {
      const failures = await listFailures(task);
      expect(failures.length).toBeGreaterThanOrEqual(countIn('calls', name));
      const every = isFull ? 1 : Math.ceil(failures.length / sampled);
      const wrong = await torture(
        task,
        failures.filter((_, at) => at % every === 0),
      );
      expect(wrong.join('\n\n')).toBe('');
    },
  );
});
