import { expect, it } from 'vitest';
import type { LogEntry } from '../../src/gateway/types.ts';
import { jsonLines } from '../helpers/json-lines.ts';
import { dig, sharedGateway } from './gateway-under-test.ts';

// Tools of OpenAI whose input is a text, and those that run at the service.

const log: LogEntry[] = [];
const gateway = sharedGateway({ log: (entry) => void log.push(entry) });
const model = 'local-chat';
const user = { role: 'user', content: 'go on' };
const regex = { syntax: 'regex', definition: '[a-c]{3}' };
const input = 'example value';

/** The data of the events of a stream. */
function eventsIn(text: string): object[] {
  const data = text.match(/(?<=^data: )\{.*/gm) ?? [];
  return jsonLines(data.join('\n')) as object[];
}

it.each(['required', { type: 'custom', name: 'patch' }])(
  'a custom tool is called in the responses format: %j',
  async (tool_choice) => {
    const tools = [{ type: 'custom', name: 'patch', format: { type: 'grammar', ...regex } }];
    const body = { model, input: [user], tools, tool_choice };
    const { json } = await gateway.post('/v1/responses', body);
    const call = { type: 'custom_tool_call', status: 'completed', name: 'patch', input };
    expect(json).toMatchObject({ output: [call] });
    const { text } = await gateway.post('/v1/responses', { ...body, stream: true });
    const events = eventsIn(text);
    const deltas = events.filter((event) => dig(event, 'type') === 'response.custom_tool_call_input.delta');
    const done = events.find((event) => dig(event, 'type') === 'response.custom_tool_call_input.done');
    expect(done).toMatchObject({ input });
    expect(deltas.map((event) => dig(event, 'delta')).join('')).toBe(dig(done, 'input'));
    expect(events.at(-1)).toMatchObject({ response: { output: [call] } });
  },
);

it.each(['required', { type: 'custom', custom: { name: 'patch' } }])(
  'a custom tool is called in the completions format, and its result is read: %j',
  async (tool_choice) => {
    const tools = [{ type: 'custom', custom: { name: 'patch', format: { type: 'grammar', grammar: regex } } }];
    const body = { model, messages: [user], tools, tool_choice };
    const { json } = await gateway.post('/v1/chat/completions', body);
    const message = dig(json, 'choices', 0, 'message');
    expect(message).toMatchObject({
      content: null,
      tool_calls: [{ type: 'custom', custom: { name: 'patch', input } }],
    });
    const { text } = await gateway.post('/v1/chat/completions', { ...body, stream: true });
    const pieces = eventsIn(text).map((event) => dig(event, 'choices', 0, 'delta', 'tool_calls', 0, 'custom', 'input'));
    expect(pieces.filter((piece) => piece !== undefined).join('')).toBe(input);
    const id = dig(message, 'tool_calls', 0, 'id');
    const messages = [user, message, { role: 'tool', tool_call_id: id, content: 'Done' }];
    const next = await gateway.post('/v1/chat/completions', { ...body, messages, tool_choice: 'auto' });
    expect(next.text).toContain('The tool patch returned “Done”');
  },
);

it.each([
  [{ type: 'image_generation' }, 'image_generation'],
  ['required', 'a tool'],
] as const)(
  'a call that is required, and that no offline model makes, is in the log: %j',
  async (tool_choice, named) => {
    const count = log.length;
    const body = { model, input: [user], tools: [{ type: 'image_generation' }], tool_choice };
    const { json } = await gateway.post('/v1/responses', body);
    expect(json).toMatchObject({ output: [{ type: 'message' }] });
    const note = `no call of ${named}, though it is required: the offline models call only what the caller runs`;
    await expect.poll(() => log.slice(count)).toMatchObject([{ note }]);
  },
);

it('a tool of the service that is required is not another one', async () => {
  const tools = [{ type: 'image_generation' }, { type: 'function', name: 'f', parameters: {} }];
  const body = { model, input: [user], tools, tool_choice: { type: 'image_generation' } };
  expect((await gateway.post('/v1/responses', body)).json).toMatchObject({ output: [{ type: 'message' }] });
});
