import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { formatNames as formats } from '../../../src/library/formats/format.ts';
import { dot } from '../../helpers/recorded-run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test } from '../../helpers/with-server.ts';
import { replies } from './answers.ts';
import type { FormatName } from '../../../src/library/formats/types.ts';

const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
const closed = { ...schema, additionalProperties: false };
const files = {
  'schema.json': JSON.stringify(schema),
  'closed.json': JSON.stringify(closed),
  'note.pdf': '%PDF-1.4\n',
  'rows.csv': 'a,b\n',
  'dot.png': Buffer.from(dot, 'base64'),
  'tools.json': '[{"name":"look","description":"Looks","parameters":{"type":"object"}}]',
  'messages.json':
    '[{"role":"user","content":"earlier"},{"role":"assistant","content":[{"type":"text","text":"Yes"}]}]',
};

const whole = '/v1beta/models/m:generateContent';
const streamed = '/v1beta/models/m:streamGenerateContent?alt=sse';
const prompt = { role: 'user', content: 'hi' };
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
const message = { model: 'm', max_tokens: 4096, messages: [prompt] };
const completion = { model: 'm', messages: [prompt] };
const response = { model: 'm', input: [prompt], store: false };
/** The thinking of a conversation goes back with its next turn. */
const conversation = { ...response, include: ['reasoning.encrypted_content'] };
const responseTools = [
  {
    type: 'function',
    name: 'look',
    description: 'Looks',
    parameters: { type: 'object', properties: {} },
    strict: false,
  },
];
const contentTools = [
  { functionDeclarations: [{ name: 'look', description: 'Looks', parametersJsonSchema: { type: 'object' } }] },
];
const messageTools = [{ name: 'look', description: 'Looks', input_schema: { type: 'object' } }];
const completionTools = [
  {
    type: 'function',
    function: { name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } },
  },
];
const calling = (config: object) => ({ contents, tools: contentTools, toolConfig: { functionCallingConfig: config } });
const pdf = Buffer.from(files['note.pdf']).toString('base64');
const csv = Buffer.from(files['rows.csv']).toString('base64');

/** A command line, the operation of the content format, and the body in each format; without one, the format refuses a flag. */
const rows: [string, string, Partial<Record<FormatName, object>>][] = [
  [
    'text hi --stop END',
    whole,
    {
      content: { contents, generationConfig: { stopSequences: ['END'] } },
      messages: { ...message, stop_sequences: ['END'] },
      completions: { ...completion, stop: ['END'] },
    },
  ],
  ['text hi', whole, { content: { contents }, messages: message, completions: completion, responses: response }],
  [
    'text hi --stream',
    streamed,
    {
      content: { contents },
      messages: { ...message, stream: true },
      completions: { ...completion, stream: true },
      responses: { ...response, stream: true },
    },
  ],
  [
    'text hi --system terse --max-tokens 9 --temperature 0.5 --top-p 0.9',
    whole,
    {
      content: {
        contents,
        systemInstruction: { parts: [{ text: 'terse' }] },
        generationConfig: { temperature: 0.5, topP: 0.9, maxOutputTokens: 9 },
      },
      messages: { ...message, max_tokens: 9, system: 'terse', temperature: 0.5, top_p: 0.9 },
      completions: {
        model: 'm',
        messages: [{ role: 'system', content: 'terse' }, prompt],
        max_tokens: 9,
        temperature: 0.5,
        top_p: 0.9,
      },
      responses: {
        ...response,
        instructions: 'terse',
        max_output_tokens: 9,
        temperature: 0.5,
        top_p: 0.9,
      },
    },
  ],
  [
    'text hi --schema schema.json',
    whole,
    {
      content: { contents, generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } },
      messages: { ...message, output_config: { format: { type: 'json_schema', schema } } },
      completions: { ...completion, response_format: { type: 'json_schema', json_schema: { name: 'reply', schema } } },
      responses: { ...response, text: { format: { type: 'json_schema', name: 'reply', schema } } },
    },
  ],
  [
    'chat hi --schema closed.json',
    streamed,
    {
      content: {
        contents,
        generationConfig: { responseMimeType: 'application/json', responseJsonSchema: closed },
      },
      messages: { ...message, stream: true, output_config: { format: { type: 'json_schema', schema: closed } } },
      completions: {
        ...completion,
        stream: true,
        response_format: { type: 'json_schema', json_schema: { name: 'reply', schema: closed, strict: true } },
      },
      responses: {
        ...conversation,
        stream: true,
        text: { format: { type: 'json_schema', name: 'reply', schema: closed, strict: true } },
      },
    },
  ],
  [
    'text hi --attach note.pdf --attach rows.csv',
    whole,
    {
      content: {
        contents: [
          {
            role: 'user',
            parts: [
              { text: 'hi' },
              { inlineData: { mimeType: 'application/pdf', data: pdf } },
              { inlineData: { mimeType: 'text/csv', data: csv } },
            ],
          },
        ],
      },
      messages: {
        ...message,
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'document',
                source: { type: 'base64', media_type: 'application/pdf', data: pdf },
                title: 'note.pdf',
              },
              {
                type: 'document',
                source: { type: 'text', media_type: 'text/plain', data: 'a,b\n' },
                title: 'rows.csv',
              },
              { type: 'text', text: 'hi' },
            ],
          },
        ],
      },
      completions: {
        model: 'm',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'hi' },
              { type: 'file', file: { filename: 'note.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
              { type: 'text', text: 'rows.csv:\na,b\n' },
            ],
          },
        ],
      },
      responses: {
        ...response,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'hi' },
              { type: 'input_file', filename: 'note.pdf', file_data: `data:application/pdf;base64,${pdf}` },
              { type: 'input_text', text: 'rows.csv:\na,b\n' },
            ],
          },
        ],
      },
    },
  ],
  [
    'chat hi',
    streamed,
    {
      content: { contents },
      messages: { ...message, stream: true },
      completions: { ...completion, stream: true },
      responses: { ...conversation, stream: true },
    },
  ],
  [
    'chat hi --no-stream',
    whole,
    { content: { contents }, messages: message, completions: completion, responses: conversation },
  ],
  [
    'text hi --tools tools.json',
    whole,
    {
      content: { contents, tools: contentTools },
      messages: { ...message, tools: messageTools },
      completions: { ...completion, tools: completionTools },
      responses: { ...response, tools: responseTools },
    },
  ],
  ...(
    [
      ['auto', { mode: 'AUTO' }, { type: 'auto' }, 'auto', 'auto'],
      ['any', { mode: 'ANY' }, { type: 'any' }, 'required', 'required'],
      ['none', { mode: 'NONE' }, { type: 'none' }, 'none', 'none'],
      [
        'tool:look',
        { mode: 'ANY', allowedFunctionNames: ['look'] },
        { type: 'tool', name: 'look' },
        { type: 'function', function: { name: 'look' } },
        { type: 'function', name: 'look' },
      ],
    ] as const
  ).map(([word, ofContent, ofMessages, ofCompletions, ofResponses]): (typeof rows)[number] => [
    `chat hi --no-stream --tools tools.json --tool-choice ${word}`,
    whole,
    {
      content: calling(ofContent),
      messages: { ...message, tools: messageTools, tool_choice: ofMessages },
      completions: { ...completion, tools: completionTools, tool_choice: ofCompletions },
      responses: { ...conversation, tools: responseTools, tool_choice: ofResponses },
    },
  ]),
  [
    'chat hi --no-stream -i dot.png',
    whole,
    {
      content: {
        contents: [{ role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: dot } }] }],
      },
      messages: {
        ...message,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: dot } },
              { type: 'text', text: 'hi' },
            ],
          },
        ],
      },
      completions: {
        model: 'm',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'hi' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${dot}` } },
            ],
          },
        ],
      },
      responses: {
        ...conversation,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'hi' },
              { type: 'input_image', image_url: `data:image/png;base64,${dot}` },
            ],
          },
        ],
      },
    },
  ],
  [
    'chat hi --no-stream --messages messages.json',
    whole,
    {
      content: {
        contents: [
          { role: 'user', parts: [{ text: 'earlier' }] },
          { role: 'model', parts: [{ text: 'Yes' }] },
          ...contents,
        ],
      },
      messages: {
        ...message,
        messages: [
          { role: 'user', content: 'earlier' },
          { role: 'assistant', content: [{ type: 'text', text: 'Yes' }] },
          prompt,
        ],
      },
      completions: {
        model: 'm',
        messages: [
          { role: 'user', content: 'earlier' },
          { role: 'assistant', content: [{ type: 'text', text: 'Yes' }] },
          prompt,
        ],
      },
      responses: {
        ...conversation,
        input: [
          { role: 'user', content: 'earlier' },
          {
            type: 'message',
            role: 'assistant',
            content: [{ type: 'output_text', text: 'Yes', annotations: [] }],
          },
          prompt,
        ],
      },
    },
  ],
];

const operations = { messages: '/v1/messages', completions: '/v1/chat/completions', responses: '/v1/responses' };

/** A folder with the files. */
function placeFiles(): string {
  const cwd = scratchFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  return cwd;
}

for (const format of formats) {
  test.for(rows)(`%s: the request in the ${format} format`, async ([line, operation, bodies], { server, cli }) => {
    if (bodies[format] !== undefined) server.reply({ body: replies[format] });
    const ran = await cli(line.split(' '), { cwd: placeFiles(), env: { GATEWAY_FORMAT: format } });
    if (bodies[format] === undefined) {
      expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('does not have this field') as string });
      expect(server.requests).toEqual([]);
      return;
    }
    expect(ran).toMatchObject({ code: 0, stdout: '{"a":1}\n', stderr: '' });
    const [request] = server.requests;
    expect(request?.path).toBe(format === 'content' ? operation : operations[format]);
    expect(request?.json()).toStrictEqual(bodies[format]);
  });
}
