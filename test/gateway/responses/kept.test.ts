import { describe, expect, it } from 'vitest';
import { serviceRules } from '../../../src/gateway/service.ts';
import { type Answered, dig, dotPng, key, readEvents, responseTo, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();
const openai = sharedGateway({ rules: serviceRules.openai });
const path = '/v1/responses';

async function create(input: unknown, more: object = {}): Promise<{ id: string; json: unknown }> {
  const { status, json } = await gateway.post(path, responseTo(input, more));
  expect([status, json]).toEqual([200, json]);
  return { id: String(dig(json, 'id')), json };
}

async function call(method: string, address: string): Promise<{ status: number; text: string; json: unknown }> {
  const headers = { authorization: `Bearer ${key}` };
  const reply = await fetch(`${gateway.url}${path}/${address}`, { method, headers });
  const text = await reply.text();
  return { status: reply.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
}

const textOf = (json: unknown): string => String(dig(json, 'output', 0, 'content', 0, 'text'));
const notFound = (id: string): object => ({
  status: 404,
  json: { error: { message: `Response with id '${id}' not found.`, type: 'invalid_request_error' } },
});

describe('a response is kept', () => {
  it('and is there until it is deleted', async () => {
    const { id, json } = await create('keep me');
    expect(await call('GET', id)).toMatchObject({ status: 200, json: json as object });
    expect(await call('DELETE', id)).toMatchObject({ status: 200, json: { id, object: 'response', deleted: true } });
    expect(await call('GET', id)).toMatchObject(notFound(id));
    expect(await call('DELETE', id)).toMatchObject(notFound(id));
  });

  it('unless the request says otherwise', async () => {
    const { id, json } = await create('forget me', { store: false });
    expect(dig(json, 'store')).toBe(false);
    for (const address of [id, `${id}/input_items`]) expect(await call('GET', address)).toMatchObject(notFound(id));
  });

  it('also where it was streamed, and is streamed again after the event that was seen', async () => {
    const { text } = await gateway.post(path, responseTo('stream me', { stream: true }));
    const events = readEvents(text);
    const response = events.at(-1)?.['response'];
    const id = String(dig(response, 'id'));
    expect((await call('GET', id)).json).toEqual(response);
    expect((await call('GET', `${id}?stream=true`)).text).toBe(text);
    const rest = await call('GET', `${id}?stream=true&starting_after=${events.length - 3}`);
    expect(rest.text).toBe(`${text.split('\n\n').slice(-3).join('\n\n')}`);
  });

  it('with the items of its input, the newest first, by pages', async () => {
    const turn = { role: 'user', content: [{ type: 'input_text', text: 'three' }] };
    const input = [{ role: 'user', content: 'one' }, { role: 'assistant', content: 'two' }, turn];
    const { id } = await create(input);
    const { json } = await call('GET', `${id}/input_items?limit=2`);
    expect(json).toMatchObject({
      object: 'list',
      data: [
        { type: 'message', id: expect.stringMatching(/^msg_/), role: 'user', content: turn.content },
        { role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
      ],
      has_more: true,
    });
    expect([dig(json, 'first_id'), dig(json, 'last_id')]).toEqual([
      dig(json, 'data', 0, 'id'),
      dig(json, 'data', 1, 'id'),
    ]);
    const rest = await call('GET', `${id}/input_items?after=${String(dig(json, 'last_id'))}`);
    expect(rest.json).toMatchObject({ data: [{ content: [{ type: 'input_text', text: 'one' }] }], has_more: false });
    const ascending = (await call('GET', `${id}/input_items?order=asc`)).json;
    expect(dig(ascending, 'data', 0)).toEqual(dig(rest.json, 'data', 0));
  });

  it('and a later request goes on with it, without its instructions', async () => {
    const first = await create('the first thing', { instructions: 'be brief' });
    const second = await create('the second thing', { previous_response_id: first.id });
    expect(dig(second.json, 'previous_response_id')).toBe(first.id);
    expect(textOf(second.json)).toContain('This is turn 2; before it you wrote “the first thing”.');
    expect(textOf(second.json)).not.toContain('be brief');
    const third = await create('the third thing', { previous_response_id: second.id });
    expect(textOf(third.json)).toContain('This is turn 3; before it you wrote “the second thing”.');
    expect(dig((await call('GET', `${third.id}/input_items`)).json, 'data')).toHaveLength(5);
  });

  it('with its calls, which are answered by the id of the response or by that of the item', async () => {
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false }];
    const first = await create('the weather?', { tools });
    const [called] = (first.json as { output: [{ id: string; call_id: string }] }).output;
    const result = { type: 'function_call_output', call_id: called.call_id, output: 'rain' };
    const words = 'The tool get_weather returned “rain”';
    expect(textOf((await create([result], { tools, previous_response_id: first.id })).json)).toContain(words);
    const input = [{ role: 'user', content: 'the weather?' }, { type: 'item_reference', id: called.id }, result];
    expect(textOf((await create(input, { tools })).json)).toContain(words);
  });
});

describe('what is not kept is refused by its name:', () => {
  const rows: [name: string, more: object, status: number, error: object][] = [
    [
      'a response',
      { previous_response_id: 'resp_x' },
      400,
      {
        message: "Previous response with id 'resp_x' not found.",
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      },
    ],
    ['a conversation', { conversation: 'conv_x' }, 404, { message: "Conversation with id 'conv_x' not found." }],
    [
      'an item',
      { input: [{ type: 'item_reference', id: 'rs_x' }], store: false },
      404,
      { message: expect.stringMatching(/^Item with id 'rs_x' not found\. Items are not persisted when `store`/) },
    ],
  ];
  it.each(rows)('%s', async (_, more, status, error) => {
    expect(await gateway.post(path, responseTo('hi', more))).toMatchObject({ status, json: { error } });
  });
});

describe('a response in the background', () => {
  it('is queued at first, and whole when it is asked for', async () => {
    const { id, json } = await create('later', { background: true });
    expect(json).toMatchObject({ status: 'queued', background: true, output: [], usage: null, completed_at: null });
    const { json: ready } = await call('GET', id);
    expect(ready).toMatchObject({ status: 'completed', usage: { output_tokens: expect.any(Number) } });
    expect(textOf(ready)).toContain('“later”');
    expect((await call('POST', `${id}/cancel`)).json).toEqual(ready);
  });

  it('can be canceled before that, and another cannot', async () => {
    const { id } = await create('never', { background: true });
    const { json } = await call('POST', `${id}/cancel`);
    expect(json).toMatchObject({ id, status: 'cancelled', output: [] });
    expect((await call('GET', id)).json).toEqual(json);
    const other = await create('at once');
    expect(await call('POST', `${other.id}/cancel`)).toMatchObject({
      status: 400,
      json: { error: { message: 'Cannot cancel a synchronous response.' } },
    });
  });

  it('fails where it is asked for, or is refused where it would not be kept', async () => {
    const { id, json } = await create('fail', { background: true, model: 'fault-error-200' });
    expect(json).toMatchObject({ status: 'queued', error: null });
    expect((await call('GET', id)).json).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    const refused = await gateway.post(path, responseTo('hi', { background: true, store: false }));
    expect([refused.status, dig(refused.json, 'error', 'param')]).toEqual([400, 'background']);
  });
});

it('the oldest responses are dropped when there are too many, in number or in size', async () => {
  const first = await create('the very first');
  const image_url = `data:image/png;base64,${dotPng}`;
  const parts = [
    { type: 'input_image', image_url },
    { type: 'input_text', text: 'x'.repeat(14 * 2 ** 20) },
  ];
  for (const word of 'abcd') await create([{ role: 'user', content: [...parts, { type: 'input_text', text: word }] }]);
  expect((await call('GET', first.id)).status).toBe(200);
  const last = await create([{ role: 'user', content: [...parts, { type: 'input_text', text: 'e' }] }]);
  expect([(await call('GET', first.id)).status, (await call('GET', last.id)).status]).toEqual([404, 200]);
});

describe('as OpenAI, the local gateway takes thoughts back', () => {
  const ask = (...input: unknown[]): Promise<Answered> =>
    openai.post(path, responseTo(input, { model: 'gpt-6-luna', store: false }));
  const user = { role: 'user', content: 'go on' };

  it('as it sealed them, with what they led to', async () => {
    const include = ['reasoning.encrypted_content'];
    const asked = { model: 'gpt-6-luna', store: false, reasoning: { effort: 'low' }, include };
    const { json } = await openai.post(path, responseTo('hi', asked));
    const [thoughts, said] = (json as { output: [object, object] }).output;
    expect(await ask(thoughts, said, user)).toMatchObject({ status: 200 });
    expect(await ask(thoughts, user)).toMatchObject({
      status: 400,
      json: { error: { message: expect.stringContaining('was provided without its required following item.') } },
    });
    expect(await ask({ ...thoughts, encrypted_content: 'Zm9yZWlnbg==' }, said, user)).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_encrypted_content', message: expect.stringContaining('could not be verified') } },
    });
    expect(await ask({ ...thoughts, encrypted_content: null }, said, user)).toMatchObject({
      status: 404,
      json: { error: { message: expect.stringContaining('not found. Items are not persisted') } },
    });
  });
});
