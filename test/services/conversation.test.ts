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

/** The answer of GPT, as it streams: what it thought, and what it says or whom it calls. */
function gpt(...output: readonly { type: string }[]): object[] {
  const response = {
    id: 'resp_1',
    object: 'response',
    model: services.openai.model,
    status: 'in_progress',
    output: [],
  };
  return [
    { type: 'response.created', response },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { ...response, status: 'completed', output } },
  ];
}

const gptThought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gpt-1' };

function gptSays(text: string) {
  const annotations = [
    { type: 'url_citation', url: 'https://rain.example', title: 'Rain', start_index: 0, end_index: 4 },
  ];
  const content = [{ type: 'output_text', text, annotations }];
  return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', phase: 'final_answer', content };
}

/** A text of a model behind OpenRouter, as it streams. */
function routed(text: string): object[] {
  const chunk = { id: 'gen-1', object: 'chat.completion.chunk', created: 1, model: services.openrouter.model };
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
const openAiReplies = [
  gpt(gptThought, {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_bergen',
    name: 'get_weather',
    arguments: '{"city":"Bergen"}',
    status: 'completed',
  } as { type: string }),
  gpt(gptSays('Rain in all.')),
  gpt(gptSays('Rain again.')),
];
const openRouterReplies = [routed('Take an umbrella.')];

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
    { role: 'user', content: 'and Bergen?' },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'call_bergen', name: 'get_weather', input: { city: 'Bergen' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_bergen', content: 'rain' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Rain in all.' }] },
    { role: 'user', content: 'advice?' },
    { role: 'assistant', content: [{ type: 'text', text: 'Take an umbrella.' }] },
    { role: 'user', content: 'one word?' },
    { role: 'assistant', content: [{ type: 'text', text: 'Rain.' }] },
    { role: 'user', content: 'sure?' },
    { role: 'assistant', content: [{ type: 'text', text: 'Rain again.' }] },
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
    { role: 'user', parts: [{ text: 'and Bergen?' }] },
    { role: 'model', parts: [{ functionCall: { name: 'get_weather', args: { city: 'Bergen' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { result: 'rain' } } }] },
    { role: 'model', parts: [{ text: 'Rain in all.' }] },
    { role: 'user', parts: [{ text: 'advice?' }] },
    { role: 'model', parts: [{ text: 'Take an umbrella.' }] },
    { role: 'user', parts: [{ text: 'one word?' }] },
  ],
];

const said = (text: string, more: object = {}) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...more,
});
const responseCall = (id: string, city: string) => [
  { type: 'function_call', call_id: id, name: 'get_weather', arguments: JSON.stringify({ city }) },
];
const responseResult = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'rain' });
const responseTools = [
  { type: 'function', name: 'get_weather', description: 'Weather', parameters: citySchema, strict: false },
];
const responseHistory = [
  [
    {
      role: 'user',
      content: [
        { type: 'input_image', image_url: `data:image/png;base64,${pixel}` },
        { type: 'input_text', text: 'what is this?' },
      ],
    },
    said('A dot.'),
    { role: 'user', content: 'rain in Rome?' },
    ...responseCall('toolu_1', 'Rome'),
    responseResult('toolu_1'),
    said('Rain in Rome.'),
    { role: 'user', content: 'in Oslo?' },
    ...responseCall('call_1', 'Oslo'),
    responseResult('call_1'),
    said('Rain in Oslo.'),
    { role: 'user', content: 'and Bergen?' },
  ],
  [gptThought, ...responseCall('call_bergen', 'Bergen'), responseResult('call_bergen')],
  [
    said('Rain in all.', { phase: 'final_answer' }),
    { role: 'user', content: 'advice?' },
    said('Take an umbrella.'),
    { role: 'user', content: 'one word?' },
    said('Rain.'),
    { role: 'user', content: 'sure?' },
  ],
];

const completionCall = (id: string, city: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'get_weather', arguments: JSON.stringify({ city }) } }],
});
const completionTools = [
  { type: 'function', function: { name: 'get_weather', description: 'Weather', parameters: citySchema } },
];
const completionHistory = [
  {
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
      { type: 'text', text: 'what is this?' },
    ],
  },
  { role: 'assistant', content: 'A dot.' },
  { role: 'user', content: 'rain in Rome?' },
  completionCall('toolu_1', 'Rome'),
  { role: 'tool', tool_call_id: 'toolu_1', content: 'rain' },
  { role: 'assistant', content: 'Rain in Rome.' },
  { role: 'user', content: 'in Oslo?' },
  completionCall('call_1', 'Oslo'),
  { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
  { role: 'assistant', content: 'Rain in Oslo.' },
  { role: 'user', content: 'and Bergen?' },
  completionCall('call_bergen', 'Bergen'),
  { role: 'tool', tool_call_id: 'call_bergen', content: 'rain' },
  { role: 'assistant', content: 'Rain in all.' },
  { role: 'user', content: 'advice?' },
];

test('a conversation of eight turns goes through all four formats and back in one file', async () => {
  const vendors = await startVendors({
    anthropic: await startScript(...anthropicReplies),
    gemini: await startScript(...geminiReplies),
    openai: await startScript(...openAiReplies),
    openrouter: await startScript(...openRouterReplies),
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
  const openAiGets = (count: number) => asked('openai', responseHistory, { count, tools: responseTools });
  expect(await say('openai', "'and Bergen?'")).toStrictEqual([0, 'Rain in all.\n', [openAiGets(1), openAiGets(2)]]);
  const openRouterGets = asked('openrouter', [completionHistory], { count: 1, tools: completionTools });
  expect(await say('openrouter', "'advice?'")).toStrictEqual([0, 'Take an umbrella.\n', [openRouterGets]]);
  expect(await say('gemini', "'one word?'")).toStrictEqual([0, 'Rain.\n', [geminiGets(3)]]);
  expect(await say('openai', "'sure?'")).toStrictEqual([0, 'Rain again.\n', [openAiGets(3)]]);
  expect(await say('anthropic', 'thanks')).toStrictEqual([0, 'Bye.\n', [claudeGets(4)]]);
});

/** The request with the first pieces of a history. */
function asked(
  name: 'anthropic' | 'gemini' | 'openai' | 'openrouter',
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
  if (name === 'openai') {
    const include = ['reasoning.encrypted_content'];
    return [
      'POST /v1/responses',
      { model: services.openai.model, input: turns, tools, store: false, include, stream: true },
    ];
  }
  const stream_options = { include_usage: true };
  return ['POST /api/v1/chat/completions', { model: services.openrouter.model, ...body, stream_options }];
}
