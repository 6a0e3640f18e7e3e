import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { ownMark } from '../../../../src/library/files/process-mark.ts';
import { run } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

let folder: string;
beforeEach(() => {
  const state = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
  vi.stubEnv('TZ', 'UTC');
  folder = join(state, 'gateway-cli', 'sessions');
  mkdirSync(folder, { recursive: true });
});

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };

/** Two sessions: trip is newer than old. */
function twoSessions(): void {
  const put = (name: string, seconds: number, ...messages: object[]) => {
    const path = join(folder, `${name}.jsonl`);
    writeFileSync(path, messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
    utimesSync(path, seconds, seconds);
  };
  put('old', 1_700_000_000, { role: 'user', content: 'first\nprompt' }, { role: 'assistant', content: 'yes' });
  put(
    'trip',
    1_700_000_060,
    { role: 'user', content: [image, { type: 'text', text: 'what \u001b[31mis it?' }], system: 'terse' },
    { role: 'assistant', content: [{ type: 'text', text: 'a dot' }], model: 'm-001' },
  );
}

test('list prints the newest first', async () => {
  twoSessions();
  const ran = await run(['sessions', 'list']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toBe(
    'trip  2023-11-14 22:14     2  what ^[[31mis it?\nold   2023-11-14 22:13     2  first prompt\n',
  );
});

test('list takes a word of the name or of a message', async () => {
  twoSessions();
  expect((await run(['sessions', 'list', 'TRIP'])).stdout).toMatch(/^trip .*\n$/);
  expect((await run(['sessions', 'list', 'first'])).stdout).toMatch(/^old .*\n$/);
  expect((await run(['sessions', 'list', 'A dot'])).stdout).toMatch(/^trip .*\n$/);
  expect(await run(['sessions', 'list', 'none'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect((await run(['sessions', 'list', 'none'], { tty: { stderr: true } })).stderr).toContain(
    'none of 2 conversations',
  );
});

test('list keeps its columns with wide characters, and cuts none of them in half', async () => {
  twoSessions();
  const prompt = '三つの名前'.repeat(7);
  writeFileSync(
    join(folder, '旅行.jsonl'),
    `{"role":"user","content":"${prompt}"}\n{"role":"assistant","content":"a"}\n`,
  );
  utimesSync(join(folder, '旅行.jsonl'), 1_700_000_120, 1_700_000_120);
  expect((await run(['sessions', 'list'])).stdout.split('\n').slice(0, 2)).toEqual([
    `旅行  2023-11-14 22:15     2  ${prompt.slice(0, 29)}…`,
    'trip  2023-11-14 22:14     2  what ^[[31mis it?',
  ]);
});

test('list --json prints one document, with the unreadable sessions', async () => {
  twoSessions();
  writeFileSync(join(folder, 'bad.jsonl'), 'x\ny\n');
  const ran = await run(['sessions', 'list', '--json']);
  const document = JSON.parse(ran.stdout) as { schema: string; sessions: { name: string; error?: string }[] };
  expect(document.schema).toBe('gateway-cli/sessions@1');
  expect(document.sessions.map(({ name }) => name)).toEqual(['bad', 'trip', 'old']);
  expect(document.sessions[0]?.error).toContain('line 1');
});

test('without a session the list is empty, and a terminal is told how one is kept', async () => {
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'none'));
  expect(await run(['sessions', 'list'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
  const told = await run(['sessions', 'list'], { tty: { stderr: true } });
  expect([told.code, told.stderr]).toEqual([0, expect.stringContaining('gateway-cli chat --session notes')]);
});

test('show prints the conversation with the sizes of pictures, escaped on a terminal', async () => {
  twoSessions();
  const text = 'you:\n[image image/png, 3 bytes]\nwhat \u001b[31mis it?\n\nm-001:\na dot\n';
  expect(await run(['sessions', 'show', 'trip'])).toMatchObject({ code: 0, stdout: text, stderr: '' });
  const shown = await run(['sessions', 'show', 'trip'], { tty: { stdout: true }, env: { NO_COLOR: '1' } });
  expect(shown.stdout).toBe(text.replace('\u001b', '^['));
});

test('show formats the Markdown of answers on a terminal', async () => {
  const messages = [
    { role: 'user', content: 'a **list**?' },
    { role: 'assistant', content: `# Names\n\n${'- **Fog**\n'.repeat(40)}`, model: 'm-001' },
  ];
  writeFileSync(join(folder, 'long.jsonl'), messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  const ran = await run(['sessions', 'show', 'long'], { tty: { stdout: true }, env: { NO_COLOR: '1' } });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout.split('\n').slice(0, 7)).toEqual([
    'you:',
    'a **list**?',
    '',
    'm-001:',
    '# Names',
    '',
    expect.stringMatching(/^\s*[•*-] Fog$/),
  ]);
  expect((await run(['sessions', 'show', 'long'])).stdout).toContain('- **Fog**\n');
});

test('show --json shortens pictures, export --json does not', async () => {
  twoSessions();
  const show = await run(['sessions', 'show', 'trip', '--json']);
  expect(JSON.parse(show.stdout)).toMatchObject({ name: 'trip', messages: [{ system: 'terse' }, { model: 'm-001' }] });
  expect(show.stdout).not.toContain('AAAA');
  const exported = JSON.parse((await run(['sessions', 'export', 'trip', '--json'])).stdout) as { messages: unknown };
  expect(exported.messages).toEqual([
    { role: 'user', content: [image, { type: 'text', text: 'what \u001b[31mis it?' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'a dot' }] },
  ]);
});

test('chat --messages accepts the output of export --json', async () => {
  twoSessions();
  const { stdout, cwd } = await run(['sessions', 'export', 'old', '--json']);
  writeFileSync(join(cwd, 'earlier.json'), stdout);
  const argv = ['chat', '--offline', '--dry-run', '--json', '--messages', 'earlier.json', 'go on'];
  const ran = await run(argv, { cwd });
  expect(JSON.parse(ran.stdout)).toMatchObject({
    body: { messages: [{ content: 'first\nprompt' }, { content: 'yes' }, { content: 'go on' }] },
  });
});

test('export prints Markdown, also for a file', async () => {
  twoSessions();
  const markdown = '# old\n\n## You\n\nfirst\nprompt\n\n## Answer\n\nyes\n';
  expect(await run(['sessions', 'export', 'old'])).toMatchObject({ code: 0, stdout: markdown });
  expect(await run(['sessions', 'export', join(folder, 'old.jsonl')])).toMatchObject({ code: 0, stdout: markdown });
});

test('rm removes all named sessions or none, with what a crash left of them', async () => {
  twoSessions();
  writeFileSync(join(folder, 'trip.jsonl.aside'), '{"role":"user"');
  const wrong = await run(['sessions', 'rm', 'trip', 'tripp']);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toContain('there are: trip, old');
  expect(existsSync(join(folder, 'trip.jsonl'))).toBe(true);
  expect(await run(['sessions', 'rm', 'trip', 'old'])).toMatchObject({ code: 0, stdout: 'trip\nold\n', stderr: '' });
  expect(readdirSync(folder)).toEqual([]);
});

test('rm refuses paths, and a session that is in use', async () => {
  twoSessions();
  const path = join(folder, 'trip.jsonl');
  expect(await run(['sessions', 'rm', path])).toMatchObject({ code: 2 });
  expect(await run(['sessions', 'rm', '../../x'])).toMatchObject({ code: 2 });
  writeFileSync(`${path}.lock`, JSON.stringify(ownMark()));
  expect(await run(['sessions', 'rm', 'trip', '--json'])).toMatchObject({ code: 2 });
  expect(existsSync(path)).toBe(true);
});

test.each([['show'], ['export']])('%s names the existing sessions, and needs a name', async (command) => {
  twoSessions();
  const ran = await run(['sessions', command, 'nope']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('there are: trip, old');
  expect(await run(['sessions', command])).toMatchObject({ code: 2 });
  expect(await run(['sessions', command, './none.jsonl'])).toMatchObject({ code: 2 });
});

test('sessions with the same time are sorted by name', async () => {
  for (const name of ['b', 'a', 'c']) {
    const path = join(folder, `${name}.jsonl`);
    writeFileSync(path, '{"role":"user","content":"q"}\n{"role":"assistant","content":"a"}\n');
    utimesSync(path, 1_700_000_000, 1_700_000_000);
  }
  const { stdout } = await run(['sessions', 'list']);
  expect(stdout.split('\n').map((line) => line[0])).toEqual(['a', 'b', 'c', undefined]);
});

test('rm --all removes every session, and the history of what was typed', async () => {
  twoSessions();
  writeFileSync(join(folder, 'trip.jsonl.aside'), '{');
  writeFileSync(join(folder, 'chat-history'), '"private"\n');
  expect(await run(['sessions', 'rm', '--all', 'trip'])).toMatchObject({ code: 2, stdout: '' });
  expect(await run(['sessions', 'rm'])).toMatchObject({ code: 2, stdout: '' });
  expect(readdirSync(folder)).toHaveLength(4);
  expect(await run(['sessions', 'rm', '--all'])).toMatchObject({ code: 0, stdout: 'trip\nold\n', stderr: '' });
  expect(readdirSync(folder)).toEqual([]);
  expect(await run(['sessions', 'rm', '--all'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

test('list shows the start of a long prompt', async () => {
  const put = (name: string, content: string) =>
    writeFileSync(
      join(folder, `${name}.jsonl`),
      `${JSON.stringify({ role: 'user', content })}\n{"role":"assistant","content":"a"}\n`,
    );
  put('fits', 'x'.repeat(60));
  put('long', 'y'.repeat(61));
  const { stdout } = await run(['sessions', 'list']);
  expect(stdout).toMatch(/ x{60}\n/);
  expect(stdout).toMatch(/ y{59}…\n/);
});

test('an incomplete turn after a crash is omitted with a warning', async () => {
  const path = join(folder, 'torn.jsonl');
  writeFileSync(path, '{"role":"user","content":"q"}\n{"role":"assistant","content":"a"}\n{"role":"us');
  for (const command of ['show', 'export']) {
    const ran = await run(['sessions', command, 'torn']);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toBe(`gateway-cli: warning: the last turn in ${path} was cut by a crash; it is left out\n`);
  }
});

test('show prints calls, results and documents in a line each', async () => {
  const source = { type: 'text', media_type: 'text/plain', data: 'hello' };
  const content = [
    { type: 'document', source, title: 'notes.txt' },
    { type: 'tool_result', tool_use_id: 't' },
    { type: 'tool_result', tool_use_id: 't', content: 'rain' },
    { type: 'odd' },
  ];
  const calls = [
    { type: 'text', text: 'a' },
    { type: 'tool_use', id: 't', name: 'f', input: { x: 1 } },
  ];
  const messages = [
    { role: 'assistant', content: calls },
    { role: 'user', content },
    { role: 'assistant', content: 'done' },
  ];
  writeFileSync(join(folder, 'all.jsonl'), messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  const ran = await run(['sessions', 'show', 'all']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toBe(
    'model:\na\n[calls f {"x":1}]\n\nyou:\n[document notes.txt, 5 bytes]\n[result ""]\n[result "rain"]\n[odd]\n\nmodel:\ndone\n',
  );
  const json = await run(['sessions', 'show', 'all', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    messages: [{}, { content: [{ type: 'document', file: 'document notes.txt, 5 bytes' }, {}, {}, {}] }, {}],
  });
  expect(json.stdout).not.toContain('hello');
});

test('rm --json lists the removed sessions', async () => {
  twoSessions();
  const ran = await run(['sessions', 'rm', 'trip', '--json']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ran.stdout)).toEqual({
    schema: 'gateway-cli/sessions@1',
    ok: true,
    exitCode: 0,
    warnings: [],
    removed: ['trip'],
  });
});

test('list and show agree on sessions whose pictures are longer than what is read at once, and on files of such length that are none', async () => {
  const data = 'A'.repeat(1_500_000);
  const picture = { ...image, source: { ...image.source, data } };
  const question = { role: 'user', content: [picture, { type: 'text', text: 'what is it?' }] };
  const lines = [
    question,
    { role: 'assistant', content: 'a dot' },
    question,
    { role: 'assistant', content: [picture] },
  ];
  const text = lines.map((line) => JSON.stringify(line)).join('\n');
  writeFileSync(join(folder, 'whole.jsonl'), text);
  writeFileSync(join(folder, 'torn.jsonl'), `${text}\n${JSON.stringify(question).slice(0, 900_000)}`);
  writeFileSync(join(folder, 'noise.jsonl'), `${data}\n${text}`);
  const listed = JSON.parse((await run(['sessions', 'list', '--json'])).stdout) as { sessions: object[] };
  const noise = expect.stringContaining('no message in line 1');
  expect(listed.sessions).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'whole', messages: 4, prompt: 'what is it?' }),
      expect.objectContaining({ name: 'torn', messages: 4, prompt: 'what is it?' }),
      expect.objectContaining({ name: 'noise', messages: 0, prompt: '', error: noise }),
    ]),
  );
  for (const name of ['whole', 'torn'])
    expect(JSON.parse((await run(['sessions', 'show', name, '--json'])).stdout)).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }, { role: 'assistant' }],
    });
  expect(await run(['sessions', 'show', 'noise'])).toMatchObject({ code: 2, stderr: noise });
});

test('list knows a long text without a space that begins after an escape, wherever that is cut', async () => {
  const block = 256 * 1024;
  const [head, answer] = ['{"role":"user","content":"', '{"role":"assistant","content":"yes"}\n'];
  const escape = String.raw`\u00e9`;
  for (let cut = 1; cut < escape.length; cut++) {
    const text = `${'x'.repeat(block - head.length - cut)}${escape}${'y'.repeat(2 * block)}`;
    writeFileSync(join(folder, `cut-${cut}.jsonl`), `${head}${text}"}\n${answer}`);
  }
  const { code, stdout, stderr } = await run(['sessions', 'list']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.match(/^cut-\d .* 2 {2}xxx/gm)).toHaveLength(escape.length - 1);
});
