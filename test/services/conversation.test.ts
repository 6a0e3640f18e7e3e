import { expect, onTestFinished, test } from 'vitest';
import { pixel } from '../fake-servers/completions.ts';
import { type FakeServer, type FakeReply, startFakeServer } from '../fake-servers/start.ts';
import { received, services } from './requests.ts';
import { citySchema, runWith, workFolder } from './vendor-run.ts';
import { startVendors, type VendorName } from './vendors.ts';

/** A fake server that gives these replies, one after the other. */
function startScript(...bodies: (readonly object[])[]): Promise<FakeServer> {
  return startFakeServer((): FakeReply => {
    const body = (bodies.shift() ?? []).map((event) => `data: ${JSON.stringify(event)}\n\n`);
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body };
  });
}

/** A message of Claude, as it streams. */
function claude(reason: string, ...blocks: readonly [start: object, ...deltas: object[]][]): object[] {
  return [
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', model: 'claude-sonnet-5-5', content: [] } },
    ...blocks.flatMap(([start, ...deltas], index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null } },
    { type: 'message_stop' },
  ];
}

function claudeThinks(thinking: string, signature: string): [object, ...object[]] {
  const start = { type: 'thinking', thinking: '', signature: '' };
  return [start, { type: 'thinking_delta', thinking }, { type: 'signature_delta', signature }];
}

function claudeSays(text: string): [object, ...object[]] {
  return [
    { type: 'text', text: '' },
    { type: 'text_delta', text },
  ];
}

/** A piece of Gemini's answer, which is all of it. */
function gemini(...parts: readonly object[]): object[] {
  return [
    {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      modelVersion: services.gemini.model,
    },
  ];
}

/** A text of GPT, as it streams. */
function gpt(text: string): object[] {
  const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: services.openai.model };
  return [
    { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ];
}

const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} };
const anthropicReplies = [
  claude('end_turn', claudeThinks('One pixel.', 'claude-1'), claudeSays('A dot.')),
  claude('tool_use', claudeThinks('I look.', 'claude-2'), [
    toolUse,
    { type: 'input_json_delta', partial_json: '{"city":' },
    { type: 'input_json_delta', partial_json: '"Rome"}' },
  ]),
  claude('end_turn', claudeSays('Rain in Rome.')),
  claude('end_turn', claudeSays('Bye.')),
];
const geminiReplies = [
  gemini(
    { text: 'Oslo next.', thought: true },
    { functionCall: { name: 'get_weather', args: { city: 'Oslo' } }, thoughtSignature: 'Z2VtaW5pLTE=' },
  ),
  gemini({ text: 'Rain in Oslo.', thoughtSignature: 'Z2VtaW5pLTI=' }),
  gemini({ text: 'Rain.' }),
];
const openAiReplies = [gpt('Rain in both.')];

// The history as each vendor's own SDK writes it, in pieces of one answer each. Thinking and its signature are in the history of
// the vendor that signed it, and in no other.
const claudeTools = [{ name: 'get_weather', description: 'Weather', input_schema: citySchema }];
const claudeHistory = [
  [
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        { type: 'text', text: 'what is this?' },
      ],
    },
  ],
  [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'One pixel.', signature: 'claude-1' },
        { type: 'text', text: 'A dot.' },
      ],
    },
    { role: 'user', content: 'rain in Rome?' },
  ],
  [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I look.', signature: 'claude-2' },
        { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'rain' }] },
  ],
  [
    { role: 'assistant', content: [{ type: 'text', text: 'Rain in Rome.' }] },
    { role: 'user', content: 'in Oslo?' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Oslo' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'rain' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Rain in Oslo.' }] },
    { role: 'user', content: 'in short?' },
    { role: 'assistant', content: [{ type: 'text', text: 'Rain in both.' }] },
    { role: 'user', content: 'one word?' },
    { role: 'assistant', content: [{ type: 'text', text: 'Rain.' }] },
    { role: 'user', content: 'thanks' },
  ],
];

const geminiTools = [
  { functionDeclarations: [{ name: 'get_weather', description: 'Weather', parametersJsonSchema: citySchema }] },
];
const geminiHistory = [
  [
    {
      role: 'user',
      parts: [{ inlineData: { mimeType: 'image/png', data: pixel } }, { text: 'what is this?' }],
    },
    { role: 'model', parts: [{ text: 'A dot.' }] },
    { role: 'user', parts: [{ text: 'rain in Rome?' }] },
    { role: 'model', parts: [{ functionCall: { name: 'get_weather', args: { city: 'Rome' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { result: 'rain' } } }] },
    { role: 'model', parts: [{ text: 'Rain in Rome.' }] },
    { role: 'user', parts: [{ text: 'in Oslo?' }] },
  ],
  [
    {
      role: 'model',
      parts: [{ functionCall: { name: 'get_weather', args: { city: 'Oslo' } }, thoughtSignature: 'Z2VtaW5pLTE=' }],
    },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { result: 'rain' } } }] },
  ],
  [
    { role: 'model', parts: [{ text: 'Rain in Oslo.', thoughtSignature: 'Z2VtaW5pLTI=' }] },
    { role: 'user', parts: [{ text: 'in short?' }] },
    { role: 'model', parts: [{ text: 'Rain in both.' }] },
    { role: 'user', parts: [{ text: 'one word?' }] },
  ],
];

const openAiTools = [
  { type: 'function', function: { name: 'get_weather', description: 'Weather', parameters: citySchema } },
];
const openAiHistory = [
  {
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
      { type: 'text', text: 'what is this?' },
    ],
  },
  { role: 'assistant', content: 'A dot.' },
  { role: 'user', content: 'rain in Rome?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } }],
  },
  { role: 'tool', tool_call_id: 'toolu_1', content: 'rain' },
  { role: 'assistant', content: 'Rain in Rome.' },
  { role: 'user', content: 'in Oslo?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
  { role: 'assistant', content: 'Rain in Oslo.' },
  { role: 'user', content: 'in short?' },
];

test('a conversation of six turns goes from Anthropic to Gemini to OpenAI and back in one file', async () => {
  const vendors = await startVendors({
    anthropic: await startScript(...anthropicReplies),
    gemini: await startScript(...geminiReplies),
    openai: await startScript(...openAiReplies),
  });
  onTestFinished(() => vendors.close());
  const cwd = workFolder();
  const say = async (name: VendorName, line: string): Promise<[number, string, unknown[]]> => {
    const tools = "--tools tools.json --tool-exec 'get_weather=./weather.sh'";
    const ran = await runWith(vendors, name, `chat ${line} --session talk.jsonl ${tools}`, { cwd });
    return [ran.code, ran.stdout, ran.requests.map(received)];
  };
  const claudeGets = (count: number) => asked('anthropic', claudeHistory, { count, tools: claudeTools });
  const geminiGets = (count: number) => asked('gemini', geminiHistory, { count, tools: geminiTools });

  expect(await say('anthropic', "'what is this?' -i dot.png")).toStrictEqual([0, 'A dot.\n', [claudeGets(1)]]);
  expect(await say('anthropic', "'rain in Rome?'")).toStrictEqual([
    0,
    'Rain in Rome.\n',
    [claudeGets(2), claudeGets(3)],
  ]);
  expect(await say('gemini', "'in Oslo?'")).toStrictEqual([0, 'Rain in Oslo.\n', [geminiGets(1), geminiGets(2)]]);
  const openAiGets = asked('openai', [openAiHistory], { count: 1, tools: openAiTools });
  expect(await say('openai', "'in short?'")).toStrictEqual([0, 'Rain in both.\n', [openAiGets]]);
  expect(await say('gemini', "'one word?'")).toStrictEqual([0, 'Rain.\n', [geminiGets(3)]]);
  expect(await say('anthropic', 'thanks')).toStrictEqual([0, 'Bye.\n', [claudeGets(4)]]);
});

/** The request with the first pieces of a history. */
function asked(
  name: 'anthropic' | 'gemini' | 'openai',
  history: readonly object[][],
  { count, tools }: { count: number; tools: readonly object[] },
): [string, object] {
  const turns = history.slice(0, count).flat();
  if (name === 'gemini') {
    return [
      `POST /v1beta/models/${services.gemini.model}:streamGenerateContent`,
      { contents: turns, tools, store: false },
    ];
  }
  const body = { messages: turns, tools, stream: true };
  if (name === 'anthropic') return ['POST /v1/messages', { model: 'claude-sonnet-5-5', max_tokens: 4096, ...body }];
  const stream_options = { include_usage: true };
  return ['POST /v1/chat/completions', { model: services.openai.model, ...body, stream_options }];
}
