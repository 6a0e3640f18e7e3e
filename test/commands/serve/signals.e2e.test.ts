import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../../faults/program.ts';

const script = (name: string): string =>
  `trap 'echo got ${name}; exit 7' ${name}; bash -c 'echo $$ > started; echo ready; exec sleep 60'`;

/** Whether a process runs; one that ended and was not waited for does not. */
function runs(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test.for(['INT', 'TERM', 'HUP'] as const)('serve passes SIG%s on, to all that its command started', async (name) => {
  const running = start(['serve', '-q', '--', 'bash', '-c', script(name)], { url: 'http://127.0.0.1:9' });
  await running.printed('ready');
  running.child.kill(`SIG${name}`);
  const ran = await running.ended;
  expect(ran.stdout).toContain(`got ${name}`);
  expect(ran.signal).toBe(`SIG${name}`);
  await expect.poll(() => runs(Number(readFileSync(join(running.cwd, 'started'), 'utf8')))).toBe(false);
});
