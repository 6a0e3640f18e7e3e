import { test as base } from 'vitest';
import type { Io } from '../../../src/cli/terminal/io.ts';
import { run, type Ran, type RunOptions } from '../../helpers/run.ts';
import { type BatchFolder, createFolder, environmentFor } from '../with-batch.ts';
import { type ApiName, type BatchServer, startBatchServer } from './batch-server.ts';

/** A server of one API, a folder, and runs of `batch` in the lane `batch` in it. */
export interface Lane {
  server: BatchServer;
  folder: BatchFolder;
  env: Record<string, string>;
  batch: (argv?: readonly string[], options?: RunOptions) => Promise<Ran>;
}

export const prices = '{"m":{"input":"1","output":"10","batch":"0.5"}}';

export const test = base.extend<{ open: (api: ApiName) => Promise<Lane> }>({
  open: async ({}, use) => {
    const servers: BatchServer[] = [];
    await use(async (api) => {
      const server = await startBatchServer(api);
      servers.push(server);
      const folder = createFolder();
      const env = { ...environmentFor(server), GATEWAY_FORMAT: api };
      const batch: Lane['batch'] = (argv = [], options = {}) =>
        run(['batch', 'jobs.jsonl', '-o', 'out', '--lane', 'batch', '--prices', prices, ...argv], {
          ...options,
          env: { ...env, ...options.env },
          cwd: folder.cwd,
        });
      return { server, folder, env, batch };
    });
    for (const server of servers) await server.close();
  },
});

/** A clock on which the time until a batch that is not listed does not exist is over at the second look. */
export function hurriedClock(stepMs = 60_000): Pick<Io, 'elapsed' | 'after'> {
  let now = 0;
  return { elapsed: () => (now += stepMs), after: () => () => undefined };
}
