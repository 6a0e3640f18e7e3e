// Drives openai against the gateway of the environment; prints what it got as JSON.
import OpenAI, { toFile } from 'openai';

const { SDK_BASE_URL: url, SDK_API_KEY: apiKey, SDK_PNG: png } = process.env;
const baseURL = `${url}/v1`;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const model = 'local-chat';

const city = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tools = [
  { type: 'function', function: { name: 'get_weather', description: 'The weather of a city', parameters: city } },
];

function ask(content, more = {}) {
  return { model, messages: [{ role: 'user', content }], ...more };
}

async function failure(act) {
  try {
    await act();
    return 'no error';
  } catch (error) {
    const { status, code, type, requestID } = error;
    return { name: error.constructor.name, status, code, type, hasId: typeof requestID === 'string' };
  }
}

async function readStream() {
  const stream = await client.chat.completions.create(
    ask('a long tale', { stream: true, stream_options: { include_usage: true } }),
  );
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return {
    chunks: chunks.length,
    text: chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''),
    finish: chunks.at(-2).choices[0].finish_reason,
    usage: chunks.at(-1).usage,
  };
}

async function streamTool() {
  const runner = client.chat.completions.stream(ask('weather in Oslo?', { tools }));
  const { choices } = await runner.finalChatCompletion();
  return { finish: choices[0].finish_reason, calls: choices[0].message.tool_calls };
}

const text = await client.chat.completions.create(ask('hello', { n: 2, max_completion_tokens: 5 }));
const tool = await client.chat.completions.create(ask('weather in Oslo?', { tools, tool_choice: 'required' }));
const [call] = tool.choices[0].message.tool_calls;
const after = await client.chat.completions.create({
  model,
  tools,
  messages: [
    { role: 'user', content: 'weather in Oslo?' },
    tool.choices[0].message,
    { role: 'tool', tool_call_id: call.id, content: 'rain' },
  ],
});
const schema = await client.chat.completions.parse(
  ask('a city', {
    response_format: { type: 'json_schema', json_schema: { name: 'city', schema: city, strict: true } },
  }),
);
const seen = await client.chat.completions.create(
  ask([
    { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
    { type: 'text', text: 'what is it?' },
  ]),
);
const drawn = await client.images.generate({
  model: 'gpt-image-2.6-flare',
  prompt: 'a lighthouse',
  size: '1536x1024',
  n: 2,
});
const files = [0, 1].map((index) => toFile(Buffer.from(png, 'base64'), `${index}.png`, { type: 'image/png' }));
const edited = await client.images.edit({
  model: 'gpt-image-2.6-flare',
  prompt: 'invert',
  image: await Promise.all(files),
});
const retrying = new OpenAI({ baseURL, apiKey, maxRetries: 2 });
const wrongKey = new OpenAI({ baseURL, apiKey: 'not-the-key', maxRetries: 0 });

const listed = [];
for await (const { id } of client.models.list()) listed.push(id);

const results = {
  listed,
  one: (await client.models.retrieve('local-chat')).id,
  foreign: (await client.chat.completions.create(ask('hello', { model: 'gpt-4o', newest_field: { a: 1 } }))).model,
  text: { texts: text.choices.map(({ message }) => message.content), usage: text.usage },
  stream: await readStream(),
  tool: { finish: tool.choices[0].finish_reason, call },
  streamTool: await streamTool(),
  after: after.choices[0].message.content,
  schema: schema.choices[0].message.parsed ?? JSON.parse(schema.choices[0].message.content),
  seen: seen.choices[0].message.content,
  drawn: drawn.data.map(({ b64_json }) => b64_json.slice(0, 12)),
  edited: { start: edited.data[0].b64_json.slice(0, 12), usage: edited.usage },
  retried: (await retrying.chat.completions.create(ask('again', { model: 'fault-503-once' }))).object,
  errors: {
    key: await failure(() => wrongKey.chat.completions.create(ask('hello'))),
    model: await failure(() => client.chat.completions.create(ask('hello', { model: 'no-such-model' }))),
    field: await failure(() => client.chat.completions.create(ask('hello', { n: 0 }))),
    limit: await failure(() => client.chat.completions.create(ask('hello', { model: 'fault-429' }))),
    quota: await failure(() => client.chat.completions.create(ask('hello', { model: 'fault-quota' }))),
    server: await failure(() => client.chat.completions.create(ask('hello', { model: 'fault-500' }))),
    event: await failure(() =>
      client.chat.completions.stream(ask('hello', { model: 'fault-error-event' })).finalChatCompletion(),
    ),
    blocked: await failure(() => client.images.generate({ model: 'fault-blocked', prompt: 'x' })),
  },
};
process.stdout.write(JSON.stringify(results));
