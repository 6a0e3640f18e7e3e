import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../src/gateway/app.ts';
import { faultRows } from '../../src/gateway/faults/table.ts';
import { listen, type Listening } from '../../src/gateway/listen.ts';
import { tableRows } from '../helpers/readme.ts';
import { startServe } from '../cassettes/served.ts';
import { run } from '../helpers/run.ts';
import { bin, shell } from '../helpers/spawn.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const dotPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the faults on demand', () => {
  const key = 'local-test-key';
  let gateway: Listening;
  beforeAll(async () => {
    gateway = await listen(createApp({ key, faultDelay: 50 }));
  });
  afterAll(() => gateway.close(0));

  test('stand in the README with the exit codes of the table', () => {
    const shown = tableRows('Exit').flatMap(([exit, models = '']) =>
      [...models.matchAll(/`([^`]+)`/g)].map((match) => [match[1], Number(exit)]),
    );
    expect(Object.fromEntries(shown)).toEqual(
      Object.fromEntries(faultRows.map(({ name, exitCode }) => [name, exitCode])),
    );
  });

  const cases = faultRows.flatMap((row) => row.commands.map((command) => ({ ...row, command })));
  test.concurrent.each(cases)('$name ends $command with $exitCode', async ({ name, command, exitCode, flags }) => {
    const cwd = scratchFolder();
    const input = command === 'image edit' ? ['-i', 'dot.png'] : [];
    const retried = /-(once|twice)$/.test(name);
    const patience = ['--timeout', /-(hang|stall)$/.test(name) ? '4s' : '2m', '--retries', retried ? '2' : '0'];
    writeFileSync(join(cwd, 'dot.png'), Buffer.from(dotPng, 'base64'));
    const argv = [...command.split(' '), `hi ${command}`, '-m', name, ...input, ...(flags?.split(' ') ?? [])];
    const env = { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEY: key };
    const ran = await run([...argv, ...patience], { env, cwd });
    expect(ran.code, ran.stderr).toBe(exitCode);
  });
});

test('serve -- command runs it against the gateway and exits with its code', async () => {
  const script = `node $BIN serve -- bash -c 'node $BIN text hi && node $BIN image gen hi -o a.png; exit 7'`;
  const ran = await shell(script.replaceAll('$BIN', bin));
  expect(ran.code).toBe(7);
  expect(ran.stdout).toMatch(/offline model[\s\S]*a\.png\n$/);
  expect(ran.stderr).toContain('POST /v1beta/models/local-text:generateContent 200');
});

test('serve -- command that is not there is exit 2', async () => {
  const ran = await run(['serve', '--', 'no-such-command-here']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain("cannot run 'no-such-command-here'");
});

test('serve --host 0.0.0.0 tells its command an address that the program takes', async () => {
  const served = 'printf %s "$GATEWAY_BASE_URL" > url';
  const ran = await run(['serve', '--host', '0.0.0.0', '--', '/bin/sh', '-c', served]);
  expect(ran.code, ran.stderr).toBe(0);
  const url = readFileSync(join(ran.cwd, 'url'), 'utf8');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});

test('serve --host 0.0.0.0 tells people where it listens, and gives them what to paste', async () => {
  const stop = new AbortController();
  const ran = await run(['serve', '--host', '0.0.0.0', '--port', '0'], {
    signal: stop.signal,
    onStdout: () => stop.abort(new Error('enough')),
  });
  expect(ran.stdout).toContain('export GATEWAY_BASE_URL=http://127.0.0.1:');
  expect(ran.stderr).toContain('listens on http://0.0.0.0:');
});

test('serve prints an export line, serves, and dies by the signal that ends it', async () => {
  const ran = await shell(
    `node $BIN serve --port 0 -q > out & pid=$!; until grep -q export out; do :; done
     . ./out; curl -s $GATEWAY_BASE_URL/healthz; kill -TERM $pid; wait $pid; echo " $?"`,
  );
  expect(ran).toMatchObject({ code: 0, stdout: '{"status":"ok"} 143\n' });
});

test('serve --json prints one document for scripts', async () => {
  const stop = new AbortController();
  const ran = await run(['serve', '--port', '0', '--json'], {
    signal: stop.signal,
    onStdout: () => stop.abort(new Error('enough')),
  });
  const document = JSON.parse(ran.stdout) as { url: string; env: Record<string, string> };
  expect(document).toMatchObject({ schema: 'gateway-cli/serve@1', ok: true });
  expect(document.env['GATEWAY_BASE_URL']).toBe(document.url);
});

test.each(['99999', '-1', '80.5', 'http', ''])('--port %s is refused, with a port as the example', async (port) => {
  const ran = await run(['serve', `--port=${port}`]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('--port takes a whole number from 0 to 65535');
  expect(ran.stderr).toContain('for example: --port 8787');
});

test('an upstream that nobody serves: the caller learns that nothing was billed', async () => {
  const cwd = scratchFolder();
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address() as AddressInfo;
  free.close();
  await once(free, 'close');
  const profile = { baseUrl: `http://127.0.0.1:${port}`, apiKey: 'k-123456' };
  const config = join(cwd, 'config.json');
  writeFileSync(config, JSON.stringify({ profiles: { work: profile } }), { mode: 0o600 });
  const served = await startServe(['--upstream', 'work'], { cwd, config });
  const env = { ...served.env, GATEWAY_MODEL: 'm' };
  const ran = await run(['text', 'hi', '--retries', '1', '--json'], { cwd, env });
  expect(ran.code).toBe(6);
  expect(ran.stderr).toMatch(/^the gateway is not available \(503\): .*ECONNREFUSED.*; retry 1 of 1 in /m);
  expect(ran.stderr).not.toContain('may have been billed');
  expect(JSON.parse(ran.stdout)).toMatchObject({ attempts: 2, error: { class: 'gateway', billed: 'no' } });
});

test('a port in use is exit 7 and names a free one', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const ran = await run(['serve', '--port', String(port)]);
  taken.close();
  expect(ran).toMatchObject({ code: 7, stdout: '' });
  expect(ran.stderr).toContain('it is in use');
  expect(ran.stderr).toContain('--port 0');
});

test('the key that callers must show may come from stdin', async () => {
  const stop = new AbortController();
  const ran = await run(['serve', '--port', '0', '--json', '--api-key-file', '-'], {
    stdin: 'key-of-my-own\n',
    signal: stop.signal,
    onStdout: () => stop.abort(new Error('enough')),
  });
  expect(JSON.parse(ran.stdout)).toMatchObject({ apiKey: 'key-of-my-own', env: { GATEWAY_API_KEY: 'key-of-my-own' } });
});
