// Drives @anthropic-ai/sdk (the package named in argv) against the gateway of the environment; prints what it got as JSON.
const { default: Anthropic } = await import(process.argv[2]);
const { SDK_BASE_URL: baseURL, SDK_API_KEY: apiKey, SDK_PNG: png } = process.env;

const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
const model = 'local-chat';
const tools = [
  {
    name: 'get_weather',
    description: 'The weather of a city',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];

function ask(content, more = {}) {
  return { model, max_tokens: 200, messages: [{ role: 'user', content }], ...more };
}

async function failure(act) {
  try {
    await act();
    return 'no error';
  } catch (error) {
    return { name: error.constructor.name, status: error.status, type: error.error?.error?.type };
  }
}

async function readStream() {
  const deltas = [];
  const stream = client.messages.stream(ask('a long tale')).on('text', (text) => deltas.push(text));
  const message = await stream.finalMessage();
  return { deltas: deltas.length, joined: deltas.join(''), text: message.content[0].text, stop: message.stop_reason };
}

async function streamTool() {
  const stream = client.messages.stream(ask('weather in Oslo?', { tools }));
  const { content, stop_reason: stop } = await stream.finalMessage();
  return { stop, calls: content.filter((block) => block.type === 'tool_use') };
}

const text = await client.messages.create(ask('hello'));
const tool = await client.messages.create(ask('weather in Oslo?', { tools }));
const call = tool.content.find((block) => block.type === 'tool_use');
const after = await client.messages.create({
  ...ask('weather in Oslo?', { tools }),
  messages: [
    { role: 'user', content: 'weather in Oslo?' },
    { role: 'assistant', content: tool.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'rain' }] },
  ],
});
const image = await client.messages.create(
  ask([
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
    { type: 'text', text: 'what is it?' },
  ]),
);
const beta = await client.beta.messages.create(ask('hello'));
const wrongKey = new Anthropic({ baseURL, apiKey: 'not-the-key', maxRetries: 0 });
const retrying = new Anthropic({ baseURL, apiKey, maxRetries: 2 });

const listed = [];
for await (const { id } of client.models.list()) listed.push(id);

const results = {
  listed,
  one: (await client.models.retrieve('local-chat')).id,
  counted: (await client.messages.countTokens({ model, messages: [{ role: 'user', content: 'hello' }] })).input_tokens,
  foreign: (await client.messages.create(ask('hello', { model: 'claude-sonnet-4-5', newest_field: { a: 1 } }))).model,
  text: { text: text.content[0].text, stop: text.stop_reason, usage: text.usage },
  stream: await readStream(),
  tool: { stop: tool.stop_reason, call },
  streamTool: await streamTool(),
  after: after.content[0].type,
  image: image.content[0].text,
  beta: beta.content[0].text,
  retried: (await retrying.messages.create(ask('again', { model: 'fault-503-once' }))).type,
  errors: {
    key: await failure(() => wrongKey.messages.create(ask('hello'))),
    missing: await failure(() => client.messages.create({ model, messages: [{ role: 'user', content: 'x' }] })),
    model: await failure(() => client.messages.create(ask('hello', { model: 'no-such-model' }))),
    limit: await failure(() => client.messages.create(ask('hello', { model: 'fault-429' }))),
    overloaded: await failure(() => client.messages.create(ask('hello', { model: 'fault-529' }))),
    event: await failure(() => client.messages.stream(ask('hello', { model: 'fault-error-event' })).finalMessage()),
  },
};
process.stdout.write(JSON.stringify(results));
