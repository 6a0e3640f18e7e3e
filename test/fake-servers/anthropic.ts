import { rome } from './completions.ts';
import { type Amend, startFakeServer, type FakeServer, type FakeReply, type FakeRequest } from './start.ts';

/** What the fake server knows. */
export interface AnthropicOptions {
  /** The only key that it takes (default `anthropic-key-0123456789`). */
  key?: string;
  models?: readonly string[];
  amend?: Amend;
}

/** The key that a fake server takes where a test names none. */
export const anthropicKey = 'anthropic-key-0123456789';
const knownModels = ['claude-opus-4-5', 'claude-sonnet-4-5', 'claude-haiku-4-5', 'claude-sonnet-5-5'];

/**
 * A fake server of api.anthropic.com: the headers that it takes, its paths, and its wordings. Where a wording was reported in
 * public, the report is beside it. That a missing key counts before a missing version, and that before a wrong key, is our
 * guess.
 */
export function startAnthropic({
  key = anthropicKey,
  models = knownModels,
  amend = (reply) => reply,
}: AnthropicOptions = {}): Promise<FakeServer> {
  return startFakeServer((request) => amend(answer(request, { key, models }), request));
}

type Known = Required<Omit<AnthropicOptions, 'amend'>>;

function answer(request: FakeRequest, { key, models }: Known): FakeReply {
  const { method, path, query } = request;
  const model = /^\/v1\/models(?:\/([^/]+))?$/.exec(path);
  const isPost = method === 'POST' && /^\/v1\/messages(?:\/count_tokens)?$/.test(path);
  // github.com/ppipada/flexigpt-vscode-extension/issues/8, later with a small letter.
  if (!isPost && !(model && method === 'GET')) return error(404, 'not_found_error', 'Not found');
  const refusal = refuse(request, key);
  if (refusal) return refusal;
  if (!model) return post(request, models);
  if (model[1] === undefined) return listModels(query, models);
  return models.includes(model[1]) ? json(200, describe(model[1])) : unknownModel(model[1]);
}

function refuse({ headers }: FakeRequest, key: string): FakeReply | undefined {
  const shown = headers['x-api-key'] ?? '';
  // github.com/anthropics/anthropic-sdk-typescript, client.ts of 1.0: the key is a bearer token.
  const token = shown === '' ? headers['authorization']?.replace(/^Bearer /, '') : undefined;
  if (token === key) return refuseVersion(headers['anthropic-version']);
  // github.com/AndyMik90/Aperant/issues/1421.
  if (token !== undefined) return refused('Invalid bearer token');
  // github.com/n8n-io/n8n/issues/37930.
  if (shown === '') return refused('x-api-key header is required');
  // github.com/Good-player/free-claude-api-and-anthropic/issues/14.
  return refuseVersion(headers['anthropic-version']) ?? (shown === key ? undefined : refused('invalid x-api-key'));
}

function refuseVersion(version: string | undefined): FakeReply | undefined {
  // github.com/PipedreamHQ/pipedream/issues/9697.
  if (version === undefined) return invalid('anthropic-version: header is required');
  // github.com/decolua/9router/issues/2357.
  const isKnown = ['2026-10-21', '2023-06-01', '2023-01-01'].includes(version);
  return isKnown ? undefined : invalid(`anthropic-version: "${version}" is not a valid version`);
}

function refused(message: string): FakeReply {
  return error(401, 'authentication_error', message);
}

function invalid(message: string): FakeReply {
  return error(400, 'invalid_request_error', message);
}

/** github.com/anthropics/anthropic-sdk-typescript/issues/690. */
function unknownModel(model: string): FakeReply {
  return error(404, 'not_found_error', `model: ${model}`);
}

function post({ path, body }: FakeRequest, models: readonly string[]): FakeReply {
  const asked = JSON.parse(body) as Asked;
  const counts = path.endsWith('/count_tokens');
  if (asked.model === undefined) return invalid('model: Field required');
  if (asked.max_tokens === undefined && !counts) return invalid('max_tokens: Field required');
  if (!models.includes(asked.model)) return unknownModel(asked.model);
  if (counts) return json(200, { input_tokens: 8 });
  // github.com/vogler75/monster-mq/issues/168, with models whose number is 5 or more.
  if (/-5(?:-5)?$/.test(asked.model) && !asked.model.endsWith('4-5') && asked.temperature !== undefined)
    return invalid('temperature is deprecated for this model.');
  const fault = findSchemaFault(asked.output_config?.format?.schema);
  if (fault !== undefined) return invalid(`output_config.format.schema: ${fault}`);
  return asked.stream === true ? stream(asked.model, asked) : json(200, message(asked.model, asked));
}

const lackedKeywords =
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems pattern patternProperties oneOf'.split(
    ' ',
  );
const knownFormats = 'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' ');

/** What structured outputs refuse, in the words of github.com/BerriAI/litellm/issues/35811 and github.com/laravel/ai/issues/715. */
function findSchemaFault(schema: unknown): string | undefined {
  if (Array.isArray(schema)) return schema.map(findSchemaFault).find((fault) => fault !== undefined);
  if (typeof schema !== 'object' || schema === null) return undefined;
  const { type, additionalProperties, format, minItems, properties, $defs, ...rest } = schema as Record<
    string,
    unknown
  >;
  const kind = String([type].flat()[0]);
  if (kind === 'object' && additionalProperties !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false";
  const lacked = lackedKeywords.find((word) => word in rest);
  if (lacked !== undefined) return `For '${kind}' type, property '${lacked}' is not supported`;
  if (format !== undefined && !knownFormats.includes(String(format)))
    return `String format '${String(format)}' is not supported`;
  if (minItems !== undefined && minItems !== 0 && minItems !== 1)
    return "For 'array' type, 'minItems' values other than 0 or 1 are not supported";
  const held = [properties, $defs].flatMap((one) => Object.values(one ?? {}));
  return findSchemaFault([...held, rest['items'], rest['anyOf'], rest['allOf']]);
}

/** docs.claude.com/en/api/models-list: pages of 20 unless `limit` says so, after `after_id`. */
function listModels(query: URLSearchParams, models: readonly string[]): FakeReply {
  const start = models.indexOf(query.get('after_id') ?? '') + 1;
  const size = Number(query.get('limit') ?? 20);
  const page = models.slice(start, start + size);
  return json(200, {
    data: page.map(describe),
    has_more: start + size < models.length,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  });
}

function describe(id: string): object {
  const title = id.replaceAll('-', ' ').replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
  return { type: 'model', id, display_name: title, created_at: '2025-09-29T00:00:00Z' };
}

const usage = {
  input_tokens: 8,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 5,
  service_tier: 'standard',
};
const id = 'msg_013Zva2CMHLNnXjNJJKqJ2EF';

/** A request, as far as an answer depends on it. */
interface Asked {
  model?: string;
  max_tokens?: number;
  stream?: boolean;
  temperature?: number;
  messages?: readonly { content: unknown }[];
  tools?: readonly { name: string }[];
  system?: string;
  output_config?: { format?: { schema?: unknown } };
}

/** A tool is called until its result is there. */
function blockOf({ tools, messages = [], output_config, system = '' }: Asked): Block {
  const isAnswered = JSON.stringify(messages.at(-1)?.content ?? '').includes('"type":"tool_result"');
  const tool = isAnswered ? undefined : tools?.[0];
  if (tool) return { type: 'tool_use', id: 'toolu_rome', name: tool.name, input: { city: 'Rome' } };
  return { type: 'text', text: output_config?.format || system.includes('JSON Schema') ? rome : 'Hello from Claude.' };
}

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: object };

function message(model: string, asked: Asked): object {
  const block = blockOf(asked);
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [block],
    stop_reason: reasonOf(block),
    stop_sequence: null,
    usage,
  };
}

function reasonOf({ type }: Block): string {
  return type === 'text' ? 'end_turn' : 'tool_use';
}

/** The service itself sends the blanks after some events. */
function stream(model: string, asked: Asked): FakeReply {
  const block = blockOf(asked);
  const begun = { ...message(model, asked), content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  const empty = block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} };
  const [first = '', second = ''] = deltasOf(block);
  const body = [
    event('message_start', `${JSON.stringify({ type: 'message_start', message: begun })}     `),
    event(
      'content_block_start',
      `${JSON.stringify({ type: 'content_block_start', index: 0, content_block: empty })}  `,
    ),
    event('ping', '{"type": "ping"}'),
    event('content_block_delta', first),
    event('content_block_delta', `${second}        `),
    event('content_block_stop', '{"type":"content_block_stop","index":0 }'),
    event(
      'message_delta',
      `{"type":"message_delta","delta":{"stop_reason":"${reasonOf(block)}","stop_sequence":null},"usage":{"output_tokens":5}}`,
    ),
    event('message_stop', '{"type":"message_stop"   }'),
  ];
  return { status: 200, headers: { ...headers(), 'content-type': 'text/event-stream; charset=utf-8' }, body };
}

/** Two pieces. */
function deltasOf(block: Block): string[] {
  const text = block.type === 'text' ? block.text : JSON.stringify(block.input);
  const pieces = [text.slice(0, 6), text.slice(6)];
  return pieces.map((piece) =>
    JSON.stringify({
      type: 'content_block_delta',
      index: 0,
      delta:
        block.type === 'text' ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece },
    }),
  );
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

const requestId = 'req_011CeoTSFcsuNZkEqC59YWgZ';

/** github.com/writingmate/chatlabs/pull/35 and github.com/anthropics/anthropic-sdk-typescript/issues/357. */
function headers(): Record<string, string> {
  return {
    'content-type': 'application/json',
    'request-id': requestId,
    via: '1.1 google',
    'cf-cache-status': 'DYNAMIC',
    server: 'cloudflare',
    'cf-ray': '8678603add5505df-IAD',
  };
}

function json(status: number, body: object): FakeReply {
  return { status, headers: headers(), body: JSON.stringify(body) };
}

function error(status: number, type: string, message: string): FakeReply {
  const reply = json(status, { type: 'error', error: { type, message }, request_id: requestId });
  return { ...reply, headers: { ...reply.headers, 'x-should-retry': 'false' } };
}
