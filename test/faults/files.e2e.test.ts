import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bin } from '../helpers/spawn.ts';
import { imageReply, textReply } from '../helpers/with-server.ts';
import { ask, bash, becomes, folder, namesIn, serve, start } from './program.ts';
import { isFull } from '../helpers/full.ts';

const posix = process.platform !== 'win32';
const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000010000000100806000000', 'hex');
const png = Buffer.concat([head, Buffer.alloc(100)]);
const reply = { body: imageReply({ mimeType: 'image/png', data: png.toString('base64') }) };
const nowhere = { url: 'http://127.0.0.1:1' };
const asNobody = 'setpriv --reuid=65534 --regid=65534 --clear-groups';
const canBeNobody = posix && spawnSync('bash', ['-c', `${asNobody} ${process.execPath} ${bin} --version`]).status === 0;

describe.skipIf(!posix)('what exists at the name already', () => {
  const places: [string, (path: string) => void, number][] = [
    ['a file', (path) => writeFileSync(path, 'mine'), 2],
    ['a link to a file', (path) => (writeFileSync(`${path}.target`, 'mine'), symlinkSync(`${path}.target`, path)), 2],
    ['a dangling link', (path) => symlinkSync(`${path}.target`, path), 2],
    ['a folder', (path) => mkdirSync(path), 0],
    ['a FIFO', (path) => void spawnSync('mkfifo', [path]), 2],
  ];
  test.each(places)('%s is not replaced, and nothing is sent', async (_name, make, code) => {
    const server = await serve();
    const cwd = folder();
    make(join(cwd, 'cat.png'));
    const before = namesIn(cwd);
    if (code === 0) server.reply(reply);
    expect(await ask('image gen x -o cat.png', server, { cwd })).toMatchObject({ code });
    expect(namesIn(cwd)).toEqual(before);
    expect(server.requests).toHaveLength(code === 0 ? 1 : 0);
  });

  test('--force replaces a file, and writes through a link as a shell does', async () => {
    const server = await serve();
    server.always(reply);
    const cwd = folder();
    writeFileSync(join(cwd, 'a.png'), 'old');
    writeFileSync(join(cwd, 'target'), 'old');
    symlinkSync('target', join(cwd, 'b.png'));
    for (const name of ['a.png', 'b.png'])
      expect(await ask(`image gen x -f -o ${name}`, server, { cwd })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, 'a.png')).equals(png)).toBe(true);
    expect(lstatSync(join(cwd, 'b.png')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(cwd, 'target')).equals(png)).toBe(true);
    expect(namesIn(cwd)).toEqual(['a.png', 'b.png', 'target']);
  });

  test('--force refuses a link to a device before anything is sent, and keeps a text through a link, too', async () => {
    const server = await serve();
    const cwd = folder();
    symlinkSync('/dev/null', join(cwd, 'null.png'));
    expect((await ask('image gen x -f -o null.png', server, { cwd })).code).toBe(2);
    server.reply({ body: textReply('Hello') });
    writeFileSync(join(cwd, 'target'), 'old');
    symlinkSync('target', join(cwd, 'latest.txt'));
    expect((await ask('text x -f -o latest.txt', server, { cwd })).code).toBe(0);
    expect(lstatSync(join(cwd, 'latest.txt')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(cwd, 'target'), 'utf8')).toBe('Hello\n');
  });

  test('--force never replaces a pipe that came up while the request ran', async () => {
    const server = await serve();
    const cwd = folder();
    server.reply(() => (spawnSync('mkfifo', [join(cwd, 'cat.png')]), reply));
    expect((await ask('image gen x -f -o cat.png', server, { cwd })).code).toBe(12);
    expect(lstatSync(join(cwd, 'cat.png')).isFIFO()).toBe(true);
  });

  test.each(['/dev/null', '/dev/full'])('%s is refused even with --force', async (path) => {
    expect((await ask(`image gen x -f -o ${path}`, nowhere)).code).toBe(2);
    expect(lstatSync(path).isCharacterDevice()).toBe(true);
  });

  test('runs at once never share a name', async () => {
    const server = await serve();
    server.always(reply);
    const ran = await bash('for i in 1 2 3; do $CLI image gen x & done; wait', server);
    expect(ran.stdout.trim().split('\n').toSorted()).toEqual([1, 2, 3].map((n) => `image-${n}.png`));
    expect(namesIn(ran.cwd)).toHaveLength(3);
  });
});

test('files of the user with names like ours survive every failure', async () => {
  const server = await serve();
  const cwd = folder();
  const mine = ['.gateway-cli-0123456789abcdef01234567.part', 'image-1.png', 'image-1.png.json', 'image-1.part'];
  for (const name of mine) writeFileSync(join(cwd, name), 'mine');
  server.reply({ body: imageReply({ mimeType: 'image/png', data: `${png.toString('base64').slice(0, 50)}*` }) });
  expect((await ask('image gen x', server, { cwd })).code).toBe(9);
  server.reply(reply);
  expect(await ask('image gen x', server, { cwd })).toMatchObject({ code: 0, stdout: 'image-2.png\n' });
  for (const name of mine) expect(readFileSync(join(cwd, name), 'utf8')).toBe('mine');
  expect(namesIn(cwd)).toEqual([...mine, 'image-2.png'].toSorted());
});

test('uses no file name that the reply chooses', async () => {
  const server = await serve();
  const named = imageReply({ mimeType: 'image/png', data: png.toString('base64') });
  const evil = { ...named, responseId: '../evil', modelVersion: '/etc/evil', fileName: 'evil.sh' };
  server.always({ headers: { 'content-disposition': 'attachment; filename="/tmp/evil.sh"' }, body: evil });
  const around = folder();
  const cwd = join(around, 'here');
  mkdirSync(cwd);
  for (const line of ['image gen x', 'image gen x -o {id}-{n}.{ext}'])
    expect(await ask(line, server, { cwd })).toMatchObject({ code: 0 });
  expect(namesIn(cwd)).toEqual(['evil-1.png', 'image-1.png']);
  expect(namesIn(around)).toEqual(['here']);
});

describe('an output that cannot be written is found before sending', () => {
  test.each([
    ['missing', '-o no/such/a.png', 'mkdir -p no/such'],
    ['a file instead of a folder', '-o file/a.png', 'file'],
    ['a name of 300 characters', `-o ${'x'.repeat(300)}.png`, 'too long'],
    ['a read-only file system', '-o /proc/a.png', ''],
  ])('%s', async (_name, flags, message) => {
    const cwd = folder();
    writeFileSync(join(cwd, 'file'), '');
    const ran = await ask(`image gen x ${flags}`, nowhere, { cwd });
    expect([ran.code, ran.stdout, namesIn(cwd)]).toEqual([2, '', ['file']]);
    expect(ran.stderr).toContain(message);
  });

  test.skipIf(!canBeNobody && !isFull)('not writable (needs setpriv and root)', async () => {
    const cwd = folder();
    chmodSync(cwd, 0o555);
    const ran = await bash(`${asNobody} $CLI image gen x`, nowhere, { cwd });
    expect([ran.code, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toContain('permission to write it');
  });

  test.skipIf(!canBeNobody && !isFull)(
    'not writable, and only a text was asked for: it goes on, and a picture that comes with it is kept (needs setpriv and root)',
    async () => {
      const server = await serve();
      const [cwd, temp] = [folder(), folder()];
      chmodSync(cwd, 0o555);
      chmodSync(temp, 0o777);
      const env = { TMPDIR: temp };
      server.reply({ body: textReply('Hello') });
      const plain = await bash(`${asNobody} $CLI text x`, server, { cwd, env });
      expect(plain).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
      server.reply(reply);
      const ran = await bash(`${asNobody} $CLI text x`, server, { cwd, env });
      expect(ran.code).toBe(12);
      const file = /gateway-cli recover (\S+)/.exec(ran.stderr)?.[1] ?? '';
      expect(await ask(`recover ${file} -o cat.png`, server)).toMatchObject({ code: 0, stdout: 'cat.png\n' });
    },
  );

  test.skipIf(!canBeNobody && !isFull)(
    'a folder that is closed while the request runs: the picture is kept (needs setpriv and root)',
    async () => {
      const server = await serve();
      const [cwd, temp] = [folder(), folder()];
      for (const path of [cwd, temp]) chmodSync(path, 0o777);
      server.reply(() => {
        chmodSync(cwd, 0o555);
        return reply;
      });
      const ran = await bash(`${asNobody} $CLI image gen x -o cat.png`, server, { cwd, env: { TMPDIR: temp } });
      expect(ran.code).toBe(12);
      const file = /gateway-cli recover (\S+)/.exec(ran.stderr)?.[1] ?? '';
      expect(namesIn(cwd)).toEqual([]);
      expect(await ask(`recover ${file} -o cat.png`, server)).toMatchObject({ code: 0, stdout: 'cat.png\n' });
    },
  );
});

test('SIGKILL never leaves a short file under a final name', async () => {
  const large = Buffer.concat([head, randomBytes(300_000)]);
  const hash = sha256(large);
  const server = await serve();
  server.always({ body: imageReply({ mimeType: 'image/png', data: large.toString('base64') }) });
  const cwd = folder();
  const kills = isFull ? 200 : 2;
  let whole = 0;
  for (let kill = 0; kill < kills; kill++) {
    const before = new Set(readdirSync(cwd));
    const isNew = (name: string) => !before.has(name) && (kill % 2 === 0 || isFinal(name));
    const { child, ended } = start(['image', 'gen', 'x', '-n', '20'], server, { cwd });
    // Anywhere between the first temporary file and the last final one.
    await becomes(() => readdirSync(cwd).filter(isNew).length > kill % 20, ended);
    child.kill('SIGKILL');
    await ended;
    for (const name of readdirSync(cwd).filter(isFinal)) {
      expect([name, sha256(readFileSync(join(cwd, name)))]).toEqual([name, hash]);
      whole++;
    }
    for (const name of readdirSync(cwd)) if (kill % 20 === 19) rmSync(join(cwd, name));
  }
  expect(whole).toBeGreaterThan(0);
}, 900_000);

function isFinal(name: string): boolean {
  return !name.startsWith('.gateway-cli-');
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
