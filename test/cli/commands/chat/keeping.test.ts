import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, vi } from 'vitest';
import { GatewayError } from '../../../../src/library/errors.ts';
import { jsonLines } from '../../../helpers/json-lines.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { createPause } from '../../../helpers/scripted-server.ts';
import { eventStream, messageEvents, test } from '../../../helpers/with-server.ts';
import { person } from './person.ts';

/** A new state folder; env-paths reads the process itself. */
let sessions: string;
beforeEach(() => {
  const state = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
  sessions = join(state, 'gateway-cli', 'sessions');
});

const answer = (...texts: string[]) => ({ body: eventStream(...messageEvents(...texts)) });
const kept = (): string[] =>
  existsSync(sessions) ? readdirSync(sessions).filter((name) => name.endsWith('.jsonl')) : [];
const rolesIn = (name: string): string[] =>
  jsonLines<{ role: string }>(readFileSync(join(sessions, name), 'utf8')).map(({ role }) => role);

test('a conversation says at its beginning that it is kept', async ({ server, cli }) => {
  server.reply(answer('Hello'));
  const ran = await cli(['chat'], person(['hi']).options);
  expect(ran.stderr).toContain('kept as a session');
  expect(kept()).toHaveLength(1);
});

test('--no-save keeps nothing, and says so', async ({ server, cli }) => {
  server.reply(answer('Hello'));
  const ran = await cli(['chat', '--no-save'], person(['hi']).options);
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello\n\n' });
  expect(ran.stderr).toContain('not kept');
  expect(existsSync(sessions)).toBe(false);
  const named = await cli(['chat', 'hi', '--no-save', '--session', 'trip']);
  expect(named).toMatchObject({ code: 2, stdout: '' });
});

test('/new begins a new conversation, in a session of its own', async ({ server, cli }) => {
  server.reply(answer('one'));
  server.reply(answer('two'));
  const ran = await cli(['chat'], person(['first', '/new', 'second']).options);
  expect(ran.stderr).toContain('a new conversation; the one before is kept as ');
  expect(server.requests[1]?.json()).toMatchObject({ messages: [{ role: 'user', content: 'second' }] });
  expect(kept().map(rolesIn)).toEqual([
    ['user', 'assistant'],
    ['user', 'assistant'],
  ]);
});

test('Ctrl-C keeps what came of the answer', async ({ server, cli }) => {
  const pause = createPause();
  const events = messageEvents('half of ');
  server.reply({
    headers: { 'content-type': 'text/event-stream' },
    chunks: [eventStream(...events.slice(0, 3)), pause.until],
  });
  server.reply(answer('more'));
  const someone = person(['hi', 'go on']);
  const running = cli(['chat', '--no-markdown'], {
    ...someone.options,
    onStdout: (text) => {
      if (text.includes('half of')) someone.interrupt();
    },
  });
  const ran = await running;
  pause.release();
  expect(ran.stderr).toContain('what came of the answer is kept');
  expect(server.requests[1]?.json()).toMatchObject({
    messages: [
      { content: 'hi' },
      { role: 'assistant', content: [{ type: 'text', text: 'half of ' }] },
      { content: 'go on' },
    ],
  });
  expect(kept().map(rolesIn)).toEqual([['user', 'assistant', 'user', 'assistant']]);
});

test.for([
  ['SIGHUP', 'hangup', 129],
  ['SIGQUIT', 'quit', 131],
  ['SIGTERM', 'terminated', 143],
] as const)('%s keeps what came of the answer, as Ctrl-C does', async ([name, ended, code], { server, cli }) => {
  const pause = createPause();
  server.reply({
    headers: { 'content-type': 'text/event-stream' },
    chunks: [eventStream(...messageEvents('half of ').slice(0, 3)), pause.until],
  });
  const ending = new AbortController();
  const ran = await cli(['chat', '--no-markdown'], {
    ...person(['hi', 'never asked']).options,
    signal: ending.signal,
    onStdout: (text) => {
      if (text.includes('half of')) ending.abort(new GatewayError(ended, `ended by ${name}`));
    },
  });
  pause.release();
  expect(ran.code).toBe(code);
  expect(ran.stderr).toContain('what came of the answer is kept');
  expect(kept().map(rolesIn)).toEqual([['user', 'assistant']]);
});

test('--continue, or -c, says which conversation it continues, as a single answer is not kept', async ({
  server,
  cli,
}) => {
  for (const text of ['older', 'single', 'shorter']) server.reply(answer(text));
  await cli(['chat', 'about\nRome', '--session', 'trip']);
  await cli(['chat', 'about Oslo']);
  const ran = await cli(['chat', '-c', 'shorter'], { tty: { stderr: true } });
  expect(ran).toMatchObject({ code: 0, stdout: 'shorter\n' });
  expect(ran.stderr).toMatch(
    /^continues trip, saved \d{4}-\d\d-\d\d \d\d:\d\d, with 127\.0\.0\.1:\d+: "about Rome"\n$/,
  );
});

/** The session `trip` of a model on this machine, and where it would go. */
const elsewhere = ['--session', 'trip', '--base-url', 'https://gateway.invalid', '--retries', '0'];
const trip = (): string => readFileSync(join(sessions, 'trip.jsonl'), 'utf8');

test('a conversation with a model on this machine goes to another host only with --allow-remote', async ({
  server,
  cli,
}) => {
  server.reply(answer('here'));
  await cli(['chat', 'private', '--session', 'trip']);
  const before = trip();
  const refused = await cli(['chat', 'go on', ...elsewhere]);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('would go to gateway.invalid');
  expect(refused.stderr).toContain('--allow-remote');
  const continued = await cli(['chat', 'go on', '--continue', ...elsewhere.slice(2)]);
  expect(continued.code).toBe(2);
  expect((await cli(['chat', 'go on', ...elsewhere, '--dry-run'])).code).toBe(0);
  expect((await cli(['chat', 'go on', ...elsewhere, '--allow-remote'])).code).toBe(7);
  expect(trip()).toBe(before);
});

test('on a terminal, a conversation with a model on this machine goes to another host only after a yes', async ({
  server,
  cli,
}) => {
  server.reply(answer('here'));
  await cli(['chat', '--session', 'trip'], person(['private']).options);
  const denied = await cli(['chat', 'go on', ...elsewhere], { answers: [''] });
  expect(denied.code).toBe(2);
  expect(denied.stderr).toContain('nothing was sent to gateway.invalid');
  const allowed = await cli(['chat', 'go on', ...elsewhere], { answers: ['y'] });
  expect(allowed.code).toBe(7);
  const interactive = await cli(['chat', ...elsewhere], { ...person(['go on']).options, answers: ['n'] });
  expect(interactive.code).toBe(2);
});

test.for([
  ['gateway.example/messages', 7],
  ['ollama/completions', 2],
  ['[::1]:8080/completions', 2],
  ['gateway/messages', 2],
] as const)(
  'a conversation with %s, continued at another host, ends with exit code %i',
  async ([service, code], { cli }) => {
    mkdirSync(sessions, { recursive: true });
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'hello', service },
    ];
    writeFileSync(join(sessions, 'trip.jsonl'), messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
    expect((await cli(['chat', 'go on', ...elsewhere])).code).toBe(code);
  },
);
