import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tls from 'node:tls';
import { expect } from 'vitest';
import { formatNames } from '../../../src/library/formats/format.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test, textReply } from '../../helpers/with-server.ts';
import { replies } from '../request/answers.ts';
import { startServe, upstreamKey, writeConfig } from '../../library/recordings/served.ts';

const away = { GATEWAY_BASE_URL: 'http://gateway.test' };

/** Writes a config whose one profile, the default, says this. */
function configWith(profile: object): { GATEWAY_CONFIG: string } {
  const path = join(scratchFolder(), 'config.json');
  writeFileSync(path, JSON.stringify({ profiles: { default: profile } }), { mode: 0o600 });
  return { GATEWAY_CONFIG: path };
}

test('--proxy comes before the variables and the profile', async ({ server, cli }) => {
  server.reply({ body: textReply('hello') });
  const env = { ...away, HTTP_PROXY: 'http://127.0.0.1:1', ...configWith({ proxy: 'http://127.0.0.1:1' }) };
  const ran = await cli(['text', 'hi', '--allow-http', '--proxy', `127.0.0.1:${server.port}`], { env });
  expect(ran).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
  expect(server.requests[0]?.path).toMatch(/^http:\/\/gateway\.test\//);
});

test("a profile's proxy comes before the variables, and what fails names it", async ({ server, cli }) => {
  server.raw('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n');
  const config = configWith({ proxy: server.url });
  const env = { ...away, HTTP_PROXY: 'http://127.0.0.1:1', ...config };
  const ran = await cli(['text', 'hi', '--allow-http'], { env });
  expect(ran).toMatchObject({ code: 7, stdout: '' });
  const place = `127.0.0.1:${server.port}`;
  expect(ran.stderr).toContain(`the proxy ${place} (profile default (${config.GATEWAY_CONFIG})) wants a user name`);
  expect(ran.stderr).toContain(`set HTTP_PROXY=http://user:password@${place}, and leave out --proxy`);
});

test('serve --upstream goes through --proxy', async ({ server }) => {
  server.reply({ body: textReply('hello') });
  const cwd = scratchFolder();
  const work = { baseUrl: 'http://gateway.test', apiKey: upstreamKey, allowHttp: true };
  const served = await startServe(['--upstream', 'work', '--proxy', server.url], {
    cwd,
    config: writeConfig(cwd, { work }),
  });
  const answer = await fetch(`${served.url}/v1beta/models/m:generateContent`, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.key}`, 'content-type': 'application/json' },
    body: '{"contents":[{"parts":[{"text":"hi"}]}]}',
  });
  expect(await answer.text()).toContain('hello');
  expect(server.requests[0]?.path).toMatch(/^http:\/\/gateway\.test\//);
});

test('an invalid proxy ends a batch before its first job', async ({ server, cli }) => {
  const stdin = '{"id":"1","command":"text","prompt":"hi"}\n';
  const ran = await cli(['batch', '-', '-o', 'out', '--proxy', 'socks5://127.0.0.1:1'], { stdin });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('flag --proxy names a socks5:// proxy');
  expect(server.requests).toEqual([]);
});

test.skipIf('getCACertificates' in tls)(
  '--system-ca and systemCa are refused before anything is sent where Node has no access to the store',
  async ({ server, cli }) => {
    for (const [flags, profile] of [
      [['--system-ca'], {}],
      [[], { systemCa: true }],
    ] as const) {
      const ran = await cli(['text', 'hi', ...flags], { env: configWith(profile) });
      expect(ran).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toContain("this version of Node cannot read the system's certificate store");
      expect(ran.stderr).toMatch(/use Node 22\.15 or later; .*--cacert <file> or NODE_EXTRA_CA_CERTS/);
    }
    expect(server.requests).toEqual([]);
    expect(await cli(['text', 'hi', '--offline', '--system-ca'])).toMatchObject({ code: 0 });
  },
);

test.for([
  ['--cacert', []],
  ['--client-cert', ['--client-key', 'der.crt']],
] as const)('a %s without a PEM certificate is named', async ([flag, more], { server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'der.crt'), 'nope');
  const ran = await cli(['text', 'hi', flag, 'der.crt', ...more], { cwd });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`${flag} 'der.crt' contains no valid PEM certificate\n  give certificates as PEM`);
  expect(server.requests).toEqual([]);
});

test('the hint of a refused key repeats the flags that led to the gateway', async ({ server, cli }) => {
  server.reply({ status: 401, body: { error: {} } });
  const ran = await cli(['text', 'hi', '--base-url', `${server.url}/v1`], { env: { GATEWAY_BASE_URL: '' } });
  expect(ran).toMatchObject({ code: 3 });
  expect(ran.stderr).toContain(`gateway-cli doctor --live --base-url ${server.url}/v1 tries every way to send it\n`);
});

for (const format of formatNames) {
  test(`--auth says how the key goes out in the ${format} format`, async ({ server, cli }) => {
    for (const command of ['text', 'chat']) {
      for (const [form, isBearer] of [
        ['api-key', false],
        ['bearer', true],
      ] as const) {
        server.reply({ body: replies[format] });
        expect(await cli([command, 'hi', '--auth', form, '--format', format])).toMatchObject({ code: 0 });
        expect(server.requests.at(-1)?.headers['authorization'] !== undefined).toBe(isBearer);
      }
    }
  });
}
