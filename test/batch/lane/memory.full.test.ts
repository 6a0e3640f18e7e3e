import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFor, createFolder, manyJobs } from '../with-batch.ts';
import { type ApiName, apiNames, startBatchServer } from './batch-server.ts';

const bin = join(import.meta.dirname, '../../../bin/gateway-cli.js');
const tell = `process.on('exit', () => require('node:fs').writeFileSync('peak', String(process.resourceUsage().maxRSS)))`;

/** Greatest resident memory of a run of so many jobs in the lane, in MiB; all of them are done. */
async function peakOf(api: ApiName, count: number): Promise<number> {
  const server = await startBatchServer(api);
  const folder = createFolder();
  folder.jobs(...manyJobs(count));
  folder.write('tell.cjs', tell);
  const words = ['--require', './tell.cjs', bin, 'batch', 'jobs.jsonl', '-o', 'out', '--lane', 'batch'];
  const env = { PATH: process.env['PATH'], ...environmentFor(server), GATEWAY_FORMAT: api };
  try {
    const child = spawn(process.execPath, words, { cwd: folder.cwd, env, stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(folder.lines('results.jsonl')).toHaveLength(count);
    return Number(readFileSync(join(folder.cwd, 'peak'), 'utf8')) / 1024;
  } finally {
    await server.close();
  }
}

test.for(apiNames)('%s: 20,000 jobs need at most 60 MiB more than one', { timeout: 600_000 }, async (api) => {
  const [one, many] = [await peakOf(api, 1), await peakOf(api, 20_000)];
  expect(many - one).toBeLessThan(60);
});
