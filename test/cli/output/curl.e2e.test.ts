import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { canaryKey, test, textReply } from '../../helpers/with-server.ts';
import { startScriptedServer } from '../../helpers/scripted-server.ts';
import { authority, serverPair } from '../../library/transport/certificates.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { shell } from '../../helpers/spawn.ts';
import { png } from '../../replies/deviation.ts';

/** What `command -v curl` finds. */
const hasCurl = (await shell('command -v curl')).code === 0;

test('a request that fits is in the command itself, a large one comes through a pipe', async ({ cli }) => {
  const cwd = scratchFolder();
  const shown = async (bytes: number) => {
    writeFileSync(join(cwd, 'p.txt'), 'x'.repeat(bytes));
    const ran = await cli(['text', '--prompt-file', 'p.txt', '--curl'], { cwd });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).not.toContain(canaryKey);
    return ran.stdout;
  };
  const around = '{"contents":[{"role":"user","parts":[{"text":""}]}]}'.length;
  expect(await shown(65_536 - around)).toMatch(/\n {2}--data-raw '\{.*\}'\n$/);
  expect(await shown(65_537 - around)).toMatch(/^\{ printf %s '.*'; \} \|\ncurl -sS [^]* --data-binary @-\n$/);
});

test
  .skipIf(!hasCurl)
  .for([['text'], ['chat', '--no-stream'], ['text', '--attach', "it's.txt"], ['text', '--auth', 'bearer']])(
  '%j: what the command sends is what the program would send',
  async (argv, { server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, "it's.txt"), "attached 'words'");
    const words = [...argv, 'say "it\'s $HOME"', '--header', "x-note: it's `date`"];
    const { stdout } = await cli([...words, '--curl'], { cwd });
    const body =
      argv[0] === 'chat' ? { id: 'm', role: 'assistant', content: [{ type: 'text', text: 'a' }] } : textReply('a');
    for (let n = 0; n < 2; n++) server.reply({ body });
    expect((await shell(stdout, { cwd, env: { GATEWAY_API_KEY: canaryKey } })).code).toBe(0);
    await cli(words, { cwd });
    const [byCurl, byUs] = server.requests;
    expect(byCurl?.json()).toEqual(byUs?.json());
    for (const name of [
      'x-vendor-a-api-key',
      'x-api-key',
      'authorization',
      'vendor-b-version',
      'x-note',
      'content-type',
    ])
      expect([name, byCurl?.headers[name]]).toEqual([name, byUs?.headers[name]]);
  },
);

test.skipIf(!hasCurl)(
  'a form goes out by the command as by the program, its file as it is',
  async ({ server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, "it's.png"), Buffer.from(png, 'base64'));
    const words = ['image', 'edit', '-i', "it's.png", 'say "it\'s"', '--service', 'openai', '-m', 'm', '-o', 'out.png'];
    for (let n = 0; n < 2; n++) server.reply({ body: { created: 1, data: [{ b64_json: png }] } });
    const { stdout } = await cli([...words, '--curl'], { cwd });
    const ran = await shell(stdout, { cwd, env: { GATEWAY_API_KEY: canaryKey, OPENAI_API_KEY: canaryKey } });
    expect(ran.code).toBe(0);
    expect(await cli(words, { cwd })).toMatchObject({ code: 0 });
    const [byCurl, byUs] = server.requests;
    expect(byCurl?.path).toBe('/v1/images/edits');
    expect(byCurl?.body.includes(Buffer.from(png, 'base64'))).toBe(true);
    expect(byCurl?.body.equals(byUs?.body ?? Buffer.alloc(0))).toBe(true);
    for (const name of ['authorization', 'content-type', 'content-length'])
      expect([name, byCurl?.headers[name]]).toEqual([name, byUs?.headers[name]]);
  },
);

test.skipIf(!hasCurl)('what a URL names is fetched by the command, too', async ({ server, cli }) => {
  const host = await startScriptedServer({ tls: serverPair });
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'ca.pem'), authority);
  const words = ['image', 'edit', '-i', `${host.url}/it's.png?size=2`, 'gray', '--cacert', 'ca.pem'];
  for (let n = 0; n < 2; n++) host.reply({ body: Buffer.from(png, 'base64') });
  server.reply({ body: textReply('ok') });
  const { stdout } = await cli([...words, '--curl'], { cwd });
  expect(stdout).not.toContain(png);
  const env = { GATEWAY_API_KEY: canaryKey, CURL_CA_BUNDLE: join(cwd, 'ca.pem') };
  expect((await shell(stdout, { cwd, env })).code).toBe(0);
  expect(server.requests[0]?.json()).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'gray' }, { inlineData: { mimeType: 'image/png', data: png } }] }],
  });
  await host.close();
});

test.for([
  ['image edit -i', ['image', 'edit', '-i', '-', 'gray']],
  ['chat -i', ['chat', '-i', '-', 'what is it?']],
  ['text --attach', ['text', '--attach', '-', 'what is it?']],
] as const)('%s - is refused: no file is left that the command could read', async ([, argv], { cli }) => {
  const stdin = Buffer.from(png, 'base64');
  const ran = await cli([...argv, '--curl'], { stdin });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('what comes through stdin or a pipe has no file');
  expect(ran.stderr).toContain('save it first (cat > input.png), and name that file instead');
  expect(await cli([...argv, '--dry-run'], { stdin })).toMatchObject({ code: 0, stderr: '' });
});

test('a picture through a pipe is refused too', async ({ cli }) => {
  const cwd = scratchFolder();
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  const writing = writeFile(join(cwd, 'pipe'), Buffer.from(png, 'base64'));
  expect(await cli(['image', 'edit', '-i', 'pipe', 'gray', '--curl'], { cwd })).toMatchObject({ code: 2, stdout: '' });
  await writing;
});

test('text from stdin is put into the command without a note', async ({ cli }) => {
  const ran = await cli(['chat', '--attach', '-', 'sum it up', '--curl'], { stdin: 'a,b' });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain('a,b');
});

const secretHeaders = { 'x-corp-token': "it's %s `secret`", authorization: 'Bearer corp-secret' };
const plainHeaders = { 'x-team': 'docs' };

test.skipIf(!hasCurl).for([
  [
    'the profile',
    (cwd: string, url: string) => {
      const profile = { baseUrl: url, headers: { ...secretHeaders, ...plainHeaders } };
      writeFileSync(join(cwd, 'config.json'), JSON.stringify({ profiles: { default: profile } }), { mode: 0o600 });
      return { argv: [], env: { GATEWAY_CONFIG: join(cwd, 'config.json') }, from: 'profile default' };
    },
  ],
  [
    'a file',
    (cwd: string) => {
      const lines = Object.entries(secretHeaders).map(([name, value]) => `${name}: ${value}\n`);
      writeFileSync(join(cwd, 'headers'), lines.join(''));
      return { argv: ['--header', '@headers', '--header', 'x-team: docs'], env: {}, from: 'flag --header' };
    },
  ],
] as const)('secret headers of %s are read from the environment of the command', async ([, place], { server, cli }) => {
  const cwd = scratchFolder();
  const { argv, env, from } = place(cwd, server.url);
  const shown = await cli(['text', 'hi', ...argv, '--curl'], { cwd, env });
  expect(shown.code).toBe(0);
  expect(shown.stdout + shown.stderr).not.toContain('secret');
  expect(shown.stdout).toContain("-H 'x-team: docs'");
  const set = 'in the shell that runs this command; here header';
  expect(shown.stderr).toContain(`warning: set X_CORP_TOKEN ${set} x-corp-token is from ${from}`);
  expect(shown.stderr).toContain(`warning: set AUTHORIZATION ${set} authorization is from ${from}`);
  server.reply({ body: textReply('a') });
  const values = {
    GATEWAY_API_KEY: canaryKey,
    X_CORP_TOKEN: secretHeaders['x-corp-token'],
    AUTHORIZATION: 'corp-secret',
  };
  expect((await shell(shown.stdout, { cwd, env: values })).code).toBe(0);
  expect(server.requests[0]?.headers).toMatchObject({
    ...secretHeaders,
    ...plainHeaders,
    'x-vendor-a-api-key': canaryKey,
  });
});

test('a header from a file that is not a credential is read from the environment, too', async ({ cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'headers'), "x-0'%corp: hunter2\n");
  const { stdout } = await cli(['text', 'hi', '--header', '@headers', '--curl'], { cwd });
  expect(stdout).toContain(String.raw`-H @<(printf 'x-0'\''%%corp: %s' "$X_0__CORP")`);
  expect(stdout).not.toContain('hunter2');
});

test('says that GATEWAY_API_KEY must be set where the key is from somewhere else', async ({ server, cli }) => {
  const cwd = scratchFolder();
  const config = join(cwd, 'config.json');
  writeFileSync(join(cwd, 'key'), canaryKey);
  const profile = { baseUrl: server.url, apiKeyCommand: ['touch', join(cwd, 'ran')] };
  writeFileSync(config, JSON.stringify({ profiles: { default: profile } }), { mode: 0o600 });
  const argv = ['text', 'x', '--curl'];
  const usual = await cli(argv, { cwd });
  expect(usual).toMatchObject({ code: 0, stderr: '' });
  const told = async (flags: string[], env: Record<string, string>) => {
    const ran = await cli([...argv, ...flags], { cwd, env });
    expect(ran).toMatchObject({ code: 0, stdout: usual.stdout });
    return ran.stderr;
  };
  const start = 'gateway-cli: warning: set GATEWAY_API_KEY in the shell that runs this command';
  const unset = { GATEWAY_API_KEY: '' };
  expect(await told(['--api-key-file', 'key'], {})).toBe(`${start}; here the key is from flag --api-key-file\n`);
  expect(await told([], { ...unset, GATEWAY_API_KEY_FILE: 'key' })).toContain(
    `${start}; here the key is from environment GATEWAY_API_KEY_FILE`,
  );
  expect(await told([], { ...unset, GATEWAY_CONFIG: config })).toContain(
    `${start}; here the key is from profile default`,
  );
  expect(await told([], unset)).toBe(`${start}; here no API key is set\n`);
  expect(existsSync(join(cwd, 'ran'))).toBe(false);
});

test('--curl needs no other variable where the key is in the variable of the service', async ({ cli }) => {
  const env = { GATEWAY_BASE_URL: '', GATEWAY_API_KEY: '', GATEWAY_MODEL: '', OPENAI_API_KEY: canaryKey };
  const { stdout, stderr } = await cli(['text', 'x', '--curl'], { env });
  expect(stdout).toContain(`-H @<(printf 'authorization: Bearer %s' "$OPENAI_API_KEY")`);
  expect(stderr).not.toContain('warning');
});
