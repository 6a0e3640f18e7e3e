import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../../../src/gateway/app.ts';
import { listen, type Listening } from '../../../../src/gateway/listen.ts';
import { faultRows } from '../../../gateway/faults/topic.ts';
import { startServe, writeConfig } from '../../../library/recordings/served.ts';
import { png } from '../../../replies/deviation.ts';
import { type Ran, run, type RunOptions } from '../../../helpers/run.ts';
import { bin, shell } from '../../../helpers/spawn.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

/** What `serve` printed when it was stopped after its first words. */
function printed(flags: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const stop = new AbortController();
  const onStdout = () => stop.abort(new Error('enough'));
  return run(['serve', '--port', '0', ...flags], { ...options, signal: stop.signal, onStdout });
}

describe('the faults on demand', () => {
  const key = 'local-test-key';
  let gateway: Listening;
  beforeAll(async () => {
    gateway = await listen(createApp({ key, faultDelay: 50 }));
  });
  afterAll(() => gateway.close(0));

  test('are not listed in the help of serve, which names their topic', async () => {
    const { stdout } = await run(['serve', '--help', '--verbose']);
    expect(stdout).toContain('gateway-cli help faults');
    expect(stdout).not.toContain('fault-400');
    expect(stdout.split('\n').length).toBeLessThan(90);
  });

  const cases = faultRows.flatMap((row) => row.commands.map((command) => ({ ...row, command })));
  type Case = (typeof cases)[number];

  /** What takes seconds for its waits runs beside the others from the start. */
  const waits = /-(hang|stall|twice)$/;
  const waiting = new Map<Case, Promise<Ran>>();
  beforeAll(() => {
    for (const row of cases) if (waits.test(row.name)) waiting.set(row, runFault(row));
  });

  test.concurrent.each(cases.map((row) => [row.name, row.command, row.exitCode, row] as const))(
    '%s ends %s with %d',
    async (_name, _command, exitCode, row) => {
      const ran = await (waiting.get(row) ?? runFault(row));
      expect(ran.code, ran.stderr).toBe(exitCode);
    },
  );

  /** A machine that has much to do may not get as far as the fault within a time: then it gets more. */
  async function runFault(row: Case): Promise<Ran> {
    if (!/-(hang|stall)$/.test(row.name)) return runWithin('2m', row);
    for (const limit of ['4s', '10s']) {
      const ran = await runWithin(limit, row);
      if (ran.code === row.exitCode) return ran;
    }
    return runWithin('40s', row);
  }

  async function runWithin(limit: string, { name, command, flags }: Case): Promise<Ran> {
    const cwd = scratchFolder();
    const input = command === 'image edit' ? ['-i', 'dot.png'] : [];
    const retried = /-(once|twice)$/.test(name);
    const patience = ['--timeout', limit, '--retries', retried ? '2' : '0'];
    writeFileSync(join(cwd, 'dot.png'), Buffer.from(png, 'base64'));
    // Small pictures, for they are drawn.
    const size = command.startsWith('image') ? ['--size', '512'] : [];
    const argv = [
      ...command.split(' '),
      `hi ${command}`,
      '-m',
      name,
      ...input,
      ...size,
      ...flags.split(' ').filter(Boolean),
    ];
    return run([...argv, ...patience], { env: { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEY: key }, cwd });
  }
});

test('serve -- command runs it against the gateway and exits with its code', async () => {
  const served = ['text hi', 'chat hi', 'image gen hi --size 512 -o a.png', 'image edit gray -i a.png -o b.png'];
  const script = `node $BIN serve -- bash -c '${served.map((words) => `node $BIN ${words}`).join(' && ')}; exit 7'`;
  const env = { GATEWAY_CHAT_MODEL: 'mine', GATEWAY_EDIT_MODEL: 'mine' };
  const ran = await shell(script.replaceAll('$BIN', bin), { env });
  expect(ran.code).toBe(7);
  expect(ran.stdout).toMatch(/local-text[\s\S]*local-chat[\s\S]*a\.png\nb\.png\n$/);
  expect(ran.stderr).toContain('POST /v1beta/models/local-text:generateContent 200');
});

describe('the header names that are served', () => {
  const config = (cwd: string): string =>
    writeConfig(cwd, { work: { headerNames: { apiKey: 'x-of-the-profile', version: 'version-of-the-profile' } } });

  test.each([
    [['--header-names', 'a-key,a-version'], 'a-key,a-version', 'text chat "image gen"'],
    [['--header-names', 'a-key'], 'a-key,vendor-b-version', 'chat'],
    [['--header-names', ',a-version'], 'x-vendor-a-api-key,a-version', 'text'],
  ])('of %j reach the command, whatever its profile says', async (names, told, commands) => {
    const cwd = scratchFolder();
    const script = `set -e; printf %s "$GATEWAY_HEADER_NAMES" > names
      for command in ${commands}; do ${process.execPath} ${bin} $command hi --profile work -q > out; done`;
    const env = { GATEWAY_CONFIG: config(cwd) };
    const ran = await shell(`$BIN serve ${names.join(' ')} -q -- bash -c '${script}'`, { cwd, env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(cwd, 'names'), 'utf8')).toBe(told);
  });

  test('are in the export line', async () => {
    const cwd = scratchFolder();
    const served = await startServe(['--header-names', 'a-key,a-version'], { cwd, config: config(cwd) });
    const ran = await run(['chat', 'hi', '--profile', 'work'], {
      cwd,
      env: { ...served.env, GATEWAY_CONFIG: config(cwd), GATEWAY_CHAT_MODEL: 'local-chat' },
    });
    expect(ran.code, ran.stderr).toBe(0);
    expect(served.env).toMatchObject({ GATEWAY_HEADER_NAMES: 'a-key,a-version' });
  });

  test('receive no more than needed', async () => {
    const cwd = scratchFolder();
    const served = await startServe([], { cwd, config: config(cwd) });
    expect(served.env).not.toHaveProperty('GATEWAY_HEADER_NAMES');
  });
});

test('a command that is served takes the format of the gateway, whatever variable names another', async () => {
  const env = { GATEWAY_FORMAT: 'completions' };
  const ran = await shell(`$BIN serve -q -- ${process.execPath} ${bin} chat hi -q`, {
    cwd: scratchFolder(),
    env,
  });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
});

test('serve -- command that is not there is exit 2', async () => {
  const ran = await run(['serve', '--', 'no-such-command-here']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain("cannot run 'no-such-command-here'");
});

test('serve --host 0.0.0.0 gives its command an address that the program takes', async () => {
  const served = 'printf %s "$GATEWAY_BASE_URL" > url';
  const ran = await run(['serve', '--host', '0.0.0.0', '--', '/bin/sh', '-c', served]);
  expect(ran.code, ran.stderr).toBe(0);
  const url = readFileSync(join(ran.cwd, 'url'), 'utf8');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});

test('serve --host 0.0.0.0 prints where it listens, and what to paste', async () => {
  const ran = await printed(['--host', '0.0.0.0']);
  expect(ran.stdout).toContain('export GATEWAY_BASE_URL=http://127.0.0.1:');
  expect(ran.stderr).toContain('listens on http://0.0.0.0:');
});

describe('serve for other machines', () => {
  /** The answer to a caller that names a host, and what was warned of. */
  async function askAs(
    host: string,
    flags: readonly string[],
  ): Promise<{ status: number | undefined; warned: string }> {
    const cwd = scratchFolder();
    const served = await startServe(['--host', '0.0.0.0', ...flags], { cwd, config: writeConfig(cwd, {}) });
    const asked = request(`http://127.0.0.1:${served.port}/healthz`, { headers: { host } }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    return { status: response.statusCode, warned: (await served.stop()).stderr };
  }

  test.each([
    ['devbox.lan:1234', ['--allow-host', 'devbox.lan'], 200],
    ['devbox.lan', ['--allow-host', 'other', '--allow-host', 'DevBox.lan'], 200],
    ['192.168.1.20:8787', ['--allow-host', '192.168.1.20:8787'], 200],
    ['[fe80::1]:1', ['--allow-host', 'FE80::1'], 200],
    ['[fe80::1]:1', ['--allow-host', '[fe80::1]'], 200],
    ['evil.example', ['--allow-host', 'devbox.lan'], 403],
    ['devbox.lan', [], 403],
  ])('answers %s under %j with %d, and warns that keys travel unencrypted', async (host, flags, status) => {
    const asked = await askAs(host, flags);
    expect(asked.status).toBe(status);
    expect(asked.warned).toMatch(/warning: http:\/\/0\.0\.0\.0:\d+ is open to other machines: keys, .* unencrypted/);
    expect(asked.warned.includes('refused until --allow-host')).toBe(flags.length === 0);
  });

  test('says nothing of the kind on loopback', async () => {
    const cwd = scratchFolder();
    const served = await startServe([], { cwd, config: writeConfig(cwd, {}) });
    expect((await served.stop()).stderr).not.toContain('warning');
  });

  test.each(['', '*', 'http://devbox', 'a b', 'devbox/x', 'a,b', 'devbox:port'])(
    '--allow-host %j is refused',
    async (name) => {
      const ran = await run(['serve', `--allow-host=${name}`]);
      expect(ran).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toContain('--allow-host takes a host name or an address');
    },
  );
});

test('serve names the flag where it cannot listen', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const inUse = await run(['serve', '--port', String(port)]);
  expect([inUse.code, inUse.stdout]).toEqual([7, '']);
  expect(inUse.stderr).toContain('it is in use');
  expect(inUse.stderr).toContain('--port 0 picks a free port');
  // Too long for a DNS name, so there is no query.
  const noHost = await run(['serve', '--port', '0', '--host', `${'x'.repeat(70)}.invalid`]);
  expect(noHost.stderr).toContain('check --host: it takes an address of this machine, such as 127.0.0.1');
  taken.close();
});

test('serve prints an export line, serves, and dies by the signal that ends it', async () => {
  const ran = await shell(
    `node $BIN serve --port 0 -q > out & pid=$!; until grep -q export out; do :; done
     . ./out; curl -s $GATEWAY_BASE_URL/healthz; kill -TERM $pid; wait $pid; echo " $?"`,
  );
  expect(ran).toMatchObject({ code: 0, stdout: '{"status":"ok"} 143\n' });
});

test('the export line is safe to evaluate, whatever a recording or a profile calls its model', async () => {
  const model = "m'; touch made; echo $(touch made) `touch made` \u001b[2J\n#";
  const cwd = scratchFolder();
  const config = writeConfig(cwd, {
    work: { baseUrl: 'http://127.0.0.1:9', apiKey: 'k-123456', models: { text: model } },
  });
  const ran = await printed(['--upstream', 'work'], { cwd, env: { GATEWAY_CONFIG: config } });
  expect(ran.stdout).toMatch(/^export .*\n$/);
  expect(ran.stdout).not.toContain('\u001b');
  const read = await shell(`${ran.stdout}printf %s "$GATEWAY_MODEL"`, { cwd });
  expect(read).toMatchObject({ code: 0, stdout: model });
  expect(existsSync(join(cwd, 'made'))).toBe(false);
});

test('serve --json prints one document for scripts', async () => {
  const ran = await printed(['--json']);
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

test('an upstream without a server: the caller learns that nothing was billed', async () => {
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
  const ran = await run(['text', 'hi', '--retries', '1', '--json'], { cwd, env, tty: { stderr: true }, columns: 500 });
  expect(ran.code).toBe(6);
  expect(ran.stderr).toMatch(/^the gateway is not available \(503\): .*ECONNREFUSED.*; retry 1 of 1 in /m);
  expect(ran.stderr).not.toContain('may have been billed');
  expect(JSON.parse(ran.stdout)).toMatchObject({ attempts: 2, error: { class: 'gateway', billed: 'no' } });
});

test('the key that callers must show may come from stdin', async () => {
  const ran = await printed(['--json', '--api-key-file', '-'], { stdin: 'key-of-my-own\n' });
  expect(JSON.parse(ran.stdout)).toMatchObject({ apiKey: 'key-of-my-own', env: { GATEWAY_API_KEY: 'key-of-my-own' } });
});
