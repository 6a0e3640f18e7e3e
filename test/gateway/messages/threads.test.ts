import { expect, test } from 'vitest';
import { createThreads } from '../../../src/gateway/messages/threads.ts';
import { dig, message, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

const tools = [{ name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }];
const create = { thread: { type: 'create' } };
const continuing = (id: unknown): object => ({ thread: { type: 'continue', previous_message_id: id } });
const ask = (body: object) => gateway.post('/v1/messages', body);
const whole = (...messages: object[]): object => ({ ...message(''), system: 'be brief', messages });
const user = (content: unknown): object => ({ role: 'user', content });

test('a continued thread is answered as the whole conversation', async () => {
  const first = await ask({ ...message('my cat is Tom'), system: 'be brief', ...create });
  const second = await ask({ ...message('and now?'), ...continuing(dig(first.json, 'id')) });
  const third = await ask({ ...message('and then?'), ...continuing(dig(second.json, 'id')) });
  const answer = (json: unknown): object => ({ role: 'assistant', content: dig(json, 'content') });
  const replayed = await ask(
    whole(user('my cat is Tom'), answer(first.json), user('and now?'), answer(second.json), user('and then?')),
  );
  expect(third.status).toBe(200);
  expect([dig(third.json, 'content'), dig(third.json, 'usage')]).toEqual([
    dig(replayed.json, 'content'),
    dig(replayed.json, 'usage'),
  ]);
});

test('the result of a tool continues the thread of its call, in a stream too', async () => {
  const asked = await ask({ ...message('weather in Oslo?', { tools }), ...create });
  const call = dig(asked.json, 'content', 0, 'id');
  const result = [{ type: 'tool_result', tool_use_id: call, content: 'rain' }];
  const told = await ask({ ...message(result), ...continuing(dig(asked.json, 'id')), stream: true });
  expect(told.status).toBe(200);
  expect(told.text).toContain('message_stop');
});

test('an unknown thread is 404 with the code that lets clients send the whole conversation', async () => {
  expect(await ask({ ...message('hi'), ...continuing('msg_gone') })).toMatchObject({
    status: 404,
    json: { error: { type: 'not_found_error', details: { error_code: 'thread_not_found' } } },
  });
});

test('a continued thread keeps its tools, and refuses others', async () => {
  const first = await ask({ ...message('hello', { tools }), ...create });
  const told = await ask({ ...message('hi', { tools }), ...continuing(dig(first.json, 'id')) });
  expect([told.status, dig(told.json, 'error', 'message')]).toEqual([400, expect.stringMatching(/^tools: /)]);
});

test('the threads that were not used for the longest time are forgotten first', () => {
  const threads = createThreads(400);
  const reply = (id: string): { id: string; content: string[] } => ({ id, content: ['x'.repeat(100)] });
  for (const id of ['a', 'b']) threads.keep({ ...create, messages: [] }, reply(id));
  threads.complete({ ...continuing('a'), messages: [] });
  for (const id of ['c']) threads.keep({ ...create, messages: [] }, reply(id));
  expect(() => threads.complete({ ...continuing('b'), messages: [] })).toThrow('No thread');
  expect(threads.complete({ ...continuing('a'), messages: [] })['messages']).toHaveLength(1);
});
