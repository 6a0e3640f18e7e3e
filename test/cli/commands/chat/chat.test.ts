import { expect } from 'vitest';
import { createPause } from '../../../helpers/scripted-server.ts';
import { jsonLines } from '../../../helpers/json-lines.ts';
import { png } from '../../../replies/deviation.ts';
import { canaryKey, eventStream, messageEvents, test } from '../../../helpers/with-server.ts';

test('streams the answer and asks in the messages format with its headers', async ({ server, cli }) => {
  server.reply({ headers: { 'content-type': 'text/event-stream' }, body: eventStream(...messageEvents('Hel', 'lo')) });
  expect(await cli(['chat', 'hi'])).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1/messages' });
  expect(request?.headers).toMatchObject({
    'x-api-key': canaryKey,
    'vendor-b-version': '2023-06-01',
    'content-type': 'application/json',
  });
  expect(request?.json()).toEqual({
    model: 'm',
    max_tokens: 4096,
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  });
});

test('--no-stream sends no stream field and reads one JSON reply', async ({ server, cli }) => {
  server.reply({
    body: {
      id: 'msg_1',
      role: 'assistant',
      model: 'm-001',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
    },
  });
  expect(await cli(['chat', 'hi', '--no-stream'])).toMatchObject({ code: 0, stdout: 'Hi\n', stderr: '' });
  expect(server.requests[0]?.json()).not.toHaveProperty('stream');
});

test('the JSON document holds all fields of the message', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('Hello')) });
  const { code, stdout, stderr } = await cli(['chat', 'hi', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({
    command: 'chat',
    ok: true,
    complete: true,
    model: 'm',
    modelVersion: 'm-001',
    responseId: 'msg_1',
    role: 'assistant',
    text: 'Hello',
    stopReason: 'end_turn',
    usage: { inputTokens: 4, outputTokens: 2 },
  });
});

test('a stream without its end is exit 11, and what came is printed', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('Hel', 'lo').slice(0, 4)) });
  const ran = await cli(['chat', 'hi']);
  expect(ran).toMatchObject({ code: 11, stdout: 'Hello\n' });
  expect(ran.stderr).toContain('gateway-cli: incomplete: ');
});

test('an error event keeps what was printed and ends with the code of its type', async ({ server, cli }) => {
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  server.reply({ body: eventStream(...messageEvents('Hel').slice(0, 3), error) });
  const ran = await cli(['chat', 'hi', '--json']);
  expect(ran.code).toBe(6);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    ok: false,
    complete: false,
    text: 'Hel',
    error: { class: 'gateway' },
  });
});

test('a refusal is exit 10 and says so', async ({ server, cli }) => {
  server.reply({
    body: {
      id: 'msg_1',
      role: 'assistant',
      content: [],
      stop_reason: 'refusal',
      stop_details: { explanation: 'not this' },
    },
  });
  const ran = await cli(['chat', 'hi']);
  expect(ran).toMatchObject({ code: 10, stdout: '' });
  expect(ran.stderr).toContain('not this');
  // The messages format has no safety settings to name.
  expect(ran.stderr).not.toContain('--safety');
});

test('--jsonl prints one line an event, and how it ended', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('a', 'b')) });
  const { code, stdout } = await cli(['chat', 'hi', '--jsonl']);
  const lines = jsonLines<{ type: string; text?: string }>(stdout);
  expect(code).toBe(0);
  expect(lines.filter(({ type }) => type === 'text').map(({ text }) => text)).toEqual(['a', 'b']);
  expect(lines.at(-1)).toMatchObject({ type: 'result', complete: true, stopReason: 'end_turn' });
});

test('a delta is printed before the server sends the next', async ({ server, cli }) => {
  const pause = createPause();
  const [start, block, first, second, ...rest] = messageEvents('first', 'second').map((event) => eventStream(event));
  server.reply({ chunks: [`${start}${block}${first}`, pause.until, `${second}${rest.join('')}`] });
  const seen: string[] = [];
  const ran = cli(['chat', 'hi'], {
    onStdout(text) {
      seen.push(text);
      pause.release();
    },
  });
  expect(await ran).toMatchObject({ code: 0, stdout: 'firstsecond\n' });
  expect(seen[0]).toBe('first');
});

test('thinking goes to stderr, and only when it is asked for', async ({ server, cli }) => {
  const thought = [
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
    { type: 'content_block_stop', index: 0 },
  ];
  const [start, ...answer] = messageEvents('yes');
  const events = eventStream(
    start as object,
    ...thought,
    ...answer.map((event) => ('index' in event ? { ...event, index: 1 } : event)),
  );
  server.reply({ body: events });
  server.reply({ body: events });
  expect(await cli(['chat', 'hi'])).toMatchObject({ code: 0, stdout: 'yes\n', stderr: '' });
  const shown = await cli(['chat', 'hi', '--thinking']);
  expect(shown).toMatchObject({ code: 0, stdout: 'yes\n' });
  expect(shown.stderr).toContain('hm');
});

test('images and files go in front of the prompt', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('a dot')) });
  const stdin = Buffer.from(png, 'base64');
  expect(await cli(['chat', '-i', '-', 'what is it?'], { stdin })).toMatchObject({ code: 0, stdout: 'a dot\n' });
  expect(server.requests[0]?.json()).toMatchObject({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          { type: 'text', text: 'what is it?' },
        ],
      },
    ],
  });
});
