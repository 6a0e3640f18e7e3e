import { chmodSync, chownSync, existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { textReply } from '../helpers/with-server.ts';
import { ask, bash, folder, serve } from './program.ts';

const isRoot = process.getuid?.() === 0;

async function place() {
  const server = await serve();
  const cwd = folder();
  const path = join(cwd, 'c.json');
  const apiKeyCommand = ['sh', '-c', `touch ${join(cwd, 'ran')}; echo a-key-of-a-command`];
  writeFileSync(path, JSON.stringify({ profiles: { default: { baseUrl: server.url, apiKeyCommand } } }), {
    mode: 0o600,
  });
  const env = { GATEWAY_CONFIG: 'c.json', GATEWAY_API_KEY: '', GATEWAY_BASE_URL: '' };
  return {
    server,
    path,
    ran: () => existsSync(join(cwd, 'ran')),
    asked: (line = 'text x') => ask(line, server, { cwd, env }),
    typed: (line: string) => bash(`$CLI ${line}`, server, { cwd, env }),
  };
}

test.each([0o666, 0o620, 0o602])('config mode %o never runs apiKeyCommand', async (mode) => {
  const { server, path, ran, asked } = await place();
  chmodSync(path, mode);
  const { code, stderr } = await asked();
  expect([code, ran(), server.connections]).toEqual([3, false, 0]);
  const shown = mode.toString(8);
  expect(stderr).toContain(
    `gateway-cli: auth: apiKeyCommand is not run: others can write ${path} (mode ${shown})\n  chmod 600 `,
  );
});

test.runIf(isRoot)('a config of another owner never runs apiKeyCommand', async () => {
  const { server, path, ran, typed } = await place();
  chownSync(path, 1234, 0);
  for (const words of ['text x', 'serve --upstream default', 'image gen x']) {
    const { code, stdout, stderr } = await typed(words);
    expect([words, code, ran(), server.connections]).toEqual([words, 3, false, 0]);
    expect(stdout + stderr).toContain(`${path} belongs to another user (uid 1234)`);
  }
});

test('what only its owner can write runs its apiKeyCommand', async () => {
  for (const mode of [0o600, 0o644, 0o400]) {
    const { server, path, ran, asked } = await place();
    chmodSync(path, mode);
    server.reply({ body: textReply('Hello') });
    expect([(await asked()).code, ran()]).toEqual([0, true]);
  }
});

test('a link to a config that others can write runs nothing', async () => {
  const { path, ran, server } = await place();
  chmodSync(path, 0o622);
  const cwd = folder();
  symlinkSync(path, join(cwd, 'c.json'));
  const env = { GATEWAY_CONFIG: 'c.json', GATEWAY_API_KEY: '', GATEWAY_BASE_URL: '' };
  expect([(await ask('text x', server, { cwd, env })).code, ran()]).toEqual([3, false]);
});

test('a change by config makes no command of others one of the user', async () => {
  const { path, ran, asked } = await place();
  chmodSync(path, 0o666);
  const refused = await asked('config set models.text m');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(
    `apiKeyCommand of profile default would be run from now on, and others can write ${path}`,
  );
  expect((await asked('config unset apiKeyCommand')).code).toBe(0);
  expect((await asked('config set models.text m')).code).toBe(0);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(ran()).toBe(false);
});
