import { pixel } from '../fake-servers/completions.ts';
import { imageModels } from './requests.ts';
import { citySchema } from './vendor-run.ts';

/** A task, and the requests that it makes. */
export interface Task {
  lines: string | readonly string[];
  stdin?: string;
  streamed?: true;
  /** The bodies that go out, one after the other, without what `asked` adds: model, stream, and the limit of tokens. */
  content: readonly object[];
  messages: readonly object[];
  completions: readonly object[];
  responses: readonly object[];
  /** The service's own words, unless it says something else. */
  stdout?: string;
  /** Behind the line that names the service. */
  stderr?: string;
  /** Behind that, where the service tells what an answer cost: OpenRouter. */
  costs?: string;
}

/** The turns of `hi`. */
export const hello = {
  content: [{ role: 'user', parts: [{ text: 'hi' }] }],
  others: [{ role: 'user', content: 'hi' }],
};
const hi = {
  content: [{ contents: hello.content }],
  messages: [{ messages: hello.others }],
  completions: [{ messages: hello.others }],
  responses: [{ input: hello.others }],
};
const [pdf, png] = [Buffer.from('%PDF-1.4\n').toString('base64'), pixel];
/** The service's own words replace `ANSWER`. */
const answered = {
  content: { role: 'model', parts: [{ text: 'ANSWER' }] },
  messages: { role: 'assistant', content: [{ type: 'text', text: 'ANSWER' }] },
  completions: { role: 'assistant', content: 'ANSWER' },
  responses: {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'ANSWER', annotations: [] }],
  },
};

/** What each format says of the tool, of its call, and of what it gave. */
const tool = {
  content: {
    functionDeclarations: [{ name: 'get_weather', description: 'Weather', parametersJsonSchema: citySchema }],
  },
  messages: { name: 'get_weather', description: 'Weather', input_schema: citySchema },
  completions: {
    type: 'function',
    function: { name: 'get_weather', description: 'Weather', parameters: citySchema },
  },
  responses: {
    type: 'function',
    name: 'get_weather',
    description: 'Weather',
    parameters: citySchema,
    strict: false,
  },
};
const rain = { content: [{ role: 'user', parts: [{ text: 'rain?' }] }], others: [{ role: 'user', content: 'rain?' }] };
const called = {
  content: [
    {
      role: 'model',
      parts: [{ functionCall: { name: 'get_weather', args: { city: 'Rome' } }, thoughtSignature: 'EpYCCpMC' }],
    },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { result: 'rain' } } }] },
  ],
  messages: [
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_rome', name: 'get_weather', input: { city: 'Rome' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_rome', content: 'rain' }] },
  ],
  completions: [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_rome', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_rome', content: 'rain' },
  ],
  responses: [
    { type: 'function_call', call_id: 'call_rome', name: 'get_weather', arguments: '{"city":"Rome"}' },
    { type: 'function_call_output', call_id: 'call_rome', output: 'rain' },
  ],
};

/** What a person types, and the literal bodies that go out in each format. */
export const tasks: Readonly<Record<string, Task>> = {
  text: { lines: 'text hi', ...hi },
  'text --stream': { lines: 'text hi --stream', streamed: true, ...hi },
  'chat in a pipe': { lines: 'chat', stdin: 'hi', streamed: true, ...hi },
  'chat with --session twice': {
    lines: ['chat hi --session s.jsonl', 'chat more --session s.jsonl'],
    streamed: true,
    content: [
      { contents: hello.content },
      {
        contents: [...hello.content, answered.content, { role: 'user', parts: [{ text: 'more' }] }],
      },
    ],
    messages: [
      { messages: hello.others },
      { messages: [...hello.others, answered.messages, { role: 'user', content: 'more' }] },
    ],
    completions: [
      { messages: hello.others },
      { messages: [...hello.others, answered.completions, { role: 'user', content: 'more' }] },
    ],
    responses: [
      { input: hello.others },
      { input: [...hello.others, answered.responses, { role: 'user', content: 'more' }] },
    ],
  },
  'chat with --tools and --tool-exec': {
    lines: "chat rain? --tools tools.json --tool-exec 'get_weather=./weather.sh'",
    streamed: true,
    content: [
      { contents: rain.content, tools: [tool.content] },
      { contents: [...rain.content, ...called.content], tools: [tool.content] },
    ],
    messages: [
      { messages: rain.others, tools: [tool.messages] },
      { messages: [...rain.others, ...called.messages], tools: [tool.messages] },
    ],
    completions: [
      { messages: rain.others, tools: [tool.completions] },
      { messages: [...rain.others, ...called.completions], tools: [tool.completions] },
    ],
    responses: [
      { input: rain.others, tools: [tool.responses] },
      { input: [...rain.others, ...called.responses], tools: [tool.responses] },
    ],
  },
  'text --schema': {
    lines: 'text hi --schema city.json',
    content: [
      {
        contents: hello.content,
        generationConfig: { responseMimeType: 'application/json', responseJsonSchema: citySchema },
      },
    ],
    messages: [{ messages: hello.others, output_config: { format: { type: 'json_schema', schema: citySchema } } }],
    completions: [
      {
        messages: hello.others,
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'reply', schema: citySchema, strict: true },
        },
      },
    ],
    responses: [
      {
        input: hello.others,
        text: { format: { type: 'json_schema', name: 'reply', schema: citySchema, strict: true } },
      },
    ],
    stdout: '{"city":"Rome"}\n',
  },
  'chat -i with a picture, --attach with a PDF': {
    lines: 'chat hi -i dot.png --attach note.pdf',
    streamed: true,
    content: [
      {
        contents: [
          {
            role: 'user',
            parts: [
              { text: 'hi' },
              { inlineData: { mimeType: 'image/png', data: png } },
              { inlineData: { mimeType: 'application/pdf', data: pdf } },
            ],
          },
        ],
      },
    ],
    messages: [
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: pdf },
                title: 'note.pdf',
              },
              { type: 'text', text: 'hi' },
            ],
          },
        ],
      },
    ],
    completions: [
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'hi' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
              { type: 'file', file: { filename: 'note.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
            ],
          },
        ],
      },
    ],
    responses: [
      {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'hi' },
              { type: 'input_image', image_url: `data:image/png;base64,${png}` },
              { type: 'input_file', filename: 'note.pdf', file_data: `data:application/pdf;base64,${pdf}` },
            ],
          },
        ],
      },
    ],
  },
  'batch of two rows': {
    lines: `batch --data towns.csv --defaults '{"prompt":"{{town}}"}' --concurrency 1 -o out`,
    content: ['Rome', 'Oslo'].map((text) => ({ contents: [{ role: 'user', parts: [{ text }] }] })),
    messages: ['Rome', 'Oslo'].map((content) => ({ messages: [{ role: 'user', content }] })),
    completions: ['Rome', 'Oslo'].map((content) => ({ messages: [{ role: 'user', content }] })),
    responses: ['Rome', 'Oslo'].map((content) => ({ input: [{ role: 'user', content }] })),
    stdout: 'out/results.jsonl\n',
    stderr: '2 done\n',
    costs: 'cost: 0.000024 USD as told\n',
  },
  '--record, then --replay': { lines: ['text hi --record tape', 'text hi --replay tape'], ...hi },
};

/** The requests of `image gen 'a cat'` and `image edit blue -i dot.png`. */
export const pictures: Readonly<Record<'gemini' | 'openai' | 'openrouter', [string, object][]>> = {
  gemini: [
    [
      `POST /v1beta/models/${imageModels.gemini}:generateContent`,
      { contents: [{ role: 'user', parts: [{ text: 'a cat' }] }], store: false },
    ],
    [
      `POST /v1beta/models/${imageModels.gemini}:generateContent`,
      {
        contents: [{ role: 'user', parts: [{ text: 'blue' }, { inlineData: { mimeType: 'image/png', data: png } }] }],
        store: false,
      },
    ],
  ],
  openai: [
    ['POST /v1/images/generations', { model: imageModels.openai, prompt: 'a cat' }],
    ['POST /v1/images/edits', { model: imageModels.openai, prompt: 'blue', image: 'image.png image/png' }],
  ],
  openrouter: [
    ['POST /api/v1/images', { model: imageModels.openrouter, prompt: 'a cat' }],
    [
      'POST /api/v1/images',
      {
        model: imageModels.openrouter,
        prompt: 'blue',
        input_references: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }],
      },
    ],
  ],
};
