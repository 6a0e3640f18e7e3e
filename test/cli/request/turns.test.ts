import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test } from '../../helpers/with-server.ts';

/** Values that are not messages, in place of the second message. */
const wrong = [
  { who: 'user', words: 'x' },
  1,
  null,
  [],
  { role: 'user' },
  { role: 'user', content: 5 },
  { role: 'user', content: ['x'] },
  { role: 'system', content: 'x' },
  { content: 'x' },
].map((second) => JSON.stringify([{ role: 'user', content: 'a' }, second]));

test.for(wrong)('--messages %s in a format with other turns is exit 2', async (messages, { server, cli }) => {
  const ran = await cli(['chat', 'hi', '--format', 'content', '--messages', messages]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toMatch(/--messages '.*': message 2 is not one of user or assistant with a content/);
  expect(ran.stderr).toContain('for example: {"role":"user","content":"…"}');
  expect(server.requests).toEqual([]);
});

test.for(wrong)('the messages %s of a job are exit 2 before a request is sent', async (messages, { server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), `{"command":"chat","prompt":"hi","messages":${messages}}\n`);
  const ran = await cli(['batch', 'jobs.jsonl', '-o', 'out', '--format', 'content'], { cwd });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('jobs.jsonl:1: --messages: message 2 is not one of user or assistant');
  expect(server.requests).toEqual([]);
});

test.for(['content', 'messages', 'completions'])(
  'a session with invalid blocks is exit 2 in the %s format',
  async (format, { server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 's.jsonl'), '{"role":"user","content":["x"]}\n{"role":"assistant","content":"a"}\n');
    const ran = await cli(['chat', 'hi', '--session', './s.jsonl', '--format', format], { cwd });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('holds no message in line 1');
    expect(server.requests).toEqual([]);
  },
);
