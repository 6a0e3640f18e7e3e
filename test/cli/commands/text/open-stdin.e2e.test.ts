import { execFile } from 'node:child_process';
import { expect } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { bareEnv, bin } from '../../../helpers/spawn.ts';
import { canaryKey, eventStream, messageEvents, test, textReply } from '../../../helpers/with-server.ts';

/** Runs the program as Node's `execFile` does: its stdin is a socket that stays open and silent. */
function exec(argv: readonly string[], url: string): Promise<{ stdout: string; stderr: string }> {
  const cwd = scratchFolder();
  const settings = { GATEWAY_BASE_URL: url, GATEWAY_API_KEY: canaryKey, GATEWAY_MODEL: 'm' };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [bin, ...argv], { cwd, env: bareEnv(cwd, settings) }, (error, stdout, stderr) => {
      if (error) reject(error);
      else resolve({ stdout, stderr });
    });
  });
}

test('a prompt is enough for a program that leaves the stdin of its child open', async ({ server }) => {
  server.reply({ body: JSON.stringify(textReply('hello')) });
  const ran = await exec(['text', 'hi'], server.url);
  expect(ran.stdout).toBe('hello\n');
  expect(ran.stderr).toBe('nothing came on stdin, so it is not read (--no-stdin does not wait for it)\n');
});

test('--no-stdin does not wait at all', async ({ server }) => {
  server.reply({ body: eventStream(...messageEvents('hello')) });
  expect(await exec(['--no-stdin', 'chat', 'hi'], server.url)).toEqual({ stdout: 'hello\n', stderr: '' });
});
