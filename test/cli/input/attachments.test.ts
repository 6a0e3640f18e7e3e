import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** Source code and other texts, some of which have the extension of a film or of no text. */
const sources =
  'main.ts main.rs a.toml a.sh a.ipynb a.sql a.tex a.srt a.org a.key a.mts a.py a.yaml a.php a.rb a.svg a.log'.split(
    ' ',
  );

/** A folder with files of all kinds. */
function filesOfAllKinds(): string {
  const cwd = scratchFolder();
  const put = (name: string, content: string | Uint8Array) => writeFileSync(join(cwd, name), content);
  put('Makefile', 'all:\n');
  put('paper', '%PDF-1.4\n');
  put('rows.csv', 'a,b\n');
  put('facts.json', '{"a":1}');
  put('blob', 'a\0b');
  put('bad.txt', Uint8Array.of(0xe4, 0x20, 0xff));
  put('latin', Buffer.from('ein Märchen\n', 'latin1'));
  put('empty.txt', '');
  put('report.docx', 'PK\u0003\u0004\0\0');
  put('film.mp4', '\0\0\0\u0018ftypisom\0\0\0\0');
  put('frames', Uint8Array.of(0xff, 0xfb, 0x90, 0x64, 0, 0));
  put('song', 'ID3\u0003\0\0');
  put('speech', 'RIFF\0\0\0\0WAVEfmt ');
  put('note.key', 'not a presentation\n');
  put('ID3.md', 'ID3 tags are text here\n');
  put('tags', 'ID3 tags are text here\n');
  for (const name of sources) put(name, `${name}: ä\n`);
  put('wide.txt', Buffer.from('\uFEFFwide', 'utf16le'));
  put('wide', Buffer.from('\uFEFFwide', 'utf16le'));
  return cwd;
}

const inline = (mimeType: string, data: string) => ({
  inlineData: { mimeType, data: Buffer.from(data).toString('base64') },
});
const textDocument = (data: string, title?: string) => ({
  type: 'document',
  source: { type: 'text', media_type: 'text/plain', data },
  ...(title !== undefined && { title }),
});

test.skipIf(!existsSync('/proc/self/limits'))(
  'a file of /proc, which says it is empty, goes out whole',
  async ({ server, cli }) => {
    server.reply({ body: textReply('ok') });
    const ran = await cli(['text', 'read it', '--attach', '/proc/self/limits']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(server.requests[0]?.json()).toMatchObject({
      contents: [{ parts: [{ text: 'read it' }, inline('text/plain', readFileSync('/proc/self/limits', 'utf8'))] }],
    });
  },
);

test.for([
  ['Makefile', 'text/plain', 'all:\n'],
  ['paper', 'application/pdf', '%PDF-1.4\n'],
  ['rows.csv', 'text/csv', 'a,b\n'],
  ['facts.json', 'application/json', '{"a":1}'],
  ['film.mp4', 'video/mp4', '\0\0\0\u0018ftypisom\0\0\0\0'],
  ['song', 'audio/mpeg', 'ID3\u0003\0\0'],
  ['speech', 'audio/wav', 'RIFF\0\0\0\0WAVEfmt '],
  ['ID3.md', 'text/markdown', 'ID3 tags are text here\n'],
  ['tags', 'text/plain', 'ID3 tags are text here\n'],
  ...sources.map((name) => [name, 'text/plain', `${name}: ä\n`] as const),
] as const)('text --attach %s sends it as %s', async ([name, type, content], { server, cli }) => {
  server.reply({ body: textReply('ok') });
  const cwd = filesOfAllKinds();
  expect(await cli(['text', 'read it', '--attach', name], { cwd })).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'read it' }, inline(type, content)] }],
  });
});

test('what comes through a pipe with a name goes out whole', async ({ server, cli }) => {
  server.reply({ body: textReply('ok') });
  const cwd = scratchFolder();
  execFileSync('mkfifo', [join(cwd, 'notes')]);
  const [ran] = await Promise.all([
    cli(['text', 'read it', '--attach', 'notes'], { cwd }),
    writeFile(join(cwd, 'notes'), 'from a pipe'),
  ]);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject({
    contents: [{ parts: [{ text: 'read it' }, inline('text/plain', 'from a pipe')] }],
  });
});

test.for([
  ['Makefile', textDocument('all:\n', 'Makefile')],
  ['facts.json', textDocument('{"a":1}', 'facts.json')],
  [
    'paper',
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: Buffer.from('%PDF-1.4\n').toString('base64') },
      title: 'paper',
    },
  ],
  ['main.ts', textDocument('main.ts: ä\n', 'main.ts')],
] as const)('chat --attach %s sends a document, text as text', async ([name, document], { server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('ok')) });
  const cwd = filesOfAllKinds();
  expect(await cli(['chat', 'read it', '--attach', name], { cwd })).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject({
    messages: [{ role: 'user', content: [document, { type: 'text', text: 'read it' }] }],
  });
});

test('sound without an extension is known by the frame that it begins with', async ({ server, cli }) => {
  server.reply({ body: textReply('ok') });
  expect((await cli(['text', 'x', '--attach', 'frames'], { cwd: filesOfAllKinds() })).code).toBe(0);
  expect(server.requests[0]?.json()).toMatchObject({
    contents: [{ parts: [{}, { inlineData: { mimeType: 'audio/mpeg' } }] }],
  });
});

test('what stdin holds has no title', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('ok')) });
  expect(await cli(['chat', 'read it', '--attach', '-'], { stdin: 'piped' })).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject({
    messages: [{ content: [textDocument('piped'), { type: 'text', text: 'read it' }] }],
  });
});

test('an image flag that gets another file names the flag for it', async ({ cli }) => {
  const ran = await cli(['chat', 'read it', '-i', 'paper'], { cwd: filesOfAllKinds() });
  expect([ran.code, ran.stderr]).toEqual([
    2,
    "gateway-cli: usage: -i 'paper' is not an image of a known type\n  to send a file of another type: --attach paper\n",
  ]);
});

test('the name of stdin in /dev is stdin', async ({ server, cli }) => {
  server.reply({ body: textReply('ok') });
  expect(await cli(['text', 'read it', '--attach', '/dev/stdin'], { stdin: 'piped' })).toMatchObject({ code: 0 });
  expect(server.requests[0]?.json()).toMatchObject({ contents: [{ parts: [{}, inline('text/plain', 'piped')] }] });
});

test.for([
  [['text'], 'blob', "--attach 'blob': its type cannot be told"],
  [['text'], 'none.pdf', "--attach 'none.pdf': there is no such file"],
  [['text'], '.', "--attach '.': it is a folder"],
  [['chat'], 'bad.txt', "--attach 'bad.txt' is not UTF-8 text"],
  [['text'], 'bad.txt', "--attach 'bad.txt' is not UTF-8 text"],
  [['text'], 'latin', "--attach 'latin' is not UTF-8 text: invalid byte at offset 5"],
  [['text'], 'wide.txt', 'it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8'],
  [['text'], 'wide', 'it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8'],
  [['text'], 'empty.txt', "--attach 'empty.txt' is empty"],
  [['text'], '/dev/null', "--attach '/dev/null' is empty"],
  [['text'], 'report.docx', 'save it as PDF or as text, and send that'],
  [['chat'], 'report.docx', 'save it as PDF or as text, and send that'],
  [
    ['chat'],
    'film.mp4',
    'the messages format takes no file of the type video/mp4: "film.mp4"\n  the content format may take it',
  ],
  [['chat'], 'song', 'the messages format takes no file of the type audio/mpeg'],
  [['chat', '--format', 'completions'], 'film.mp4', 'takes no file of the type video/mp4'],
  [['chat'], 'wide.txt', 'it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8'],
] as const)('%s refuses --attach %s before anything is sent', async ([command, name, words], { cli }) => {
  const ran = await cli([...command, 'read it', '--attach', name], { cwd: filesOfAllKinds() });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(words);
});

test('a file that is larger than most gateways accept is told in a note', async ({ cli }) => {
  const cwd = filesOfAllKinds();
  truncateSync(join(cwd, 'paper'), 20_000_000);
  expect((await cli(['text', 'x', '--attach', 'paper', '--dry-run'], { cwd })).stderr).toBe('');
  truncateSync(join(cwd, 'paper'), 20_000_001);
  expect((await cli(['text', 'x', '--attach', 'paper', '--dry-run'], { cwd })).stderr).toBe(
    "gateway-cli: warning: 'paper' has 20.0 MB; gateways may refuse more than 20.0 MB\n",
  );
});
