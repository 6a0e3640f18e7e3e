import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRecorder } from '../../src/batch/recorder.ts';
import { scratchFolder } from '../helpers/scratch.ts';

test.each([
  ['with a mark of the boot', 'boot', ['run', 'ready', 'unsent']],
  ['without one, where nobody writes ready,', undefined, ['run']],
])('%s what was only staged is written down as it came', async (_, boot, types) => {
  const folder = scratchFolder();
  const recorder = await openRecorder({
    folder,
    run: {
      type: 'run',
      schema: 'gateway-cli/journal@1',
      tool: 't',
      origin: 'o',
      jobs: 1,
      total: 1,
      list: 'x',
      boot,
      at: 1,
    },
    lostEnds: [],
    now: () => 1,
    redact: (text) => text,
  });
  const group = [{ job: { id: 'a' }, request: '00000000000000aa' }];
  await recorder.ready(group);
  await recorder.unsent(group);
  await recorder.close();
  const lines = readFileSync(join(folder, 'journal.jsonl'), 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(types);
});
