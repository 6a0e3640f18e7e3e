import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { connect } from './client.ts';

const refused = (why: string): object => ({
  isError: true,
  structuredContent: {
    error: { class: 'not-sent', message: `the command cannot be started: ${why}`, sent: 'no', billed: 'no' },
  },
});

test.skipIf(process.platform !== 'linux')(
  'a call without a descriptor left is refused, and the server goes on',
  async () => {
    const mcp = await connect(['--offline']);
    const limit = (files: number): Buffer => execFileSync('prlimit', [`--pid=${mcp.pid}`, `--nofile=${files}:`]);
    expect((await mcp.call('ask', { prompt: 'hi' })).isError).toBeUndefined();
    limit(3);
    const tooManyFiles = 'too many files are open; to raise the limit: ulimit -n 4096';
    const calls = [1, 2, 3].map(() => mcp.call('ask', { prompt: 'hi' }));
    for (const result of await Promise.all(calls)) expect(result).toMatchObject(refused(tooManyFiles));
    limit(1024);
    expect((await mcp.call('ask', { prompt: 'hi' })).isError).toBeUndefined();
    await mcp.client.close();
  },
);

test.each(['--offline', '--read-only'])('a call without its folder is refused: mcp %s', async (flag) => {
  const mcp = await connect([flag], { TMPDIR: '/nowhere' });
  rmSync(mcp.root, { recursive: true });
  expect(await mcp.call('ask', { prompt: 'hi' })).toMatchObject(refused('there is no such file'));
  await mcp.client.close();
});
