import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { cut, reset } from '../../helpers/scripted-server.ts';
import { recordedFiles } from '../../helpers/recorded-files.ts';
import { run } from '../../helpers/run.ts';
import { canaryKey, eventStream, imageReply, messageEvents, test, textReply } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const folder = scratchFolder;
const dotPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const noGateway = { GATEWAY_MODEL: 'm', GATEWAY_IMAGE_MODEL: 'm' };

function textIn(dir: string): string {
  return recordedFiles(dir)
    .map((name) => readFileSync(join(dir, name), 'utf8'))
    .join('');
}

test('text: a recording is replayed without a gateway, a key or a base URL', async ({ server, cli }) => {
  server.reply({ headers: { 'set-cookie': 's=1' }, body: textReply(`your key is ${canaryKey}`) });
  const live = await cli(['text', 'hi', '--record', 'kept']);
  expect(live).toMatchObject({ code: 0, stderr: '' });
  const text = textIn(join(live.cwd, 'kept'));
  expect(text).not.toContain(canaryKey);
  expect(text).not.toContain('set-cookie');
  const again = await run(['text', 'hi', '--replay', 'kept'], { cwd: live.cwd, env: noGateway });
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toBe(`your key is ${'*'.repeat(canaryKey.length)}\n`);
});

test('a header value that is not a credential is not masked in the reply', async ({ server, cli }) => {
  const cwd = folder();
  writeFileSync(join(cwd, 'headers'), 'x-portkey-provider: openai\nx-team: docs\n');
  server.reply({ body: textReply('Hello from openai, see the docs!') });
  const live = await cli(['text', 'hi', '--record', 'kept', '--header', '@headers'], { cwd });
  expect(live).toMatchObject({ code: 0, stderr: '' });
  const again = await run(['text', 'hi', '--replay', 'kept'], { cwd, env: noGateway });
  expect(again.stdout).toBe('Hello from openai, see the docs!\n');
});

test('a short credential is not masked, with a warning', async ({ server, cli }) => {
  const cwd = folder();
  writeFileSync(join(cwd, 'headers'), 'x-corp-token: ollama\n');
  server.reply({ body: textReply('ollama says text') });
  const argv = ['text', 'hi', '--record', 'kept', '--header', '@headers'];
  const live = await cli(argv, { cwd, env: { GATEWAY_API_KEY: 'text' } });
  expect(live.stderr).toBe(
    'gateway-cli: warning: --record: the key, header x-corp-token are too short or too plain to be masked: a reply that repeats it is recorded as it came\n',
  );
  const again = await run(['text', 'hi', '--replay', 'kept'], { cwd, env: noGateway });
  expect(again.stdout).toBe('ollama says text\n');
});

test('chat: streams are replayed, and a cut one ends as it did', async ({ server, cli }) => {
  const whole = eventStream(...messageEvents('Hel', 'lo'));
  server.reply({ chunks: [whole.slice(0, 300), whole.slice(300)] });
  server.reply({ chunks: [whole.slice(0, whole.indexOf('"lo"')), cut] });
  const cwd = folder();
  const flags = ['--record', 'kept'];
  const live = [await cli(['chat', 'one', ...flags], { cwd }), await cli(['chat', 'two', ...flags], { cwd })];
  expect(live.map(({ code }) => code)).toEqual([0, 11]);
  for (const [index, prompt] of ['one', 'two'].entries()) {
    const again = await run(['chat', prompt, '--replay', 'kept'], { cwd, env: noGateway });
    expect(again).toMatchObject({ code: live[index]?.code, stdout: live[index]?.stdout });
  }
});

test.for([
  ['reset', reset],
  ['closed', cut],
] as const)(
  'a connection that is %s before the head is replayed with the same end',
  async ([, end], { server, cli }) => {
    server.raw(end);
    const live = await cli(['text', 'hi', '--record', 'kept', '--json']);
    const again = await run(['text', 'hi', '--replay', 'kept', '--json'], {
      cwd: live.cwd,
      env: noGateway,
    });
    expect([live.code, again.code]).toEqual([8, 8]);
    expect(JSON.parse(again.stdout)).toMatchObject({ ok: false, error: { class: 'no-reply' } });
    expect(textIn(join(live.cwd, 'kept'))).toMatch(/\n\{"ended":"(cut|reset)"\}\n$/);
  },
);

test('retries are recorded and replayed in their order', async ({ server, cli }) => {
  server.reply({ status: 503, headers: { 'retry-after-ms': '1' }, body: { error: { code: 503, message: 'busy' } } });
  server.reply({ body: textReply('at last') });
  const live = await cli(['text', 'hi', '--record', 'kept']);
  expect(recordedFiles(join(live.cwd, 'kept')).map((name) => name.slice(-7))).toEqual(['1.jsonl', '2.jsonl']);
  const again = await run(['text', 'hi', '--replay', 'kept', '--json'], { cwd: live.cwd, env: noGateway });
  expect(JSON.parse(again.stdout)).toMatchObject({ ok: true, text: 'at last', attempts: 0 });
});

test('image edit: an upload is recorded as its digest, and the picture is replayed', async ({ server, cli }) => {
  const cwd = folder();
  const photo = Buffer.concat([Buffer.from(dotPng, 'base64'), Buffer.alloc(4000, 1)]);
  writeFileSync(join(cwd, 'photo.png'), photo);
  server.reply({ body: imageReply({ mimeType: 'image/png', data: dotPng }) });
  const edit = ['image', 'edit', '-i', 'photo.png', 'gray'];
  expect(await cli([...edit, '-o', 'a.png', '--record', 'kept'], { cwd })).toMatchObject({ code: 0 });
  const digest = createHash('sha256').update(photo).digest('hex');
  expect(textIn(join(cwd, 'kept'))).toContain(`"data":"<${photo.length} bytes, sha256 ${digest}>"`);
  const again = await run([...edit, '-o', 'b.png', '--replay', 'kept'], { cwd, env: noGateway });
  expect(again).toMatchObject({ code: 0, stdout: 'b.png\n' });
  expect(readFileSync(join(cwd, 'b.png'))).toEqual(readFileSync(join(cwd, 'a.png')));
});

test('a reply that Ctrl-C ended is recorded up to that point', async ({ server, cli }) => {
  const stop = new AbortController();
  const started = eventStream(...messageEvents('so far').slice(0, 3));
  server.reply({ chunks: [started, new Promise(() => {})] });
  const ran = await cli(['chat', 'hi', '--record', 'kept'], {
    signal: stop.signal,
    onStdout: () => stop.abort(new GatewayError('interrupted', 'ended by INT')),
  });
  expect(ran).toMatchObject({ code: 130, stdout: 'so far\n' });
  const kept = join(ran.cwd, 'kept');
  expect(recordedFiles(kept)).toEqual([expect.stringMatching(/^messages-m-[0-9a-f]{32}.1\.jsonl$/)]);
  expect(
    textIn(kept)
      .trimEnd()
      .split('\n')
      .slice(2)
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([{ text: started }, { ended: 'left' }]);
});

test('--offline can be recorded too', async () => {
  const live = await run(['text', '--offline', 'hi', '--record', 'kept']);
  const again = await run(['text', '-m', 'local-text', 'hi', '--replay', 'kept'], { cwd: live.cwd });
  expect(again).toMatchObject({ code: 0, stdout: live.stdout });
});

describe('refused before anything is sent', () => {
  test('a request with no recording, naming the nearest and what differs', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    const { cwd } = await cli(['text', 'hi', '--record', 'kept']);
    const ran = await cli(['text', 'ho', '--replay', 'kept', '--json'], { cwd });
    expect(ran.code).toBe(2);
    const { error } = JSON.parse(ran.stdout) as { error: object };
    expect(error).toMatchObject({ class: 'usage', sent: 'no', billed: 'no', hint: 'record it: --record <dir>' });
    expect(ran.stderr).toContain('body.contents.0.parts.0.text: recorded "hi", asked "ho"');
  });

  test('a request in another format than the recording, with what to name', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    const { cwd } = await cli(['text', 'hi', '--record', 'kept']);
    const ran = await cli(['text', 'hi', '--replay', 'kept', '--format', 'messages'], { cwd });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('name what was recorded: the service (--service <name>) or format');
  });

  test.for<[string[], string]>([
    [['--record', 'a', '--replay', 'b'], 'for a cache: --record b --replay b'],
    [['--replay', 'no-such-folder'], 'record into it first'],
    [['--record', '/dev/null/x'], "--record '/dev/null/x'"],
    // It exists, and no process can create a file in it.
    [['--record', '/proc/self'], "--record '/proc/self'"],
    [['--record', '--quiet'], '--record needs a value'],
  ])('%s', async ([flags, message], { cli }) => {
    const ran = await cli(['text', 'hi', ...flags]);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
  });

  test('a replay without a model, naming those of the recordings', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    server.reply({ body: textReply('hello') });
    const { cwd } = await cli(['text', 'hi', '-m', 'one', '--record', 'kept']);
    await cli(['text', 'hi', '-m', 'two', '--record', 'kept'], { cwd });
    const ran = await run(['text', 'hi', '--replay', 'kept'], { cwd });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain("--replay 'kept' needs the model too");
    expect(ran.stderr).toContain('the recordings hold one, two; give --model one or set GATEWAY_MODEL');
  });

  test('a replay without a model of a recording that names none', async () => {
    const cwd = folder();
    mkdirSync(join(cwd, '0'.repeat(32)));
    writeFileSync(join(cwd, '0'.repeat(32), '1.jsonl'), '{}\n');
    const ran = await run(['text', 'hi', '--replay', '.'], { cwd });
    expect(ran.stderr).toContain('\n  give --model <model> or set GATEWAY_MODEL');
  });

  test('folders that cannot be used, in words', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'file'), '');
    mkdirSync(join(cwd, 'locked'), { mode: 0o500 });
    const cases: [string[], string][] = [
      [['text', 'hi', '--replay', 'nodir'], 'there is no such folder'],
      [['text', 'hi', '--replay', 'file'], 'it is not a folder'],
      [['text', 'hi', '--replay', 'locked'], 'there is no recording in it'],
      [['serve', '--port', '0', '--replay', 'nodir'], 'there is no such folder'],
      [['text', '--offline', 'hi', '--record', 'file'], 'it is not a folder'],
      [['text', '--offline', 'hi', '--record', 'file/below'], 'a part of the path is not a folder'],
    ];
    // The superuser can write anywhere.
    if (process.getuid?.() !== 0) {
      for (const name of ['locked', 'locked/x'])
        cases.push([['text', '--offline', 'hi', '--record', name], 'permission to write it']);
    }
    for (const [argv, message] of cases) {
      const ran = await run(argv, { cwd });
      expect(ran, argv.join(' ')).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr, argv.join(' ')).toContain(message);
      expect(ran.stderr).not.toMatch(/\bE[A-Z]{4,}|no model is set/);
    }
  });
});

test('a replay sends nothing and is billed nothing: its failures say so, and its answers have no cost', async ({
  server,
  cli,
}) => {
  const cwd = folder();
  const flags = ['-m', 'm', '--json', '--retries', '0', '--prices', '{"m":{"input":"1","output":"10"}}'];
  server.reply({ body: textReply('paid') });
  server.reply({ status: 500, body: { error: { code: 500, message: 'failing' } } });
  server.raw(reset);
  for (const prompt of ['answered', 'failed', 'lost'])
    await cli(['text', prompt, ...flags, '--record', 'kept'], { cwd });
  const replay = async (prompt: string) => {
    const ran = await run(['text', prompt, ...flags, '--replay', 'kept'], { cwd, env: noGateway });
    return JSON.parse(ran.stdout) as { attempts: number; cost?: object; error?: object };
  };
  const answered = await replay('answered');
  expect(answered).toMatchObject({ text: 'paid', attempts: 0 });
  expect(answered).not.toHaveProperty('cost');
  expect(await replay('failed')).toMatchObject({ attempts: 0, error: { class: 'gateway', sent: 'no', billed: 'no' } });
  expect(await replay('lost')).toMatchObject({ error: { class: 'no-reply', sent: 'no', billed: 'no' } });
});

test('a job whose lost reply is replayed has failed: nothing of it may have been billed', async ({ server, cli }) => {
  const cwd = folder();
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"prompt":"hi"}\n');
  const flags = ['jobs.jsonl', '-m', 'm', '--json', '--retries', '0'];
  server.raw(reset);
  const live = await cli(['batch', ...flags, '-o', 'live', '--record', 'kept'], { cwd });
  const again = await run(['batch', ...flags, '-o', 'again', '--replay', 'kept'], { cwd, env: noGateway });
  expect(JSON.parse(live.stdout)).toMatchObject({ unknown: 1, failed: 0 });
  expect(JSON.parse(again.stdout)).toMatchObject({ unknown: 0, failed: 1 });
});
