import { describe, expect, it } from 'vitest';
import { dig, key, readEvents, responseTo, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();
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
    expect(await call('GET', id)).toMatchObject(notFound(id));
  });

  it('also where it was streamed', async () => {
    const { text } = await gateway.post(path, responseTo('stream me', { stream: true }));
    const response = readEvents(text).at(-1)?.['response'];
    expect((await call('GET', String(dig(response, 'id')))).json).toEqual(response);
  });

  it('also in the background, where it is ready at once', async () => {
    const { id, json } = await create('later', { background: true });
    expect(json).toMatchObject({ status: 'completed', background: true });
    expect((await call('GET', id)).json).toEqual(json);
  });

  it('and a later request goes on with it, without its instructions', async () => {
    const first = await create('the first thing', { instructions: 'be brief' });
    const second = await create('the second thing', { previous_response_id: first.id });
    expect(dig(second.json, 'previous_response_id')).toBe(first.id);
    expect(textOf(second.json)).toContain('This is turn 2; before it you wrote “the first thing”.');
    expect(textOf(second.json)).not.toContain('be brief');
    const third = await create('the third thing', { previous_response_id: second.id });
    expect(textOf(third.json)).toContain('This is turn 3; before it you wrote “the second thing”.');
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
      { message: "Item with id 'rs_x' not found." },
    ],
  ];
  it.each(rows)('%s', async (_, more, status, error) => {
    expect(await gateway.post(path, responseTo('hi', more))).toMatchObject({ status, json: { error } });
  });
});
