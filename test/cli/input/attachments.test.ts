import { execFileSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

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
  put('wide.txt', Buffer.from('\uFEFFwide', 'utf16le'));
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

test.for([
  ['Makefile', 'text/plain', 'all:\n'],
  ['paper', 'application/pdf', '%PDF-1.4\n'],
  ['rows.csv', 'text/csv', 'a,b\n'],
  ['facts.json', 'application/json', '{"a":1}'],
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
] as const)('chat --attach %s sends a document, text as text', async ([name, document], { server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('ok')) });
  const cwd = filesOfAllKinds();
  expect(await cli(['chat', 'read it', '--attach', name], { cwd })).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject({
    messages: [{ role: 'user', content: [document, { type: 'text', text: 'read it' }] }],
  });
});

test('what stdin holds has no title', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('ok')) });
  expect(await cli(['chat', 'read it', '--attach', '-'], { stdin: 'piped' })).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject({
    messages: [{ content: [textDocument('piped'), { type: 'text', text: 'read it' }] }],
  });
});

test.for([
  [['text'], 'blob', "--attach 'blob': its type cannot be told"],
  [['text'], 'none.pdf', "--attach 'none.pdf': there is no such file"],
  [['text'], '.', "--attach '.': it is a folder"],
  [['chat'], 'bad.txt', "--attach 'bad.txt' is not UTF-8 text"],
  [['chat'], 'wide.txt', 'it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8'],
] as const)('%s refuses --attach %s before anything is sent', async ([[command], name, words], { cli }) => {
  const ran = await cli([command, 'read it', '--attach', name], { cwd: filesOfAllKinds() });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(words);
});

test('says so where a file is larger than gateways like', async ({ cli }) => {
  const cwd = filesOfAllKinds();
  truncateSync(join(cwd, 'paper'), 20_000_000);
  expect((await cli(['text', 'x', '--attach', 'paper', '--dry-run'], { cwd })).stderr).toBe('');
  truncateSync(join(cwd, 'paper'), 20_000_001);
  expect((await cli(['text', 'x', '--attach', 'paper', '--dry-run'], { cwd })).stderr).toBe(
    "gateway-cli: warning: 'paper' has 20.0 MB; gateways may refuse more than 20.0 MB\n",
  );
});
