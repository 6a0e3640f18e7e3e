import { expect, test } from 'vitest';
import { childProgram } from '../start-child.ts';
import { createFolder, manyJobs } from '../with-batch.ts';
import { startBatchServer } from './batch-server.ts';

test('a result that cannot be written ends the run, and the next one collects it', { timeout: 120_000 }, async () => {
  const start = await childProgram();
  const server = await startBatchServer('messages');
  const folder = createFolder();
  const env = { GATEWAY_FORMAT: 'messages' };
  try {
    folder.jobs(...manyJobs(12));
    server.endingOf = (prompt) => (prompt === 'p1' ? { error: 'bad field' } : { text: 'fine' });
    const failed = start(folder, server, { argv: ['result-written', '1', 'lane', 'full'], env });
    expect(await failed.ended).toBe(12);
    expect(failed.stderr()).toContain('the disk is full');
    expect(folder.lines('summary.json')).toMatchObject([{ done: 11, unknown: 0, submitted: 1 }]);
    expect(await start(folder, server, { argv: ['none', '1', 'lane'], env }).ended).toBe(13);
    expect(folder.lines('summary.json')).toMatchObject([{ done: 11, failed: 1, unknown: 0, pending: 0 }]);
    expect([...server.counts.values()]).toEqual(Array.from({ length: 12 }, () => 1));
  } finally {
    await server.close();
  }
});
