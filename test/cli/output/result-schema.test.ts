import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, onTestFinished, vi } from 'vitest';
import { topicTexts } from '../../helpers/readme.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}

const text = readFileSync(join(import.meta.dirname, '../../../dist/result.schema.json'), 'utf8');
const schema = JSON.parse(text) as Schema;

/** What we ship lets later versions add keys. Here a key that it does not know is a mistake. */
const closed = JSON.parse(text, (_, value: unknown) =>
  typeof value === 'object' && value !== null && 'properties' in value && 'required' in value
    ? { ...value, additionalProperties: false }
    : value,
) as object;
const fits = new Ajv().compile(closed);

/** Paths of all keys: `images[].path`. */
function pathsOf({ properties = {}, items }: Schema, at = ''): string[] {
  const inside = Object.entries(properties).flatMap(([name, value]) => [at + name, ...pathsOf(value, `${at}${name}.`)]);
  return [...inside, ...(items ? pathsOf(items, at.replace(/\.$/, '[].')) : [])];
}

/** Paths of the keys that a document has. */
function pathsIn(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, at.replace(/\.$/, '[].')));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [at + name, ...pathsIn(inner, `${at}${name}.`)]);
}

/** Everything that a reply of the content format can have. */
const blocked = {
  promptFeedback: { blockReason: 'SAFETY' },
  candidates: [],
  usageMetadata: {
    promptTokenCount: 3,
    serviceTier: 'standard',
    candidatesTokenCount: 0,
    totalTokenCount: 3,
    thoughtsTokenCount: 1,
    cachedContentTokenCount: 2,
    toolUsePromptTokenCount: 1,
    promptTokensDetails: ['IMAGE', 'AUDIO'].map((modality) => ({ modality, tokenCount: 2 })),
    cacheTokensDetails: ['IMAGE', 'AUDIO'].map((modality) => ({ modality, tokenCount: 1 })),
    candidatesTokensDetails: [
      { modality: 'IMAGE', tokenCount: 0 },
      { modality: 'AUDIO', tokenCount: 1 },
    ],
  },
};
const tooLong = textReply('abc', {
  candidates: [
    {
      content: { role: 'model', parts: [{ text: 'abc' }] },
      finishReason: 'MAX_TOKENS',
      finishMessage: 'The answer is too long.',
      safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'LOW', blocked: false }],
    },
  ],
});
const ranCode = textReply('', {
  candidates: [
    {
      index: 0,
      content: { parts: [{ executableCode: { code: '1' } }, { inlineData: { mimeType: 'audio/wav', data: 'QUJD' } }] },
      finishReason: 'STOP',
    },
  ],
});
const paused = {
  candidates: [{ content: { parts: [{ text: 'hel' }] }, finishReason: 'CONTINUATION', continuationToken: 'a' }],
};
const ending = { modelStage: 'DEPRECATED', retirementTime: '2027-01-01T00:00:00Z', message: 'Use m-2 instead.' };
const rateLimited = { status: 429, headers: { 'retry-after': '7', 'x-request-id': 'req-1' }, body: { error: {} } };
const [start = {}, , , , , end = {}] = messageEvents('');
const stoppedBySequence = eventStream(
  ...messageEvents('one').slice(0, -2),
  { type: 'message_delta', delta: { stop_reason: 'stop_sequence', stop_sequence: 'END' } },
  end,
);
const toolCall = eventStream(
  start,
  { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'see', input: {} } },
  { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"at":[1,null]}' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
  end,
);
const answer = eventStream(...messageEvents('It is there.'));
const cached = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: '{"born":1815}' }],
  stop_reason: 'end_turn',
  usage: {
    input_tokens: 3,
    output_tokens: 2,
    cache_creation_input_tokens: 1,
    cache_creation: { ephemeral_1h_input_tokens: 1 },
  },
};

const told = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, cost: 0.0002, server_tool_use_details: { web_search_requests: 1 } },
};

const location = { document_title: 'Notes', start_page_number: 7, cited_text: 'x' };
const cited = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'so', citations: [{ type: 'page_location', ...location }] }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1, server_tool_use: { web_search_requests: 1 } },
};
const numbered = {
  choices: [{ message: { content: 'so [1]' }, finish_reason: 'stop' }],
  citations: ['https://a.test/'],
};

test('the JSON Schema of the result document fits every kind of result, and has no key that none of them shows', async ({
  server,
  cli,
}) => {
  const cwd = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', scratchFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  writeFileSync(join(cwd, 'tools.json'), '[{"name":"see","input_schema":{"type":"object"}}]');
  writeFileSync(join(cwd, 'object.json'), '{"type":"object"}');
  const shown = new Set<string>();
  const runs: [code: number, argv: string[], ...bodies: object[]][] = [
    [0, ['text', 'hi'], { body: textReply('hello') }],
    [0, ['text', 'hi'], { body: textReply('hello', { modelStatus: ending }) }],
    [0, ['text', 'hi', '--fallback', 'm-2', '--retries', '0'], rateLimited, { body: textReply('hello') }],
    [0, ['image', 'gen', 'hi', '--offline', '--size', '512', '-n', '2']],
    [0, ['chat', 'hi', '--stop', 'END'], { body: stoppedBySequence }],
    [0, ['chat', 'hi', '--tools', 'tools.json'], { body: toolCall }],
    [0, ['chat', 'hi', '--tools', 'tools.json', '--tool-exec', 'see=cat'], { body: toolCall }, { body: answer }],
    [
      0,
      [
        'chat',
        'hi',
        '--no-stream',
        '--schema',
        'object.json',
        '--tag',
        'team=docs',
        '--prices',
        '{"*":{"input":3,"output":15}}',
      ],
      { body: cached },
    ],
    [10, ['image', 'gen', 'x', '-n', '2'], { body: ranCode }, { body: ranCode }],
    [2, ['text']],
    [3, ['text', 'hi'], { status: 401, body: { error: { message: 'no' } } }],
    [5, ['text', 'hi', '--retries', '0'], rateLimited],
    [9, ['text', 'hi'], { body: '<html>' }],
    [10, ['text', 'hi'], { body: blocked }],
    [0, ['text', 'hi'], { body: paused }, { body: textReply('lo') }],
    [0, ['chat', 'hi', '--no-stream', '--no-save'], { body: cited }],
    [0, ['text', 'hi', '--format', 'completions'], { body: numbered }],
    [0, ['text', 'hi'], { body: tooLong }],
    [0, ['text', 'hi', '--format', 'completions'], { body: told }],
    [11, ['text', 'hi', '--schema', 'object.json', '-o', 'answer.json'], { body: textReply('no JSON') }],
    [11, ['chat', 'hi'], { body: eventStream(...messageEvents('half').slice(0, 3)) }],
  ];
  for (const [exitCode, argv, ...replies] of runs) {
    for (const reply of replies) server.reply(reply);
    const { stdout } = await cli([...argv, '--json'], { cwd, env: { PATH: process.env['PATH'] ?? '' } });
    const document = JSON.parse(stdout) as object;
    expect(document).toMatchObject({ schema: 'gateway-cli/result@1', exitCode });
    fits(document);
    expect({ argv, errors: fits.errors }).toEqual({ argv, errors: null });
    for (const path of pathsIn(document)) shown.add(path);
  }
  expect(pathsOf(schema).filter((path) => !shown.has(path))).toEqual([]);
});

test('the topic names each key of the JSON Schema, and no other', () => {
  const rows =
    (topicTexts.get('output') ?? '')
      .split(/^## /m)
      .find((part) => part.startsWith('The result document'))
      ?.match(/^\| `.*$/gm) ?? [];
  const named = rows.flatMap((row) => [...row.matchAll(/`(\w+)(?:\[\])?`/g)].map(([, name]) => name));
  const values = new Set(['true', 'assistant', 'yes', 'no', 'unknown']);
  const keys = pathsOf(schema).map((path) => path.replace(/^.*\./, ''));
  expect(new Set(named.filter((name = '') => !values.has(name)))).toEqual(
    new Set(keys.filter((key) => key !== 'schema')),
  );
});

test('the topics output and settings print their JSON Schemas with --json', async () => {
  for (const [topic, file] of [
    ['output', 'result'],
    ['settings', 'config'],
  ]) {
    const { stdout } = await run(['help', topic ?? '', '--json']);
    const shipped = readFileSync(join(import.meta.dirname, `../../../dist/${file}.schema.json`), 'utf8');
    expect((JSON.parse(stdout) as { jsonSchema: unknown }).jsonSchema).toEqual(JSON.parse(shipped));
  }
});
