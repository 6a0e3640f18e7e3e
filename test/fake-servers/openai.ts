import { type Asked, completionBody, created, pixel } from './completions.ts';
import { type AskedResponse, responseBody } from './responses.ts';
import { type Amend, startFakeServer, type FakeServer, type FakeReply, type FakeRequest } from './start.ts';

/** What the fake server knows. */
export interface OpenAiOptions {
  /** The only key that it takes (default `sk-openai-key-0123456789`). */
  key?: string;
  models?: readonly string[];
  amend?: Amend;
}

/** The key that a fake server takes where a test names none. */
export const openAiKey = 'sk-openai-key-0123456789';
/** The key of an account without credit. */
export const spentKey = 'sk-openai-key-without-credit';
const knownModels = ['gpt-4o', 'gpt-6-luna', 'gpt-6.2-sol', 'gpt-image-2.6-flare'];

/**
 * A fake server of api.openai.com: the header that it takes, its paths, and its wordings. Where a wording was reported in public,
 * the report is beside it. It checks the fields that these reports name, and no others.
 */
export function startOpenAi({
  key = openAiKey,
  models = knownModels,
  amend = (reply) => reply,
}: OpenAiOptions = {}): Promise<FakeServer> {
  return startFakeServer((request) => amend(answer(request, { key, models }), request));
}

type Known = Required<Omit<OpenAiOptions, 'amend'>>;

function answer(request: FakeRequest, { key, models }: Known): FakeReply {
  const { method, path } = request;
  const model = /^\/v1\/models(?:\/([^/]+))?$/.exec(path);
  const isPost =
    method === 'POST' && /^\/v1\/(?:chat\/completions|responses|images\/(?:generations|edits))$/.test(path);
  // github.com/Chanzhaoyu/chatgpt-web/issues/737.
  if (!isPost && !(model && method === 'GET')) return error(404, `Invalid URL (${method} ${path})`);
  const token = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '')?.[1];
  if (token === undefined) return noKey();
  if (token === spentKey) return noCredit();
  if (token !== key) return wrongKey(token);
  if (!model) return post(request, models);
  if (model[1] === undefined) return json(200, { object: 'list', data: models.map(describe) });
  return models.includes(model[1]) ? json(200, describe(model[1])) : unknownModel(model[1]);
}

/** github.com/continuedev/continue/issues/10931. */
function noKey(): FakeReply {
  const how =
    "You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. You can obtain an API key from https://platform.openai.com/account/api-keys.";
  return error(401, `You didn't provide an API key. ${how}`);
}

/** github.com/chatanywhere/GPT_API_free/issues/62. */
function wrongKey(key: string): FakeReply {
  const shown = key.length < 13 ? '*'.repeat(key.length) : `${key.slice(0, 8)}${'*'.repeat(39)}${key.slice(-4)}`;
  const where = 'You can find your API key at https://platform.openai.com/account/api-keys.';
  return error(401, `Incorrect API key provided: ${shown}. ${where}`, { code: 'invalid_api_key' });
}

/** github.com/ChatGPTNextWeb/NextChat/issues/3664. */
function noCredit(): FakeReply {
  const message =
    'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.';
  return error(429, message, { type: 'insufficient_quota', code: 'insufficient_quota' });
}

/** github.com/shobrook/wut/issues/14. */
function unknownModel(model: string): FakeReply {
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return error(404, message, { code: 'model_not_found' });
}

function post({ path, body }: FakeRequest, models: readonly string[]): FakeReply {
  if (path === '/v1/images/edits') return json(200, picture);
  const asked = JSON.parse(body) as Asked;
  const { model, stream } = asked;
  // github.com/lss233/kirara-ai/issues/800.
  if (typeof model !== 'string') return error(400, 'you must provide a model parameter');
  if (!models.includes(model)) return unknownModel(model);
  if (path === '/v1/images/generations') return postImages(asked);
  const refusal =
    (path === '/v1/responses' ? refuseResponse(asked, model) : refuse(asked, model)) ?? refuseSchemas(asked);
  if (refusal) return refusal;
  if (path === '/v1/responses')
    return streamed(stream, responseBody(JSON.parse(body) as AskedResponse, { id: 'resp_1', model, text }));
  const answer = completionBody(asked, { id, model, text, usage, more }, { refusal: null });
  return streamed(stream, answer);
}

const text = 'Hello from GPT.';

function streamed(stream: boolean | undefined, body: string | string[]): FakeReply {
  const type = stream === true ? 'text/event-stream; charset=utf-8' : 'application/json';
  return { status: 200, headers: { ...headers(), 'content-type': type }, body };
}

const responseFields =
  'model input instructions stream store include tools tool_choice text reasoning max_output_tokens temperature top_p metadata service_tier'.split(
    ' ',
  );

/** `refuse` for responses. */
function refuseResponse(asked: Record<string, unknown>, model: string): FakeReply | undefined {
  // github.com/MadAppGang/claudish/issues/174.
  if (asked['messages'] !== undefined) {
    const message =
      "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again with the new parameter.";
    return error(400, message, { param: 'messages', code: 'unsupported_parameter' });
  }
  if (asked['input'] === undefined) return missing('input');
  const unknown = Object.keys(asked).find((name) => !responseFields.includes(name));
  if (unknown !== undefined) return unknownParameter(unknown);
  if (!/^gpt-[5-9]/.test(model) || asked['temperature'] === undefined) return undefined;
  const message = "Unsupported parameter: 'temperature' is not supported with this model.";
  return error(400, message, { param: 'temperature', code: 'unsupported_parameter' });
}

const fields = ['model', 'messages', 'stream', 'stream_options', 'n', 'temperature', 'max_tokens', 'stop'];
const otherFields = ['max_completion_tokens', 'tools', 'tool_choice', 'response_format', 'reasoning_effort', 'top_p'];

/** `refuse` for chat completions; models whose number is 5 or more reason. */
function refuse(asked: Record<string, unknown>, model: string): FakeReply | undefined {
  const isReasoning = /^gpt-[5-9]/.test(model);
  // github.com/SilasMarvin/lsp-ai/issues/108.
  if (asked['messages'] === undefined) return missing('messages');
  const unknown = Object.keys(asked).find((name) => ![...fields, ...otherFields].includes(name));
  // github.com/davidmigloz/langchain_dart/issues/712, and github.com/teabranch/open-responses-server/issues/41.
  if (unknown !== undefined && !isReasoning) return error(400, `Unrecognized request argument supplied: ${unknown}`);
  if (unknown !== undefined) return unknownParameter(unknown);
  if (!isReasoning && asked['reasoning_effort'] !== undefined)
    return error(400, 'Unrecognized request argument supplied: reasoning_effort');
  // github.com/microsoft/vscode-copilot-release/issues/8065.
  if (isReasoning && asked['max_tokens'] !== undefined) {
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    return error(400, message, { param: 'max_tokens', code: 'unsupported_parameter' });
  }
  // github.com/diffbot/code-gpt-docs/issues/445.
  if (isReasoning && asked['temperature'] !== undefined && asked['temperature'] !== 1) {
    const message = `Unsupported value: 'temperature' does not support ${String(asked['temperature'])} with this model. Only the default (1) value is supported.`;
    return error(400, message, { param: 'temperature', code: 'unsupported_value' });
  }
  // github.com/Jeffser/Alpaca/issues/904.
  if (typeof asked['max_tokens'] === 'number' && !Number.isInteger(asked['max_tokens'])) {
    const message = "Invalid type for 'max_tokens': expected an integer, but got a decimal number instead.";
    return error(400, message, { param: 'max_tokens', code: 'invalid_type' });
  }
  return undefined;
}

interface AskedTool {
  name?: string;
  parameters?: Record<string, unknown>;
  function?: AskedTool;
}

/** github.com/cyanheads/git-mcp-server/issues/47, with the formats that it names; the keywords are those of the page on structured outputs. */
function findStrictFault(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const { format = 'date', properties = {}, ...held } = schema as Record<string, unknown>;
  const known = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];
  if (!known.includes(format as string)) return `'${String(format)}' is not a valid format.`;
  const word = ['minLength', 'maxLength', 'uniqueItems'].find((each) => each in held);
  if (word !== undefined) return `'${word}' is not permitted.`;
  return [...Object.values(properties as object), ...Object.values((held['$defs'] ?? {}) as object), held['items']]
    .map(findStrictFault)
    .find((fault) => fault !== undefined);
}

interface AskedSchema {
  strict?: boolean;
  schema?: Record<string, unknown>;
}

/** github.com/spring-projects/spring-ai/issues/4776, and github.com/openai/openai-node/issues/1432 for a strict schema. */
function refuseSchemas(asked: Record<string, unknown>): FakeReply | undefined {
  const tools = (asked['tools'] ?? []) as AskedTool[];
  const named = tools.map((tool) => tool.function ?? tool);
  const empty = named.find(
    ({ parameters }) => parameters?.['type'] === 'object' && parameters['properties'] === undefined,
  );
  const code = 'invalid_function_parameters';
  if (empty !== undefined) {
    const message = `Invalid schema for function '${empty.name}': In context=(), object schema missing properties.`;
    return error(400, message, { param: 'tools[0].function.parameters', code });
  }
  const format = (asked['response_format'] as { json_schema?: AskedSchema } | undefined)?.json_schema;
  const { strict, schema } = format ?? (asked['text'] as { format?: AskedSchema } | undefined)?.format ?? {};
  const word = strict === true ? findStrictFault(schema) : undefined;
  if (word !== undefined)
    return error(400, `Invalid schema for response_format 'reply': In context=(), ${word}`, {
      param: 'text.format.schema',
    });
  if (strict !== true || schema?.['additionalProperties'] === false) return undefined;
  const rule = "'additionalProperties' is required to be supplied and to be false.";
  return error(400, `Invalid schema for response_format 'reply': In context=(), ${rule}`, { param: 'response_format' });
}

function missing(param: string): FakeReply {
  return error(400, `Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' });
}

function unknownParameter(param: string): FakeReply {
  return error(400, `Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' });
}

/** github.com/vercel/ai/issues/6102. */
function postImages(asked: Record<string, unknown>): FakeReply {
  if (asked['response_format'] !== undefined) return unknownParameter('response_format');
  return asked['prompt'] === undefined ? missing('prompt') : json(200, picture);
}

function describe(id: string): object {
  return { id, object: 'model', created, owned_by: 'system' };
}

const usage = {
  prompt_tokens: 8,
  completion_tokens: 5,
  total_tokens: 13,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};
const id = 'chatcmpl-CCR2oWYKNJVbzO4YcL0xkV6DKR8bS';
const more = { service_tier: 'default' };

const picture = {
  created,
  background: 'opaque',
  data: [{ b64_json: pixel }],
  output_format: 'png',
  quality: 'high',
  size: '1024x1024',
  usage: {
    input_tokens: 8,
    input_tokens_details: { image_tokens: 0, text_tokens: 8 },
    output_tokens: 4160,
    total_tokens: 4168,
  },
};

function headers(): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-request-id': 'req_4f1c2d9a8b7e4a60b5d3c2f1e0a99887',
    'openai-processing-ms': '312',
    'openai-version': '2020-10-01',
    server: 'cloudflare',
    'cf-cache-status': 'DYNAMIC',
    'cf-ray': '8678603add5505df-IAD',
  };
}

function json(status: number, body: object): FakeReply {
  return { status, headers: headers(), body: JSON.stringify(body, null, 2) };
}

function error(
  status: number,
  message: string,
  more: { param?: string; code?: string; type?: string } = {},
): FakeReply {
  const { param = null, code = null, type = 'invalid_request_error' } = more;
  return json(status, { error: { message, type, param, code } });
}
