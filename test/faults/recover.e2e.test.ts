import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import { ask, bash, canMount, folder, namesIn, serve, smallDisk } from './program.ts';
import { isFull } from '../helpers/full.ts';
import type { ScriptedReply } from '../helpers/scripted-server.ts';
import { run } from '../helpers/run.ts';

const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d494844520000001000000010080600000000000000', 'hex'),
  Buffer.from('000927c049444154', 'hex'),
  randomBytes(600_000),
  Buffer.from('000000000000000049454e44ae426082', 'hex'),
]);
const picture = { mimeType: 'image/png', data: png.toString('base64') };
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** What the program left in a folder for temporary files; later Nodes keep compiled code there too. */
const leftIn = (temp: string) => namesIn(temp).filter((name) => name !== 'node-compile-cache');

/** The command that stderr names. */
function recoverCommand(stderr: string): string {
  const file = /gateway-cli recover (\S+)/.exec(stderr)?.[1];
  if (file === undefined) throw new Error(`no recovery file is named: ${stderr}`);
  return file;
}

describe.skipIf(!canMount && !isFull)('on a full disk (needs a mountable tmpfs)', () => {
  test('keeps a picture that the disk cannot take, and recover gives the same bytes', async () => {
    const server = await serve();
    const disk = smallDisk('256k');
    server.reply({ body: imageReply(picture) });
    const home = folder();
    const ran = await bash(`$CLI image gen x -o ${disk}/cat.png`, server, { cwd: home });
    expect(ran).toMatchObject({ code: 12, stdout: '' });
    expect(ran.stderr).toMatch(/^gateway-cli: not-written: cannot write .*cat\.png": the disk is full/);
    expect(namesIn(disk)).toEqual([]);
    const file = recoverCommand(ran.stderr);
    expect(file.startsWith(`${home}/.local/state/gateway-cli/recovered/`)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    const again = await run(['recover', file, '-o', 'cat.png'], { cwd: home });
    expect(again).toMatchObject({ code: 0, stdout: 'cat.png\n', stderr: '' });
    expect(sha(readFileSync(join(home, 'cat.png')))).toBe(sha(png));
    expect(server.requests).toHaveLength(1);
    expect(namesIn(home)).toEqual(['.local', 'cat.png']);
  });

  test('--force leaves the old file as it was when the disk is full', async () => {
    const server = await serve();
    const disk = smallDisk('256k');
    writeFileSync(join(disk, 'cat.png'), 'precious');
    server.reply({ body: imageReply(picture) });
    const ran = await ask(`image gen x -f -o ${disk}/cat.png --json`, server);
    expect(ran.code).toBe(12);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      ok: false,
      exitCode: 12,
      images: [],
      error: { class: 'not-written', sent: 'yes', billed: 'yes', hint: expect.stringContaining('gateway-cli recover') },
    });
    expect(namesIn(disk)).toEqual(['cat.png']);
    expect(readFileSync(join(disk, 'cat.png'), 'utf8')).toBe('precious');
  });

  test('keeps all replies that came in one recovery file, and pays for no more', async () => {
    const server = await serve();
    const disk = smallDisk('1300k');
    server.always({ body: imageReply(picture) });
    const ran = await ask(`image gen x -n 12 -o ${disk}/`, server);
    expect(ran.code).toBe(12);
    const written = ran.stdout.trim().split('\n');
    const file = recoverCommand(ran.stderr);
    const again = await run(['recover', file, '-o', 'all/'], { cwd: ran.cwd });
    const recovered = again.stdout.trim().split('\n');
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(written.length + recovered.length).toBe(server.requests.length);
    expect(server.requests.length).toBeLessThan(12);
    for (const name of recovered) expect(sha(readFileSync(join(ran.cwd, name)))).toBe(sha(png));
  });

  test('a batch whose disk is full keeps the picture that came, and does not call the job done', async () => {
    const server = await serve();
    const disk = smallDisk('256k');
    server.always({ body: imageReply(picture) });
    const cwd = folder();
    writeFileSync(join(cwd, 'jobs.jsonl'), '{"id":"a","command":"image gen","prompt":"x"}\n');
    const ran = await ask(`batch jobs.jsonl -o ${disk}/out`, server, { cwd });
    expect(ran.code).toBe(12);
    const again = await run(['recover', recoverCommand(ran.stderr), '-o', 'cat.png'], { cwd: ran.cwd });
    expect(again).toMatchObject({ code: 0, stdout: 'cat.png\n' });
    expect(sha(readFileSync(join(ran.cwd, 'cat.png')))).toBe(sha(png));
    expect(readFileSync(join(disk, 'out/journal.jsonl'), 'utf8')).not.toContain('"done"');
  });

  test('keeps the reply among the temporary files where the state folder is full too', async () => {
    const server = await serve();
    const [cwd, disk, state, temp] = [folder(), smallDisk('256k'), smallDisk('64k'), folder()];
    server.reply({ body: imageReply(picture) });
    vi.stubEnv('XDG_STATE_HOME', state);
    vi.stubEnv('TMPDIR', temp);
    const ran = await ask(`image gen x -o ${disk}/cat.png`, server, { cwd });
    expect(ran.code).toBe(12);
    expect(recoverCommand(ran.stderr).startsWith(`${temp}/gateway-cli-`)).toBe(true);
    expect(namesIn(join(state, 'gateway-cli/recovered'))).toEqual([]);
    expect(leftIn(temp)).toHaveLength(1);
  });

  test('leaves and names the first copy where nothing takes a second one', async () => {
    const server = await serve();
    const [cwd, disk, state, temp] = [folder(), smallDisk('256k'), smallDisk('64k'), smallDisk('1m')];
    server.reply({ body: imageReply(picture) });
    vi.stubEnv('XDG_STATE_HOME', state);
    vi.stubEnv('TMPDIR', temp);
    const ran = await ask(`image gen x -o ${disk}/cat.png`, server, { cwd });
    expect(ran.code).toBe(12);
    const left = /the bytes are in: (\S+)/.exec(ran.stderr)?.[1] ?? '';
    expect(sha(readFileSync(left))).toBe(sha(png));
    expect(leftIn(temp)).toHaveLength(1);
  });
});

test('a limit on file sizes is exit 12 that says so, and leaves no part of a file', async () => {
  const server = await serve();
  server.reply({ body: imageReply(picture) });
  const temp = folder();
  const ran = await bash('ulimit -f 100; $CLI image gen x', server, { env: { TMPDIR: temp } });
  expect(ran).toMatchObject({ code: 12, stdout: '' });
  expect(ran.stderr).toContain('larger than allowed');
  expect([namesIn(ran.cwd), leftIn(temp)]).toEqual([[], []]);
});

describe('a reply that stdout cannot take', () => {
  const replies: [name: string, argv: string, reply: ScriptedReply, expected: string][] = [
    ['text', 'text x', { body: textReply('Grüße\n\u0000😀') }, 'Grüße\n\u0000😀\n'],
    ['chat', 'chat x', { body: eventStream(...messageEvents('one ', 'two')) }, 'one two\n'],
    ['the JSON document', 'text x --json', { body: textReply('Hello') }, 'Hello\n'],
    ['the body of --raw', 'text x --raw', { body: '{"odd": 1,  "candidates":[]}' }, '{"odd": 1,  "candidates":[]}'],
    ['a picture', 'image gen x -o -', { body: imageReply(picture) }, png.toString('latin1')],
  ];
  test.each(replies)(
    'stdout full: %s is kept, and recover gives the same bytes',
    async (name, argv, reply, expected) => {
      const server = await serve();
      server.reply(reply);
      const ran = await bash(`$CLI ${argv} > /dev/full`, server);
      expect(ran).toMatchObject({ code: 12, stdout: '' });
      expect(ran.stderr).toMatch(/^gateway-cli: not-written: stdout cannot be written: the disk is full/);
      const file = recoverCommand(ran.stderr);
      const flags = name === 'a picture' ? ['-o', '-'] : [];
      const again = await run(['recover', file, ...flags], { cwd: ran.cwd });
      expect(again).toMatchObject({ code: 0, stderr: '' });
      expect(again.stdoutBytes.toString(name === 'a picture' ? 'latin1' : 'utf8')).toBe(expected);
      expect(server.requests).toHaveLength(1);
    },
  );

  test('pays for no further turn of a tool loop when stdout is full', async () => {
    const server = await serve();
    const call = { type: 'tool_use', id: 't', name: 'now', input: {} };
    const message = { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Hm' }, call] };
    server.reply({ body: { ...message, stop_reason: 'tool_use', usage: {} } });
    const tools = `echo '[{"name":"now","input_schema":{"type":"object"}}]' > t.json`;
    const ran = await bash(`${tools}; $CLI chat x --no-stream --tools t.json --tool-exec now=date > /dev/full`, server);
    expect(ran.code).toBe(12);
    expect(server.requests).toHaveLength(1);
  });

  test('recover to a full stdout keeps the file, and makes no second one', async () => {
    const server = await serve();
    server.reply({ body: textReply('Hello') });
    const ran = await bash('$CLI text x > /dev/full', server);
    const file = recoverCommand(ran.stderr);
    const again = await bash(`$CLI recover ${file} > /dev/full`, server, { cwd: ran.cwd });
    expect(again.code).toBe(12);
    expect(recoverCommand(again.stderr)).toBe(file);
    expect(namesIn(join(file, '..'))).toHaveLength(1);
    const { stdout } = await run(['recover', file, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ text: 'Hello', command: 'recover', usage: { totalTokens: 5 } });
  });

  test('keeps the picture whose path cannot be printed', async () => {
    const server = await serve();
    server.reply({ body: imageReply(picture) });
    const ran = await bash('$CLI image gen x > /dev/full', server);
    expect(ran.code).toBe(12);
    expect(ran.stderr).toContain('the pictures are written: image-1.png');
    expect(namesIn(ran.cwd)).toEqual(['image-1.png']);
  });

  test('help and other output that costs nothing is exit 12 without a recovery file', async () => {
    const ran = await bash('$CLI --help > /dev/full; echo $? >&2; $CLI text x --dry-run > /dev/full', {
      url: 'http://127.0.0.1:1',
    });
    expect(ran.code).toBe(12);
    expect(ran.stderr).not.toContain('recover');
    expect(namesIn(ran.cwd)).toEqual([]);
  });
});

test('a name that is taken while the request runs is exit 12, and the picture is kept', async () => {
  const server = await serve();
  const cwd = folder();
  server.reply(() => {
    writeFileSync(join(cwd, 'cat.png'), 'somebody else');
    return { body: imageReply(picture) };
  });
  const ran = await ask('image gen x -o cat.png', server, { cwd });
  expect(ran).toMatchObject({ code: 12, stdout: '' });
  expect(readFileSync(join(cwd, 'cat.png'), 'utf8')).toBe('somebody else');
  const file = recoverCommand(ran.stderr);
  expect(ran.stderr).toContain(
    `when that place can be written, or to another: gateway-cli recover ${file} -o cat.png\n`,
  );
  expect(await run(['recover', file, '-o', 'cat.png'], { cwd })).toMatchObject({ code: 2, stdout: '' });
  expect(await run(['recover', file, '-f', '-o', 'cat.png'], { cwd })).toMatchObject({
    code: 0,
    stdout: 'cat.png\n',
  });
  expect(sha(readFileSync(join(cwd, 'cat.png')))).toBe(sha(png));
});

test.each([
  ['nothing', '-o cat.png', '-o is the place of a reply, and no recovery file is named'],
  ['a file that is not there', 'nope.json', 'there is no such file'],
  ['a folder', '.', 'it is a folder'],
  ['some other JSON', 'other.json', 'it is not a recovery file'],
  ['no JSON', 'other.txt', 'it is not a recovery file'],
  ['a changed picture', 'changed.json', 'a picture in it is damaged'],
])('paid result cannot be saved: recover of %s is exit 2 and writes nothing', async (_name, file, message) => {
  const cwd = folder();
  mkdirSync(join(cwd, 'home'));
  writeFileSync(join(cwd, 'other.json'), '{"schema":"x"}');
  writeFileSync(join(cwd, 'other.txt'), 'hello');
  const image = { candidate: 0, sha256: 'x', b64_json: Buffer.from('picture').toString('base64') };
  writeFileSync(
    join(cwd, 'changed.json'),
    JSON.stringify({ schema: 'gateway-cli/recovery@1', document: ['{}'], images: [image] }),
  );
  chmodSync(join(cwd, 'changed.json'), 0o600);
  const before = namesIn(cwd);
  const ran = await run(['recover', ...file.split(' ')], { cwd });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(namesIn(cwd)).toEqual(before);
});
