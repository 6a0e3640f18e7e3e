import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';
import { textReply } from '../../helpers/with-server.ts';
import { serve } from './post.ts';

describe.runIf(process.platform === 'linux')('with little address space', () => {
  const limit = 'ulimit -v 6000000';
  /** Up to Node 22, each WebAssembly memory reserves ten gigabytes of it. */
  const parserFits = spawnSync('bash', [
    '-c',
    `${limit}; "$0" -e "new WebAssembly.Memory({ initial: 1 })"`,
    process.execPath,
  ]);
  const env = (url: string) => ({ GATEWAY_BASE_URL: url, GATEWAY_API_KEY: 'test-key-1234567890' });

  test.skipIf(parserFits.status === 0)('a parser without memory fails at once', async () => {
    const server = await serve();
    const run = await shell(`${limit}; "$BIN" text hi -m m`, { env: env(server.url) });
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toMatch(/not enough memory[^]*ulimit -v/);
    expect(run.stderr).not.toMatch(/retry|check the network/);
  });

  test.runIf(parserFits.status === 0)('a parser that needs little works', async () => {
    const server = await serve();
    server.reply({ body: textReply('Hello') });
    const run = await shell(`${limit}; "$BIN" text hi -m m`, { env: env(server.url) });
    expect(run).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
  });
});
