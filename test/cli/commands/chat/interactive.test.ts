import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, vi } from 'vitest';
import type { LineRead } from '../../../../src/cli/terminal/line-editor.ts';
import type { ReceivedRequest } from '../../../helpers/request-reader.ts';
import { eventStream, messageEvents, test } from '../../../helpers/with-server.ts';
import { person } from './person.ts';
import { jsonLines } from '../../../helpers/json-lines.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

/** A new state folder; env-paths reads the process itself. */
let sessions: string;
beforeEach(() => {
  const state = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
  sessions = join(state, 'gateway-cli', 'sessions');
});

const interrupt: LineRead = { kind: 'interrupt', again: false };

const answer = (...texts: string[]) => ({ body: eventStream(...messageEvents(...texts)) });
const kept = (): string[] => readdirSync(sessions).filter((name) => name.endsWith('.jsonl'));
const linesOf = (path: string): { role: string; content: unknown }[] => jsonLines(readFileSync(path, 'utf8'));

test('the hint at the end continues offline if the conversation was offline', async ({ cli }) => {
  const ran = await cli(['chat', '--offline'], person(['hi']).options);
  expect(ran.stderr).toContain('continue with: gateway-cli chat --offline --session ');
});

test('an odd base URL is reported once', async ({ server, cli }) => {
  server.reply(answer('Hello'));
  const ran = await cli(['chat', '--base-url', `${server.url}/v1`], person(['hi']).options);
  expect(ran.stderr.match(/at the end of the base URL is cut/g)).toHaveLength(1);
});

test('a continued conversation begins with its last exchange', async ({ server, cli }) => {
  for (const text of ['first', 'sec**ond**']) server.reply(answer(text));
  await cli(['chat', '--session', 'trip'], person(['a', 'b']).options);
  const env = { CI: '1', NO_COLOR: '1' };
  const ran = await cli(['chat', '--session', 'trip'], { ...person([]).options, env });
  expect(ran).toMatchObject({ code: 0, stdout: 'you:\nb\n\nm-001:\nsecond\n\n\n' });
});

test('a prompt that is only a dash is a prompt', async ({ server, cli }) => {
  server.reply(answer('Hello'));
  await cli(['chat'], person(['-']).options);
  expect(server.requests[0]?.json()).toMatchObject({ messages: [{ content: '-' }] });
});

test('answers prompts until the end of input, and every turn is on disk', async ({ server, cli }) => {
  server.reply(answer('Hello'));
  server.reply(() => {
    expect(linesOf(join(sessions, kept()[0] as string))).toHaveLength(2);
    return answer('Again \u001b[31m');
  });
  const ran = await cli(['chat'], person(['hi', '', 'more']).options);
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello\nAgain ^[[31m\n\n' });
  const [name = ''] = kept();
  expect(name).toMatch(/^\d{4}-\d{2}-\d{2}-\d{4}\.jsonl$/);
  expect(ran.stderr).toContain(`continue with: gateway-cli chat --session ${name.slice(0, -6)}`);
  expect(linesOf(join(sessions, name)).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(server.requests[1]?.json()).toMatchObject({ messages: [{ content: 'hi' }, {}, { content: 'more' }] });
  expect(readFileSync(join(sessions, 'chat-history'), 'utf8')).toBe('"hi"\n"more"\n');
});

test('a failed turn is reported and not kept', async ({ server, cli }) => {
  server.reply({ status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: 'not so' } } });
  server.reply(answer('Now'));
  const ran = await cli(['chat'], person(['hi', 'hi']).options);
  expect(ran).toMatchObject({ code: 0, stdout: 'Now\n\n' });
  expect(ran.stderr).toContain('gateway-cli: \u001b[31mrejected\u001b[39m: ');
  expect(linesOf(join(sessions, kept()[0] as string))).toMatchObject([{ content: 'hi' }, { role: 'assistant' }]);
});

test('/model and /system hold from the next prompt on, /system - takes it away', async ({ server, cli }) => {
  for (const text of ['one', 'two', 'three']) server.reply(answer(text));
  const typed = ['a', '/model other', '/system be kind', 'b', '/system', '/system -', 'c', '/system'];
  const ran = await cli(['chat', '--system', 'terse'], person(typed).options);
  expect(server.requests.map((request) => request.json())).toMatchObject([
    { model: 'm', system: 'terse' },
    { model: 'other', system: 'be kind' },
    { model: 'other' },
  ]);
  expect(server.requests[2]?.json()).not.toHaveProperty('system');
  expect(ran.stderr).toContain('system: be kind\n');
  expect(ran.stderr).toContain('system: none\n');
});

test('/model takes an alias, and no other model stands in for the one that it names', async ({ server, cli }) => {
  server.reply(answer('one'));
  server.reply({ status: 404, body: { type: 'error', error: { type: 'not_found_error', message: 'model: gone-1' } } });
  const config = join(scratchFolder(), 'config.json');
  writeFileSync(config, '{"profiles":{"default":{"service":"anthropic","models":{"fast":"gone-1"}}}}');
  const env = { GATEWAY_CONFIG: config, GATEWAY_MODEL: '' };
  const { options } = person(['a', '/model fast', 'b']);
  const ran = await cli(['chat'], { ...options, env: { ...options.env, ...env } });
  expect(server.requests.map((request) => request.json())).toMatchObject([
    { model: expect.stringMatching('claude') as string },
    { model: 'gone-1' },
  ]);
  expect(ran.stderr).toContain('model: gone-1');
});

test.for([
  ['as it stands', "/image shot (1) & it's.gif"],
  ['as a URL', "/image file://$PWD/shot%20(1)%20%26%20it's.gif"],
])('/image takes a path: %s', async ([, typed = ''], { server, cli }) => {
  server.reply(answer('seen'));
  const cwd = scratchFolder();
  writeFileSync(join(cwd, "shot (1) & it's.gif"), 'GIF89a\x01\x00\x01\x00');
  const ran = await cli(['chat'], { cwd, ...person([typed.replace('$PWD', cwd), 'what?']).options });
  expect(ran.stderr).toContain('with the next prompt:');
  expect(server.requests[0]?.json()).toMatchObject({ messages: [{ content: [{ type: 'image' }, { type: 'text' }] }] });
});

test('/attach sends a file along with the next prompt, and a wrong path is reported at once', async ({
  server,
  cli,
}) => {
  server.reply(answer('read'));
  server.reply(answer('still there'));
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'notes (1).txt'), 'buy milk');
  const typed = ['/attach none.txt', '/attach notes (1).txt', 'what?', 'and?'];
  const ran = await cli(['chat'], { cwd, ...person(typed).options });
  expect(ran.stderr).toContain(`/attach '${join(cwd, 'none.txt')}': there is no`);
  expect(ran.stderr).toContain('with the next prompt: ');
  expect(server.requests[0]?.json()).toMatchObject({
    messages: [{ content: [{ type: 'document', title: 'notes (1).txt' }, { text: 'what?' }] }],
  });
  expect(server.requests[1]?.json()).toMatchObject({ messages: [{}, {}, { content: 'and?' }] });
});

test('/image goes only with the next prompt, and a wrong path is reported at once', async ({ server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'a dot.gif'), 'GIF89a\x01\x00\x01\x00');
  server.reply(answer('one'));
  server.reply(answer('two'));
  const typed = ['/image none.png', '/image a dot.gif', '/image', 'what?', 'and?'];
  const ran = await cli(['chat'], { ...person(typed).options, cwd, columns: 300 });
  expect(ran.stderr).toContain(`/image '${join(cwd, 'none.png')}': there is no such file`);
  expect(ran.stderr).toContain('a dot.gif');
  const [first, second] = server.requests.map((request) => request.json() as { messages: { content: unknown }[] });
  expect(first?.messages[0]?.content).toMatchObject([{ type: 'image' }, { type: 'text', text: 'what?' }]);
  expect(second?.messages.at(-1)?.content).toBe('and?');
});

test.skipIf(process.platform === 'win32').for(['/image pipe', '/attach pipe'])(
  '%s, which is a pipe, is refused without waiting for it, and the conversation goes on',
  async (typed, { server, cli }) => {
    const cwd = scratchFolder();
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    server.reply(answer('one'));
    const ran = await cli(['chat'], { ...person([typed, 'what?']).options, cwd, columns: 300 });
    expect(ran.stderr).toContain('is a pipe or a device, which is read only once');
    expect(server.requests[0]?.json()).toMatchObject({ messages: [{ content: 'what?' }] });
  },
);

test('/save keeps the conversation under a name, and goes on there', async ({ server, cli }) => {
  const cwd = scratchFolder();
  for (const text of ['one', 'two']) server.reply(answer(text));
  const typed = ['/save early', 'a', '/save trip', 'b', '/save'];
  const ran = await cli(['chat'], { ...person(typed).options, cwd });
  expect(ran.stderr).toContain('nothing to keep yet');
  expect(kept()).toEqual(['trip.jsonl']);
  expect(linesOf(join(sessions, 'trip.jsonl'))).toHaveLength(4);
});

test('/save never touches a session that is there', async ({ server, cli }) => {
  server.reply(answer('first'));
  await cli(['chat', '--session', 'trip', 'x']);
  server.reply(answer('one'));
  const ran = await cli(['chat'], person(['a', '/save trip']).options);
  expect(ran.stderr).toContain('chat --session trip');
  expect(linesOf(join(sessions, 'trip.jsonl'))).toHaveLength(2);
});

test('--session goes on with what was said, and /help and typos are answered', async ({ server, cli }) => {
  server.reply(answer('one'));
  server.reply(answer('two'));
  await cli(['chat', '--session', 'trip', 'a']);
  const ran = await cli(['chat', '--session', 'trip'], person(['/help', '/hlep', 'b', '/exit', 'never']).options);
  expect(ran.stderr).toContain('1 answer before');
  expect(ran.stderr).toContain('/attach');
  expect(ran.stderr).toContain('there is no /hlep');
  expect(linesOf(join(sessions, 'trip.jsonl'))).toHaveLength(4);
  expect(server.requests).toHaveLength(2);
});

test('Ctrl-C twice leaves, once does not', async ({ server, cli }) => {
  server.reply(answer('one'));
  const { prompts, options } = person([interrupt, 'a', interrupt, { kind: 'interrupt', again: true }, 'never']);
  const ran = await cli(['chat'], options);
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('Ctrl-C again leaves');
  expect(prompts).toHaveLength(4);
});

test('--confirm asks between the prompts; anything but yes is no', async ({ server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'tools.json'), '[{"name":"now","input_schema":{"type":"object"}}]');
  const call = { type: 'tool_use', id: 't1', name: 'now', input: { zone: '\u009b31mUTC' } };
  const calling = { body: { id: 'x', role: 'assistant', content: [call], stop_reason: 'tool_use' } };
  for (const reply of [calling, answer('noon'), calling, answer('unknown')]) server.reply(reply);
  const { prompts, options } = person(['when?', 'yes', 'and now?', 'ok']);
  const flags = ['--tools', 'tools.json', '--tool-exec', 'now=date', '--confirm'];
  await cli(['chat', ...flags], { ...options, cwd, env: { CI: '1', PATH: '/usr/bin:/bin' } });
  expect(prompts[1]).toBe('run date for now {"zone":"M-^[31mUTC"}? [y/N] ');
  const results = [1, 3].map((n) => (server.requests[n] as ReceivedRequest).json() as { messages: unknown[] });
  expect(results.map(({ messages }) => messages.at(-1))).toMatchObject([
    { content: [{ content: expect.stringMatching(/\d/) }] },
    { content: [{ content: 'the user did not allow this call', is_error: true }] },
  ]);
});

test('the history of the last time is there', async ({ server, cli }) => {
  server.always(answer('one'));
  await cli(['chat'], person(['a\nb', '/help']).options);
  let history: readonly string[] = [];
  await cli(['chat'], person([], (options) => (history = options.history)).options);
  expect(history).toEqual(['a\nb', '/help']);
});

test('without a state folder, no history is written: not even into the current folder', async ({ server, cli }) => {
  vi.stubEnv('XDG_STATE_HOME', 'relative');
  server.reply(answer('one'));
  expect(await cli(['chat'], person(['a']).options)).toMatchObject({ code: 0, stdout: 'one\n\n' });
  expect(existsSync('chat-history')).toBe(false);
});

test('a conversation that cannot be kept is a warning, once', async ({ server, cli }) => {
  const file = join(scratchFolder(), 'file');
  writeFileSync(file, '');
  vi.stubEnv('XDG_STATE_HOME', file);
  server.always(answer('one'));
  const ran = await cli(['chat'], person(['a', 'b']).options);
  expect(ran).toMatchObject({ code: 0, stdout: 'one\none\n\n' });
  expect(ran.stderr.match(/not kept/g)).toHaveLength(1);
});

test.for([
  ['--json', ['--json']],
  ['--jsonl', ['--jsonl']],
  ['stdout in a pipe', []],
] as const)('%s without a prompt does not start a conversation', async ([name, flags], { cli }) => {
  const { options } = person(['a']);
  const ran = await cli(['chat', ...flags], name.startsWith('--') ? options : { ...options, tty: { stdout: false } });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('there is no prompt');
  expect(existsSync(sessions)).toBe(false);
});

test('an answer that does not fit its schema is reported and not kept', async ({ server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 's.json'), '{"type":"object"}');
  server.reply(answer('words'));
  const ran = await cli(['chat', '--schema', 's.json'], { ...person(['hi']).options, cwd });
  expect(ran).toMatchObject({ code: 0, stdout: 'words\n\n' });
  expect(ran.stderr).toContain('gateway-cli: \u001b[31mincomplete\u001b[39m: ');
  expect(existsSync(sessions) ? kept() : []).toEqual([]);
});

test('the hint at the end continues with the profile', async ({ server, cli }) => {
  const cwd = scratchFolder();
  const profiles = { work: { baseUrl: server.url, apiKey: 'k' } };
  writeFileSync(join(cwd, 'c.json'), JSON.stringify({ profiles }), { mode: 0o600 });
  server.reply(answer('Hello'));
  const { options } = person(['hi']);
  const env = { ...options.env, GATEWAY_CONFIG: join(cwd, 'c.json') };
  const ran = await cli(['chat', '--profile', 'work'], { ...options, env });
  expect(ran.stderr).toContain('continue with: gateway-cli chat --profile work --session ');
});

test('what is said at the end goes on at the same service with the same model', async ({ server, cli }) => {
  server.reply({ body: 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n' });
  const argv = ['chat', '--service', 'ollama', '--base-url', server.url, '-m', 'llama3.2'];
  const ran = await cli(argv, person(['hi']).options);
  expect(ran.stderr).toContain(`gateway-cli chat --service ollama --base-url ${server.url} --session `);
});

test('a second conversation of the same minute gets a name of its own', async ({ server, cli }) => {
  mkdirSync(sessions, { recursive: true });
  const two = (value: number) => String(value).padStart(2, '0');
  // The minutes that this test may take, and more.
  for (let minute = 0; minute < 180; minute++) {
    const at = new Date(Date.now() + minute * 60_000);
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    writeFileSync(join(sessions, `${day}-${two(at.getHours())}${two(at.getMinutes())}.jsonl`), '');
  }
  server.reply(answer('Hello'));
  await cli(['chat'], person(['hi']).options);
  expect(kept().filter((name) => name.endsWith('-2.jsonl'))).toHaveLength(1);
});
