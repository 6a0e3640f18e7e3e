import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { lateClock } from '../helpers/late-clock.ts';
import { manyJobs, test } from './with-batch.ts';

/** A terminal whose line cannot be animated. */
const plain = { tty: { stderr: true }, env: { TERM: 'dumb' } };

test('a long check reports how many jobs it has seen, and how much it has hashed', async ({ batch, folder }) => {
  writeFileSync(join(folder.cwd, 'big.txt'), Buffer.alloc(12_000_000, 'a'));
  folder.jobs({ id: 'a', command: 'chat', prompt: 'x' }, { id: 'b', prompt: 'x', attach: ['big.txt'] });
  const ran = await batch(['--dry-run'], { clock: lateClock(), ...plain });
  expect(ran).toMatchObject({
    code: 0,
    stderr: 'still checking the jobs after 5 s (2 jobs, 12.0 MB hashed)\n',
  });
});

test('a long reading of several folders says which, and -q keeps it silent', async ({ batch, folder }) => {
  folder.jobs(...manyJobs(4));
  for (const index of [1, 2]) await batch(['jobs.jsonl', '-o', `out-${index}`, '--shard', `${index}/2`]);
  const ran = await batch(['status', 'out-1', 'out-2'], { clock: lateClock(), ...plain });
  expect([ran.code, ran.stderr]).toEqual([0, 'still reading out-1 after 5 s\nstill reading out-2 after 5 s\n']);
  const quiet = await batch(['status', 'out-1', 'out-2', '-q'], { clock: lateClock(), ...plain });
  expect(quiet).toMatchObject({ code: 0, stderr: '' });
});
