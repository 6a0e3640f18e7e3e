import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openSession, readSession } from '../../../src/cli/chat/session-file.ts';
import { openFilesIn, tellsOpenFiles } from '../../helpers/open-files.ts';
import { startScriptedServer } from '../../helpers/scripted-server.ts';
import { shell } from '../../helpers/spawn.ts';
import { canaryKey, eventStream, messageEvents } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const turn = (n: number) => [
  { role: 'user' as const, content: `q${n}` },
  { role: 'assistant' as const, content: [{ type: 'text', text: `a${n}` }] },
];
const lines = (...turns: number[]): string =>
  turns.flatMap((n) => turn(n).map((message) => `${JSON.stringify(message)}\n`)).join('');

function place(content?: string): string {
  const path = join(scratchFolder(), 'talk.jsonl');
  if (content !== undefined) writeFileSync(path, content);
  return path;
}

test('appends complete turns to a file that only its owner can read', async () => {
  const path = place();
  const session = await openSession(path);
  expect(existsSync(path)).toBe(false);
  await session.append(turn(1));
  await session.append(turn(2));
  await session.close();
  expect(readFileSync(path, 'utf8')).toBe(lines(1, 2));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(existsSync(`${path}.lock`)).toBe(false);
});

test('a link to a session has the same lock, and stays a link', async () => {
  const path = place(lines(1));
  const link = `${path}.link`;
  symlinkSync('talk.jsonl', link);
  const session = await openSession(link);
  await expect(openSession(path)).rejects.toThrow('is in use by');
  await session.append(turn(2));
  await session.close();
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(path, 'utf8')).toBe(lines(1, 2));
});

test('a file that was cut at any byte is read as its complete turns, and continues after them', async () => {
  const whole = lines(1, 2);
  for (let cut = lines(1).length - 1; cut <= whole.length; cut++) {
    const path = place(whole.slice(0, cut));
    const { messages } = await readSession(path);
    // A last line without its line break can be complete.
    const turns = whole.slice(0, cut + 1).split(']}\n').length - 1;
    expect(messages).toEqual([1, 2].slice(0, turns).flatMap(turn));
    const session = await openSession(path);
    await session.append(turn(3));
    await session.close();
    expect(readFileSync(path, 'utf8')).toBe(lines(...[1, 2].slice(0, turns), 3));
    const left = whole.slice(lines(1).length, cut);
    const kept = existsSync(`${path}.aside`) ? readFileSync(`${path}.aside`, 'utf8') : '';
    expect(kept).toBe(turns === 2 || left === '' ? '' : left.replace(/\n?$/, '\n'));
  }
});

test.each([
  ['a messages array', '[{"role":"user","content":"q"}]'],
  ['a job', '{"id":"a","prompt":"q"}\n'],
  ['a config', '{\n  "profiles": {}\n}\n'],
  ['a note without a line break', 'buy milk'],
  ['a question without an answer', '{"role":"user","content":"q"}\n'],
  ['a first turn that a crash cut', lines(1).slice(0, -20)],
])('refuses %s as a session and does not change it', async (_name, content) => {
  const path = place(content);
  await expect(readSession(path)).rejects.toMatchObject({ class: 'usage' });
  await expect(openSession(path)).rejects.toMatchObject({ class: 'usage' });
  expect(readFileSync(path, 'utf8')).toBe(content);
  expect(readdirSync(dirname(path))).toEqual(['talk.jsonl']);
});

test('an incomplete turn is moved to the aside file', async () => {
  const half = '{"role":"user","content":"q2"}\n{"role":"assistant","con';
  const path = place(lines(1) + half);
  const session = await openSession(path);
  await session.append(turn(3));
  await session.close();
  expect(readFileSync(path, 'utf8')).toBe(lines(1, 3));
  expect(readFileSync(`${path}.aside`, 'utf8')).toBe(`${half}\n`);
  expect(statSync(`${path}.aside`).mode & 0o777).toBe(0o600);
});

test('a torn last line makes its turn incomplete', async () => {
  const path = place(`${lines(1)}{"role":"user","content":"q2"}\n{"role":"assistant","con`);
  expect((await readSession(path)).messages).toEqual(turn(1));
  const session = await openSession(path);
  expect(session.torn).toBe(true);
  await session.append(turn(3));
  await session.close();
  expect(readFileSync(path, 'utf8')).toBe(lines(1, 3));
});

test('a torn line that is longer than the next turn leaves no rest', async () => {
  const path = place(`${lines(1)}{"role":"user","content":"${'x'.repeat(5000)}`);
  const session = await openSession(path);
  await session.append(turn(2));
  await session.close();
  expect(readFileSync(path, 'utf8')).toBe(lines(1, 2));
});

test.skipIf(!tellsOpenFiles)('reading and writing a session leaves no file open', async () => {
  const path = place(lines(1));
  const session = await openSession(path);
  await session.append(turn(2));
  await session.close();
  expect(openFilesIn(dirname(path))).toEqual([]);
});

test('tool calls whose results are lost are not a complete turn', async () => {
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] };
  const path = place(`${lines(1)}{"role":"user","content":"q"}\n${JSON.stringify(call)}\n{"role":"us`);
  expect((await readSession(path)).messages).toEqual(turn(1));
});

test.each([
  ['a BOM and CRLF', `\uFEFF${lines(1).replaceAll('\n', '\r\n')}`],
  ['empty lines', `\n${lines(1)}\n\n`],
  ['no line break at the end', lines(1).trimEnd()],
])('reads a file with %s', async (_name, content) => {
  expect((await readSession(place(content))).messages).toEqual(turn(1));
});

test.each([
  ['no JSON', 'hello\n'],
  ['another role', '{"role":"system","content":"x"}\n'],
  ['no content', '{"role":"user"}\n'],
])('refuses a line in the middle with %s, by its number', async (_name, line) => {
  const path = place(`${lines(1)}${line}${lines(2)}`);
  await expect(readSession(path)).rejects.toMatchObject({ class: 'usage', message: expect.stringContaining('line 3') });
});

test('does not overwrite lines that another program added meanwhile', async () => {
  const path = place(lines(1));
  const session = await openSession(path);
  writeFileSync(path, lines(1, 2));
  await expect(session.append(turn(3))).rejects.toMatchObject({ class: 'not-written' });
  await session.close();
  expect(readFileSync(path, 'utf8')).toBe(lines(1, 2));
});

test('a session that another program removed meanwhile is not created again', async () => {
  const path = place(lines(1));
  const session = await openSession(path);
  rmSync(path);
  await expect(session.append(turn(2))).rejects.toMatchObject({
    class: 'not-written',
    message: expect.stringContaining('it was removed by another program meanwhile'),
  });
  await session.close();
  expect(readdirSync(dirname(path))).toEqual([]);
});

test('a turn that is written only in part leaves the session unchanged', async () => {
  const path = place(lines(1).padEnd(1000, '\n'));
  const before = readFileSync(path, 'utf8');
  const server = await startScriptedServer();
  server.reply({ body: eventStream(...messageEvents('x'.repeat(500))) });
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey, GATEWAY_MODEL: 'm' };
  // In blocks of 1024 bytes.
  const ran = await shell(`ulimit -f 1; exec "$NODE" "$BIN" chat hi --session ${path}`, {
    env: { ...env, NODE: process.execPath },
  });
  await server.close();
  expect(ran).toMatchObject({ code: 12, stdout: `${'x'.repeat(500)}\n` });
  expect(ran.stderr).toContain(`cannot write ${JSON.stringify(path)}: the file would be larger than allowed`);
  expect(readFileSync(path, 'utf8')).toBe(before);
  expect(readdirSync(dirname(path))).toEqual(['talk.jsonl']);
});

test('a folder that is missing or cannot be written is an error before a request is paid', async () => {
  await expect(openSession(join(place(), 'none', 'talk.jsonl'))).rejects.toMatchObject({ class: 'usage' });
});

test('an unreadable session is a usage error, and the lock is released', async () => {
  const path = scratchFolder();
  await expect(openSession(path)).rejects.toMatchObject({ class: 'usage' });
  expect(existsSync(`${path}.lock`)).toBe(false);
});
