import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startAnthropic } from '../fake-servers/anthropic.ts';
import { rome } from '../fake-servers/completions.ts';
import { startOpenAi } from '../fake-servers/openai.ts';
import { type FakeReply, type FakeServer, startFakeServer } from '../fake-servers/start.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { runWith, workFolder } from './vendor-run.ts';
import { startVendors } from './vendors.ts';

// A schema as people write it, at services that take a part of JSON Schema, or none.

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 2, pattern: '^[A-Z]' },
    born: { type: ['integer', 'null'], minimum: 0 },
    site: { type: 'string', format: 'uri-reference', description: 'Where to read on' },
    tags: { type: 'array', items: { oneOf: [{ type: 'string', maxLength: 9 }, { $ref: '#/$defs/tag' }] }, minItems: 2 },
  },
  required: ['city'],
  $defs: { tag: { type: 'object', properties: { name: { type: 'string' } } } },
};

const closed = {
  type: 'object',
  properties: {
    city: { type: 'string', description: '{minLength: 2, pattern: "^[A-Z]"}' },
    born: { type: ['integer', 'null'], description: '{minimum: 0}' },
    site: { type: 'string', description: 'Where to read on\n\n{format: "uri-reference"}' },
    tags: {
      type: 'array',
      items: { anyOf: [{ type: 'string', description: '{maxLength: 9}' }, { $ref: '#/$defs/tag' }] },
      description: '{minItems: 2}',
    },
  },
  required: ['city'],
  $defs: { tag: { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: false } },
  additionalProperties: false,
};

beforeEach(() => void vi.stubEnv('XDG_CACHE_HOME', scratchFolder()));

const bodiesOf = ({ requests }: Pick<FakeServer, 'requests'>): Record<string, unknown>[] =>
  requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

const open = [{ type: 'object' }, { type: 'object', properties: { city: { type: 'string', enum: ['Rome'] } } }];

/** A folder with a schema and a tool. */
function folderWith(given: object): string {
  const cwd = workFolder();
  writeFileSync(join(cwd, 'own.json'), JSON.stringify(given));
  writeFileSync(join(cwd, 'open-tools.json'), '[{"name":"get_weather","input_schema":{"type":"object"}}]');
  return cwd;
}

test.each([schema, ...open])(
  'Anthropic gets the schema in the form that it takes, and the answer is checked against that of the user: %j',
  async (given) => {
    const vendors = await startVendors({ anthropic: await startAnthropic() });
    onTestFinished(() => vendors.close());
    const cwd = folderWith(given);
    const ran = await runWith(vendors, 'anthropic', 'text --json hi --schema own.json', { cwd });
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, attempts: 1, answer: { city: 'Rome' } });
    if (given === schema)
      expect(bodiesOf(ran)[0]).toMatchObject({ output_config: { format: { type: 'json_schema', schema: closed } } });
  },
);

const strict = (city: object) => ({
  type: 'object',
  properties: { city, sites: { type: 'array', items: { type: 'string', ...city } } },
  required: ['city', 'sites'],
  additionalProperties: false,
});

test.each(['responses', 'completions'])(
  'a schema that is held to strictly has only keywords that OpenAI takes, in %s',
  async (format) => {
    const vendors = await startVendors({ openai: await startOpenAi() });
    onTestFinished(() => vendors.close());
    const cwd = folderWith(strict({ type: 'string', minLength: 2, format: 'uri', pattern: 'o' }));
    const ran = await runWith(vendors, 'openai', `text hi --schema own.json --format ${format}`, { cwd });
    const [body, ...others] = bodiesOf(ran);
    expect(others).toStrictEqual([]);
    const kept = { type: 'string', pattern: 'o', description: '{minLength: 2, format: "uri"}' };
    expect(format === 'responses' ? body?.['text'] : body?.['response_format']).toMatchObject(
      format === 'responses'
        ? { format: { strict: true, schema: strict(kept) } }
        : { json_schema: { strict: true, schema: strict(kept) } },
    );
  },
);

const inner = { type: 'object', properties: { city: { type: 'string' }, next: { $ref: '#/$defs/inner' } } };

test.each([
  ['of any object', { type: 'object' }],
  ['of any names', { type: 'object', additionalProperties: { type: 'string' } }],
  ['that holds itself', { $ref: '#/$defs/inner', $defs: { inner } }],
])('a schema %s, which no closed one says, is told to Anthropic in words', async (_, given) => {
  const vendors = await startVendors({ anthropic: await startAnthropic() });
  onTestFinished(() => vendors.close());
  const cwd = folderWith(given);
  const ran = await runWith(vendors, 'anthropic', 'text --json hi --system Briefly. --schema own.json', { cwd });
  expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, attempts: 1, answer: { city: 'Rome' } });
  const [body] = bodiesOf(ran);
  expect(body).not.toHaveProperty('output_config');
  expect(body?.['system']).toMatch(/^Briefly\.\n\nAnswer with one JSON value/);
  expect(body?.['system']).toContain(JSON.stringify(given));
});

test.each(['responses', 'completions'])(
  'a tool whose schema names no property is taken at OpenAI in %s',
  async (format) => {
    const vendors = await startVendors({ openai: await startOpenAi() });
    onTestFinished(() => vendors.close());
    const line = `text --json hi --tools open-tools.json --format ${format}`;
    const ran = await runWith(vendors, 'openai', line, { cwd: folderWith(schema) });
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, toolCalls: [{ name: 'get_weather' }] });
  },
);

const json = { 'content-type': 'application/json' };
const completion: FakeReply = {
  status: 200,
  headers: json,
  body: `{"choices":[{"index":0,"message":{"role":"assistant","content":${JSON.stringify(rome)}},"finish_reason":"stop"}]}`,
};
const refusal = (message: string): FakeReply => ({
  status: 400,
  headers: json,
  body: JSON.stringify({ error: { message, type: 'invalid_request_error' } }),
});

/** A server with JSON mode alone, which wants the word JSON in the prompt, in the words of api-docs.deepseek.com/guides/json_mode. */
async function startWithJsonMode(message: string): Promise<FakeServer> {
  const server = await startFakeServer(({ body }) => {
    const { response_format: format, messages } = JSON.parse(body) as {
      response_format?: { type: string };
      messages: object;
    };
    if (format?.type === 'json_schema') return refusal(message);
    return /json/i.test(JSON.stringify(messages)) ? completion : refusal("Prompt must contain the word 'json'");
  });
  onTestFinished(() => server.close());
  return server;
}

const inWords = {
  response_format: { type: 'json_object' },
  messages: [
    { role: 'system', content: expect.stringContaining(JSON.stringify(schema)) as string },
    { role: 'user', content: 'hi' },
  ],
};

describe('a service with JSON mode alone gets the schema in words', () => {
  test('before it is asked, where that is known', async () => {
    const argv = ['text', '--dry-run', '--json', 'hi', '--schema', JSON.stringify(schema), '-m', 'm'];
    const env = { DEEPSEEK_API_KEY: 'key-0123456789' };
    const plain = await run(argv, { env });
    expect(JSON.parse(plain.stdout)).toMatchObject({ body: inWords });
    const { stdout } = await run([...argv, '--system', 'Be brief.'], { env });
    expect(stdout).toContain('"content":"Be brief.\\n\\nAnswer with one JSON value');
  });

  test.each([
    'This response_format type is unavailable now',
    'This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models',
  ])('once more after a refusal, which is remembered: %s', async (message) => {
    const server = await startWithJsonMode(message);
    const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'key-0123456789', GATEWAY_FORMAT: 'completions' };
    const argv = ['text', '--json', 'hi', '--schema', JSON.stringify(schema), '-m', 'm'];
    const first = await run(argv, { env });
    expect(JSON.parse(first.stdout)).toMatchObject({ ok: true, attempts: 2, answer: { city: 'Rome' } });
    const again = await run(argv, { env });
    expect(JSON.parse(again.stdout)).toMatchObject({ ok: true, attempts: 1 });
    expect(bodiesOf(server)[2]).toMatchObject(inWords);
  });
});

test('a gateway of the messages format that refuses an open schema gets it closed', async () => {
  const message = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: rome }],
    stop_reason: 'end_turn',
  };
  const server = await startFakeServer(({ body }) =>
    body.includes('"additionalProperties":false')
      ? { status: 200, headers: json, body: JSON.stringify(message) }
      : refusal(
          "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
        ),
  );
  onTestFinished(() => server.close());
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'key-0123456789', GATEWAY_FORMAT: 'messages' };
  const { stdout } = await run(['text', '--json', 'hi', '--schema', JSON.stringify(schema), '-m', 'm'], { env });
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, attempts: 2, answer: { city: 'Rome' } });
});
