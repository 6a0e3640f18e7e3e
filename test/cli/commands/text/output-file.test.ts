import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { png } from '../../../helpers/replies.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { eventStream, messageEvents, test, textReply } from '../../../helpers/with-server.ts';

const read = (folder: string, name: string): string => readFileSync(join(folder, name), 'utf8');
const cutReply = { body: JSON.stringify(textReply('half an ans')).slice(0, 100) };
const pictured = textReply('', {
  candidates: [
    { content: { parts: [{ text: 'look' }, { inlineData: png }, { inlineData: png }] }, finishReason: 'STOP' },
  ],
});

describe('-o of a text', () => {
  test('gets the text, and stdout nothing', async ({ server, cli }) => {
    const cwd = scratchFolder();
    server.reply({ body: textReply('hello') });
    const ran = await cli(['text', 'hi', '-o', 'out.txt'], { cwd, tty: { stderr: true } });
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: 'answer saved: out.txt\n' });
    expect(read(cwd, 'out.txt')).toBe('hello\n');
  });

  test.for([['chat'], ['chat', '--no-stream'], ['chat', '--json'], ['text', '--stream']])(
    'gets what %s would print',
    async (words, { server, cli }) => {
      const cwd = scratchFolder();
      const piece = `data: ${JSON.stringify(textReply('Hello'))}\n\n`;
      server.reply({ body: words[0] === 'chat' ? eventStream(...messageEvents('Hel', 'lo')) : piece });
      expect(await cli([...words, 'hi', '-o', 'out'], { cwd })).toMatchObject({ code: 0 });
      expect(read(cwd, 'out')).toBe('Hello\n');
    },
  );

  test('is in the document, as images are', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    const { stdout } = await cli(['text', 'hi', '-o', 'out.txt', '--json']);
    const sha256 = '5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03';
    const file = { path: 'out.txt', mimeType: 'text/plain', bytes: 6, sha256, candidate: 0 };
    expect(JSON.parse(stdout)).toMatchObject({ text: 'hello', files: [file] });
  });

  test('is checked before anything is paid for', async ({ server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'out.txt'), 'mine');
    expect(await cli(['text', 'hi', '-o', 'out.txt'], { cwd })).toMatchObject({ code: 2 });
    expect(await cli(['chat', 'hi', '-o', 'no/out.txt'], { cwd })).toMatchObject({ code: 2 });
    expect(server.requests).toEqual([]);
    expect(read(cwd, 'out.txt')).toBe('mine');
    server.reply({ body: textReply('new') });
    expect(await cli(['text', 'hi', '-o', 'out.txt', '--force'], { cwd })).toMatchObject({ code: 0 });
    expect(read(cwd, 'out.txt')).toBe('new\n');
  });

  test('is written whole or not at all: a reply that broke off is kept', async ({ server, cli }) => {
    const cwd = scratchFolder();
    server.reply(cutReply);
    const ran = await cli(['text', 'hi', '-o', 'out.txt'], { cwd });
    expect(ran).toMatchObject({ code: 11, stdout: '' });
    expect(ran.stderr).toContain('gateway-cli recover');
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('-o of a text saves images beside the text, and replaces none', async ({ server, cli }) => {
    const cwd = scratchFolder();
    mkdirSync(join(cwd, 'd'));
    writeFileSync(join(cwd, 'd/out.png'), 'mine');
    server.reply({ body: pictured });
    expect(await cli(['text', 'hi', '-o', 'd/out.md'], { cwd })).toMatchObject({ code: 0, stdout: '' });
    expect(readdirSync(join(cwd, 'd')).sort()).toEqual(['out-2.png', 'out-3.png', 'out.md', 'out.png']);
    expect(read(cwd, 'd/out.png')).toBe('mine');
  });

  test.for(['pics/', 'cat.png', '{slug}-{n}.{ext}'])(
    'is the place of its pictures for %s',
    async (output, { server, cli }) => {
      const cwd = scratchFolder();
      server.reply({ body: pictured });
      expect(await cli(['text', 'hi', '-o', output], { cwd })).toMatchObject({ code: 0, stdout: 'look\n' });
      expect(readdirSync(join(cwd, output === 'pics/' ? output : '.'))).toHaveLength(2);
    },
  );

  test('-o - writes the text to stdout', async ({ server, cli }) => {
    server.reply({ body: textReply('hello') });
    expect(await cli(['text', 'hi', '-o', '-'])).toMatchObject({ code: 0, stdout: 'hello\n' });
  });

  test('shows nothing of the disk with --dry-run', async ({ server, cli }) => {
    const cwd = scratchFolder();
    expect(await cli(['text', 'hi', '-o', 'out.txt', '--dry-run'], { cwd })).toMatchObject({ code: 0 });
    expect([existsSync(join(cwd, 'out.txt')), server.requests]).toEqual([false, []]);
  });

  test('-o of a text keeps every candidate', async ({ server, cli }) => {
    const cwd = scratchFolder();
    const candidate = (text: string, index: number): object => ({
      content: { parts: [{ text }] },
      finishReason: 'STOP',
      index,
    });
    server.reply({ body: textReply('', { candidates: [candidate('a', 0), candidate('b', 1)] }) });
    await cli(['text', 'hi', '-o', 'out.txt', '--candidates', '2'], { cwd });
    expect(read(cwd, 'out.txt')).toBe('a\n---\nb\n');
  });
});
