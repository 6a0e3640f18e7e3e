import { expect } from 'vitest';
import { start } from '../faults/program.ts';
import { test } from './with-batch.ts';

test('a comparison that was killed in the middle goes on, and nothing of it is paid twice', async ({
  server,
  folder,
  batch,
}) => {
  folder.write('rows.csv', `name\n${Array.from({ length: 8 }, (_, i) => `n${i}\n`).join('')}`);
  const argv = ['--data', 'rows.csv', '-o', 'out', '--concurrency', '2', '--vary', 'model=a,b,c', 'Greet {{name}}'];
  server.answer = () => (server.bodies.length > 9 ? { after: new Promise(() => undefined) } : undefined);
  const { child, ended } = start(['batch', ...argv], server, { cwd: folder.cwd });
  await server.received(11);
  child.kill('SIGKILL');
  await ended;
  server.answer = () => undefined;
  // Those two may have been billed.
  const again = await batch(['run', ...argv]);
  expect(again.code).toBe(13);
  expect(again.stderr).toContain('22 done, 2 unknown (may have been billed)\n');
  expect([...server.counts.values()]).toEqual(Array.from({ length: 8 }, () => 3));
  expect((await batch(['export', 'out'])).stdout.trimEnd().split('\r\n')).toHaveLength(9);
});
