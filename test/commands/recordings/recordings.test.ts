import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { run, type Ran, type RunOptions } from '../../helpers/run.ts';
import type { ScriptedServer } from '../../helpers/scripted-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { imageReply, test, textReply } from '../../helpers/with-server.ts';

const day = 86_400_000;
const picture = Buffer.alloc(3000, 7);
const digest = createHash('sha256').update(picture).digest('hex');

interface Listed {
  id: string;
  file: string;
  status: number;
}

/** A folder with a text, a picture and a 429, recorded two days ago, one day ago and now, and files that are not recordings. */
async function recorded(
  server: ScriptedServer,
  cli: (argv: readonly string[], options?: RunOptions) => Promise<Ran>,
): Promise<{ cwd: string; kept: string; recordings: Listed[] }> {
  server.reply({ body: textReply('calm \u001b[31mred') });
  server.reply({ body: imageReply({ mimeType: 'image/png', data: picture.toString('base64') }) });
  server.reply({ status: 429, body: { error: { code: 429, message: 'slow' } } });
  const { cwd } = await cli(['text', 'first', '--record', 'kept']);
  await cli(['image', 'gen', 'second', '-o', 'a.png', '--record', 'kept'], { cwd });
  await cli(['text', 'third', '--retries', '0', '--record', 'kept'], { cwd });
  const kept = join(cwd, 'kept');
  for (const name of readdirSync(kept)) {
    const text = readFileSync(join(kept, name), 'utf8');
    const age = text.includes('first') ? 2 * day : text.includes('second') ? day : 0;
    writeFileSync(
      join(kept, name),
      text.replace(/"at":(\d+)/, (_, at) => `"at":${Number(at) - age}`),
    );
  }
  writeFileSync(join(kept, 'notes.jsonl'), '{"mine":1}\n');
  writeFileSync(join(kept, 'notes.txt'), 'mine');
  symlinkSync(join(kept, readdirSync(kept)[0] ?? ''), join(kept, 'link.jsonl'));
  const { stdout } = await run(['recordings', 'list', 'kept', '--json'], { cwd });
  return { cwd, kept, recordings: (JSON.parse(stdout) as { recordings: Listed[] }).recordings };
}

test.skipIf(process.platform === 'win32')('does not wait for a pipe or read a folder', async ({ server, cli }) => {
  const { cwd, kept, recordings } = await recorded(server, cli);
  mkdirSync(join(kept, 'folder.jsonl'));
  execFileSync('mkfifo', [join(kept, 'pipe.jsonl')]);
  symlinkSync(join(kept, 'pipe.jsonl'), join(kept, 'linked-pipe.jsonl'));
  symlinkSync('nowhere', join(kept, 'dangling.jsonl'));
  const pruned = await run(['recordings', 'prune', 'kept', '--max-age', '1h', '--dry-run', '--json'], { cwd });
  expect(JSON.parse(pruned.stdout)).toMatchObject({ removed: recordings.slice(1).map(({ id }) => id) });
  const cached = await cli(['text', 'first', '--record', 'kept', '--replay', 'kept'], { cwd });
  expect(cached).toMatchObject({ code: 0, stdout: expect.stringContaining('calm') });
});

test('list names only recordings, the newest first', async ({ server, cli }) => {
  const { cwd, recordings } = await recorded(server, cli);
  const path = '/v1beta/models/m:generateContent';
  expect(recordings).toMatchObject([
    { method: 'POST', path, model: 'm', status: 429, ended: 'end' },
    { status: 200, bytes: expect.any(Number), recorded: expect.stringMatching(/^\d{4}-.*Z$/) },
    { status: 200 },
  ]);
  const { code, stdout } = await run(['recordings', 'list', 'kept'], { cwd });
  expect(code).toBe(0);
  const rows = stdout.trimEnd().split('\n');
  expect(rows).toHaveLength(3);
  expect(stdout).not.toMatch(/ $/m);
  expect(rows[0]).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d {2}429 {2}\S+ k?B +POST \/v1beta\/models\/m:generateContent {2}m {2}\S+-1$/,
  );
});

describe('show', () => {
  test('prints the request and the reply, escaped on a terminal', async ({ server, cli }) => {
    const { cwd, recordings } = await recorded(server, cli);
    const { stdout } = await run(['recordings', 'show', 'kept', recordings[2]?.id ?? ''], {
      cwd,
      tty: { stdout: true },
    });
    expect(stdout).toMatch(/^recorded \S+ \S+: 200\n\nPOST \/v1beta\/models\/m:generateContent\n\{/);
    expect(stdout).toContain('"text": "first"');
    expect(stdout).toContain('\n\nHTTP 200\n');
    expect(stdout).not.toContain('\u001b');
  });

  test('shows a picture as its size and digest', async ({ server, cli }) => {
    const { cwd, recordings } = await recorded(server, cli);
    const { stdout } = await run(['recordings', 'show', 'kept', `${recordings[1]?.file}`, '--json'], { cwd });
    const shown = JSON.parse(stdout) as { reply: { body: { candidates: { content: { parts: object[] } }[] } } };
    const data = `<${picture.length} bytes, sha256 ${digest}>`;
    expect(shown.reply.body.candidates[0]?.content.parts).toEqual([{ inlineData: { mimeType: 'image/png', data } }]);
  });

  test.for([
    ['nothing-like-it', 'gateway-cli recordings list kept'],
    ['generateContent', 'name one: generateContent-m-'],
  ] as const)('%s is refused with what to type', async ([id, hint], { server, cli }) => {
    const { cwd } = await recorded(server, cli);
    const { code, stderr } = await run(['recordings', 'show', 'kept', id], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(hint);
  });
});

describe('prune', () => {
  test.for([
    ['old ones', ['--max-age', '36h'], [2]],
    ['failed ones', ['--failed'], [0]],
    ['both', ['--failed', '--max-age', '12h'], [0, 1, 2]],
  ] as const)('removes %s and names them', async ([, flags, expected], { server, cli }) => {
    const { cwd, kept, recordings } = await recorded(server, cli);
    const before = readdirSync(kept);
    const ids = expected.map((index) => recordings[index]?.id ?? '');
    const printed = ids.map((id) => `${id}\n`).join('');
    const trial = await run(['recordings', 'prune', 'kept', ...flags, '--dry-run'], { cwd });
    expect(trial).toMatchObject({ code: 0, stdout: printed });
    expect(trial.stderr).toContain(`would remove ${ids.length} of 3 recordings`);
    expect(readdirSync(kept)).toEqual(before);
    const ran = await run(['recordings', 'prune', 'kept', ...flags], { cwd });
    expect(ran).toMatchObject({ code: 0, stdout: printed });
    expect(readdirSync(kept)).toEqual(before.filter((name) => !ids.includes(name.replace('.jsonl', ''))));
  });

  test('without a rule is refused', async ({ server, cli }) => {
    const { cwd } = await recorded(server, cli);
    const { code, stderr } = await run(['recordings', 'prune', 'kept'], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain('--max-age 30d, or --failed');
  });
});

test('an impossible time is unknown', async () => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'kept'));
  const request = { method: 'POST', path: '/v1/messages', body: { model: 'm' } };
  const line = JSON.stringify({ recording: 1, hash: 'aa', scope: 'x', at: 1e300, request });
  writeFileSync(join(cwd, 'kept', 'a.jsonl'), `${line}\n`);
  const list = await run(['recordings', 'list', 'kept'], { cwd });
  expect(list).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^unknown {2}no reply/) });
  const shown = await run(['recordings', 'show', 'kept', 'a'], { cwd });
  expect(shown).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^recorded unknown: no reply\n/) });
  const facts = await run(['recordings', 'list', 'kept', '--json'], { cwd });
  expect(facts).toMatchObject({ code: 0, stderr: '' });
  const [recording] = (JSON.parse(facts.stdout) as { recordings: object[] }).recordings;
  expect(recording).toMatchObject({ id: 'a' });
  expect(recording).not.toHaveProperty('recorded');
});
