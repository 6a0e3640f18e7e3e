import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, vi } from 'vitest';
import { eventStream, messageEvents, test } from '../../../helpers/with-server.ts';
import { png } from '../../../replies/deviation.ts';
import { jsonLines } from '../../../helpers/json-lines.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

/** A new state folder; env-paths reads the process itself. */
let state: string;
beforeEach(() => {
  state = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
});

const answer = (...texts: string[]) => ({ body: eventStream(...messageEvents(...texts)) });
const dot = Buffer.from(png, 'base64');
const sessionFile = (name: string): string => join(state, 'gateway-cli', 'sessions', `${name}.jsonl`);
const linesOf = (path: string): unknown[] => jsonLines(readFileSync(path, 'utf8'));

test('--session keeps each turn and sends the earlier ones along', async ({ server, cli }) => {
  server.reply(answer('Rome'));
  server.reply(answer('Ostia'));
  expect(await cli(['chat', '--session', 'trip', 'where?', '--system', 'terse'])).toMatchObject({
    code: 0,
    stdout: 'Rome\n',
    stderr: '',
  });
  expect(statSync(sessionFile('trip')).mode & 0o777).toBe(0o600);
  expect(statSync(join(state, 'gateway-cli', 'sessions')).mode & 0o777).toBe(0o700);
  expect(await cli(['chat', '--session', 'trip', 'and then?'])).toMatchObject({
    code: 0,
    stdout: 'Ostia\n',
    stderr: '',
  });
  expect(server.requests[1]?.json()).toEqual({
    model: 'm',
    max_tokens: 4096,
    system: 'terse',
    messages: [
      { role: 'user', content: 'where?' },
      { role: 'assistant', content: [{ type: 'text', text: 'Rome' }] },
      { role: 'user', content: 'and then?' },
    ],
    stream: true,
  });
  expect(linesOf(sessionFile('trip'))).toMatchObject([
    { role: 'user', content: 'where?', system: 'terse' },
    { role: 'assistant', model: 'm-001' },
    { role: 'user', content: 'and then?' },
    { role: 'assistant', content: [{ type: 'text', text: 'Ostia' }] },
  ]);
  expect(existsSync(`${sessionFile('trip')}.lock`)).toBe(false);
});

/** The models that a session asks, run by run. */
const runs: [string, { flags?: string[]; env?: Record<string, string> }[], (string | undefined)[]][] = [
  ['its own', [{ flags: ['-m', 'old'] }, {}, { env: { GATEWAY_MODEL: 'new' } }], ['old', 'old', 'old']],
  ['that of a flag, and then that', [{ flags: ['-m', 'old'] }, { flags: ['-m', 'new'] }, {}], ['old', 'new', 'new']],
  [
    'that of the settings, where it was with another service',
    [{ flags: ['-m', 'old'] }, { flags: ['--format', 'messages'], env: { GATEWAY_BASE_URL: 'other' } }],
    ['old', 'm'],
  ],
];
test.for(runs)('a session goes on with a model: %s', async ([, steps, models], { server, cli }) => {
  for (const [at, { flags = [], env = {} }] of steps.entries()) {
    server.reply(answer('yes'));
    const own = env['GATEWAY_BASE_URL']
      ? { ...env, GATEWAY_BASE_URL: server.url.replace('127.0.0.1', 'localhost') }
      : env;
    const named = at % 2 === 0 ? ['--session', 'trip'] : ['--continue'];
    expect(await cli(['chat', 'x', ...named, ...flags], { env: own })).toMatchObject({ code: 0 });
  }
  expect(server.requests.map((request) => (request.json() as { model: string }).model)).toEqual(models);
});

test('a session does not go on with the model that answered once in its place', async ({ server, cli }) => {
  server.reply({ status: 529, body: { type: 'error', error: { type: 'overloaded_error', message: 'busy' } } });
  server.reply(answer('yes'));
  server.reply(answer('again'));
  await cli(['chat', 'x', '--session', 's', '-m', 'first', '--fallback', 'second', '--retries', '0']);
  await cli(['chat', 'y', '--session', 's']);
  expect(server.requests.map((request) => (request.json() as { model: string }).model)).toEqual([
    'first',
    'second',
    'first',
  ]);
});

test.for([
  "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning' is unsupported)]",
  'messages[1].reasoning: reasoning is not supported with this model',
])('a model that takes no thinking of another one gets none: %s', async (message, { server, cli }) => {
  const cwd = scratchFolder();
  const service = `${new URL(server.url).host}/completions`;
  const thinking = { type: 'thinking', thinking: 'hm', signature: 'reasoning' };
  const turns = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [thinking, { type: 'tool_use', id: 'c', name: 'f', input: {} }], service },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'r' }] },
    { role: 'assistant', content: 'y', service },
  ];
  writeFileSync(join(cwd, 't.jsonl'), turns.map((turn) => `${JSON.stringify(turn)}\n`).join(''));
  server.reply({ status: 400, body: { error: { message, type: 'invalid_request_error' } } });
  server.reply({ body: { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] } });
  const ran = await cli(['chat', '--session', './t.jsonl', 'z', '--format', 'completions'], { cwd });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hi\n' });
  const sent = server.requests.map((request) => (request.json() as { messages: object[] }).messages[1]);
  expect(sent[0]).toMatchObject({ reasoning: 'hm' });
  expect(sent[1]).not.toHaveProperty('reasoning');
});

test('--continue takes the newest session, and without one says how to begin', async ({ server, cli }) => {
  const none = await cli(['chat', '--continue', 'x']);
  expect(none).toMatchObject({ code: 2, stdout: '' });
  expect(none.stderr).toContain('--session notes');
  server.reply(answer('one'));
  server.reply(answer('two'));
  await cli(['chat', '--session', 'only', 'a']);
  await cli(['chat', '--continue', 'b']);
  expect(linesOf(sessionFile('only'))).toHaveLength(4);
});

test('a path is used as it is, and its pictures are sent again', async ({ server, cli }) => {
  const cwd = scratchFolder();
  server.reply(answer('a dot'));
  server.reply(answer('black'));
  await cli(['chat', '--session', 'talk.jsonl', '-i', '-', 'what?'], { cwd, stdin: dot });
  await cli(['chat', '--session', './talk.jsonl', 'which colour?'], { cwd });
  const source = { type: 'base64', media_type: 'image/png', data: dot.toString('base64') };
  expect(server.requests[1]?.json()).toMatchObject({
    messages: [
      {
        content: [
          { type: 'image', source },
          { type: 'text', text: 'what?' },
        ],
      },
      { role: 'assistant' },
      { role: 'user', content: 'which colour?' },
    ],
  });
  expect(existsSync(join(state, 'gateway-cli'))).toBe(false);
});

const cut = { body: eventStream(...messageEvents('Hel').slice(0, 3)) };
const refused = { body: { id: 'x', role: 'assistant', content: [], stop_reason: 'refusal' } };
const failed = { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: 'no' } } };

test.for([
  ['cut', cut, 11],
  ['refused', refused, 10],
  ['failed', failed, 4],
] as const)('a turn that was %s is not kept', async ([, reply, code], { server, cli }) => {
  server.reply(answer('one'));
  server.reply(reply);
  await cli(['chat', '--session', 's', 'a']);
  const before = readFileSync(sessionFile('s'));
  expect(await cli(['chat', '--session', 's', 'b'])).toMatchObject({ code });
  expect(readFileSync(sessionFile('s'))).toEqual(before);
});

test('an answer that does not fit its schema is not kept', async ({ server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 's.json'), '{"type":"object"}');
  server.reply(answer('words'));
  expect(await cli(['chat', '--session', 't.jsonl', 'a', '--schema', 's.json'], { cwd })).toMatchObject({ code: 11 });
  expect(existsSync(join(cwd, 't.jsonl'))).toBe(false);
});

test('--dry-run shows the earlier turns and changes nothing, also while the session is in use', async ({ cli }) => {
  const cwd = scratchFolder();
  const path = join(cwd, 't.jsonl');
  writeFileSync(path, '{"role":"user","content":"q"}\n{"role":"assistant","content":"a"}\n');
  writeFileSync(`${path}.lock`, '{}');
  const ran = await cli(['chat', '--session', 't.jsonl', 'b', '--dry-run', '--json'], { cwd });
  expect(JSON.parse(ran.stdout)).toMatchObject({
    body: { messages: [{ content: 'q' }, { content: 'a' }, { content: 'b' }] },
  });
  expect(await cli(['chat', '--session', 't.jsonl', 'b'], { cwd })).toMatchObject({ code: 2 });
});

test('a body without a prompt does not go on with a session', async ({ cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'b.json'), '{"top_k":3}');
  const ran = await cli(['chat', '--session', 'a', '--body', 'b.json'], { cwd });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('there is no prompt');
});

test.for([
  ['a name that is none', ['--session', 'my trip'], '--session my-trip'],
  ['two sessions', ['--session', 'a', '--continue'], 'both name a session'],
  ['--raw', ['--session', 'a', '--raw'], '--raw'],
  ['--messages', ['--session', 'a', '--messages', 'm.json'], 'both hold earlier turns'],
  ['--body with turns', ['--session', 'a', '--body', 'b.json'], 'both hold earlier turns'],
  ['a flag as its name', ['--session', '--json'], '--session needs a value'],
  ['a folder that is not there', ['--session', 'no/such/t.jsonl'], 'there is no folder'],
] as const)('refuses %s before anything is sent', async ([, flags, told], { cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'm.json'), '[]');
  writeFileSync(join(cwd, 'b.json'), '{"messages":[]}');
  const ran = await cli(['chat', 'x', ...flags], { cwd });
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.stderr).toContain(told);
});

test.for([[], ['--dry-run']])('refuses a pipe as a session before anything is sent %j', async (flags, { cli }) => {
  const cwd = scratchFolder();
  execFileSync('mkfifo', [join(cwd, 't.jsonl')]);
  const ran = await cli(['chat', '--session', 't.jsonl', 'hi', ...flags], { cwd });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('t.jsonl" is a device, a pipe or a socket');
  expect(readdirSync(cwd)).toEqual(['t.jsonl']);
});

test('a turn that a crash cut is left out, and that is said', async ({ server, cli }) => {
  const cwd = scratchFolder();
  const path = join(cwd, 't.jsonl');
  writeFileSync(path, '{"role":"user","content":"q"}\n{"role":"assistant","content":"a"}\n{"role":"us');
  server.reply(answer('b'));
  const ran = await cli(['chat', '--session', 't.jsonl', 'more'], { cwd });
  expect(ran).toMatchObject({ code: 0, stdout: 'b\n' });
  expect(ran.stderr).toBe(
    `gateway-cli: warning: the last turn in ${path} was cut by a crash; it is left out; the next turn moves it to ${path}.aside\n`,
  );
  expect(linesOf(path)).toHaveLength(4);
});
