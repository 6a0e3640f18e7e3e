import type { FormatName } from '../formats/types.ts';

/*
 * The wordings with which services refuse requests, and the meaning of each. Every refusal is looked up here, and nowhere else: a new
 * wording is a row, or a word in the row of its service. `formats/refusal.ts` reads the table, `formats/failure.ts` says what follows
 * from a meaning. Reports of most wordings are beside them in the tests of services and formats.
 */

/** Parts that a request can do without: `client/correct.ts` has how the request is sent again in a form that lacks the refused part. */
export const optionalParts = ['schema', 'thinking', 'thinking-field', 'encrypted-thinking', 'summary'] as const;

export type OptionalPart = (typeof optionalParts)[number];

/** The meaning of a refusal. That of a part is that the service would take the request without it. */
export type Meaning =
  | OptionalPart
  | 'loading'
  | 'client-certificate'
  | 'port-speaks-tls'
  /** Waiting does not help: the money or the quota of a day is spent. */
  | 'quota-spent'
  /** The request has more tokens than the limit of a minute: waiting does not help. */
  | 'limit-too-small'
  /** The service itself stopped the request. */
  | 'moderated'
  /** The address or site that the request comes from is not allowed. */
  | 'key-origin'
  /** The key is valid, but its project, its account or its restrictions do not allow the request. */
  | 'key-project'
  | 'bad-key'
  /** No key arrived where the gateway looks for it. The value is the header that it looks at. */
  | 'no-key'
  /** The bearer token is not an access token. */
  | 'no-token'
  /** The service takes only access tokens, not API keys. */
  | 'token-only'
  /** The version header of the messages format did not arrive. */
  | 'no-version'
  /** The path does not exist. The value is the format that gateways with these words have. */
  | 'no-such-path'
  /** The path belongs to OpenAI's other formats. */
  | 'other-format'
  /** The service answers the model in this format. */
  | 'named-format'
  /** There is no such model, it was retired, or the key must not use it. The value is its name. */
  | 'model'
  /** The model does not have a kind of input or output, or cannot be loaded. */
  | 'model-lacks'
  | 'too-many-pixels'
  | 'context-window'
  /** The limit of tokens ended the answer before it began. */
  | 'max-tokens'
  /** Tools are taken only without thinking. */
  | 'effort-none'
  | 'effort'
  /** The field that is refused. */
  | 'field'
  /** The field that is taken in the place of another. */
  | 'other-field'
  /** The name of the limit of tokens that is refused. */
  | 'token-field';

/** A wording. One of its words or codes is enough; status and format must fit, too. */
export interface Wording {
  means: Meaning;
  /** The services and servers that use it, with a report where no test has one. */
  source: string;
  /**
   * HTTP statuses; `any` is also an error without a status. Default: those that refuse the request itself, which are 400 to 499
   * without 401, 402, 403, 404, 408 and 429.
   */
  at?: readonly number[] | 'any';
  /** Formats of the request. */
  formats?: readonly FormatName[];
  /** Names in the error, whole and in lower case: its type, status, code or reason. */
  codes?: readonly string[];
  /** Parts of the message, of a name, of a refused field or of a limit: a text in lower case, or a pattern, whose group is the value. */
  words?: readonly (string | RegExp)[];
  /** The value, if no group has it. */
  value?: string;
}

const ofKeys = [400, 401, 403];

/** Words about keys that other errors use too: in a 400 they mean nothing. */
const ofKeysAlone = [401, 403];

/** A way to name an operation of OpenAI in a sentence: `the v1/responses`, `chat completions`. */
const operation = (name: string): string => String.raw`(?:the )?(?:openai )?[\x60'"]?/?(?:v1/)?${name}\b`;

/** `Use the v1/responses endpoint instead`, `only supported in v1/responses`. */
const wants = (name: string): RegExp =>
  new RegExp(
    String.raw`\b(?:use|only (?:supported|available|accessible) (?:in|on|via|with|through)) ${operation(name)}`,
    'i',
  );

/** `This model is not supported in the v1/chat/completions endpoint`. */
const lacks = (name: string): RegExp =>
  new RegExp(
    String.raw`\bmodel\b.*\b(?:not (?:supported|available|accessible)|cannot be used) (?:in|on|via|with|by|through) ${operation(name)} (?:endpoint|api)`,
    'is',
  );

const chatCompletions = 'chat[ /]completions';

/** Every wording. The first one that fits decides class and hint; a correction looks for its own among all that fit. */
export const wordings: readonly Wording[] = [
  // Servers and proxies before the service.
  { means: 'loading', source: 'llama.cpp while it starts', at: [503], words: [/^loading model/i] },
  {
    means: 'client-certificate',
    source: 'nginx, Apache, HAProxy, Go, Envoy, in plain HTTP',
    at: [400],
    words: [/no required ssl certificate|the ssl certificate error|client certificate (?:is )?required/i],
  },
  {
    means: 'port-speaks-tls',
    source: 'nginx, Apache, HAProxy, Go, Envoy, in plain HTTP',
    at: [400],
    words: [
      'plain http request was sent to https port',
      'plain http to an ssl-enabled',
      'http request to an https server',
    ],
  },

  // Quotas, and requests that are stopped. Relays tell of them with any status.
  {
    means: 'quota-spent',
    source: 'OpenAI',
    at: 'any',
    codes: ['billing_hard_limit_reached'],
    words: ['insufficient_quota'],
  },
  {
    means: 'quota-spent',
    source: 'Anthropic (npm @anthropic-ai/sdk 1.14.0, resources/shared.d.ts)',
    at: 'any',
    codes: ['billing_error', 'credit_balance_exhausted', 'credit_balance_too_low'],
    words: ['credit balance is too low', 'spend_limit_reached'],
  },
  { means: 'quota-spent', source: 'Google, the name of a limit', at: 'any', words: ['perday'] },
  { means: 'quota-spent', source: 'OpenRouter', at: 'any', words: ['models-per-day', 'key limit exceeded'] },
  {
    means: 'quota-spent',
    source: 'New API and One API',
    at: 'any',
    codes: ['insufficient_user_quota', 'pre_consume_token_quota_failed'],
  },
  { means: 'limit-too-small', source: 'OpenAI, Groq', at: [429], words: [/^request too large for /i] },
  {
    means: 'moderated',
    source: 'OpenAI, also at Azure',
    at: 'any',
    codes: ['moderation_blocked', 'content_policy_violation', 'content_filter'],
  },
  { means: 'moderated', source: 'OpenRouter', at: 'any', words: [/^\S+ requires moderation on /] },

  // The key, its account, and the way in which it was sent (deviation 46).
  { means: 'key-origin', source: 'Google', at: ofKeys, words: ['user location is not supported'] },
  { means: 'key-origin', source: 'OpenAI', at: ofKeys, words: ['country, region, or territory not supported'] },
  { means: 'key-origin', source: 'Anthropic', at: ofKeys, words: ['request not allowed'] },
  {
    means: 'key-origin',
    source: "the pages of Cloudflare's guard",
    at: ofKeys,
    words: ['attention required! | cloudflare', 'just a moment...', 'error code: 1010', 'error code: 1020'],
  },
  {
    means: 'no-such-path',
    source: 'AWS API Gateway',
    at: ofKeys,
    words: ['missing authentication token', "authorization header requires 'credential' parameter"],
  },
  {
    means: 'key-project',
    source: 'Google',
    at: ofKeys,
    words: [
      'service_disabled',
      'has not been used in project',
      'api_key_service_blocked',
      'api_key_http_referrer_blocked',
      'api_key_ip_address_blocked',
      'requests from referer',
    ],
  },
  {
    means: 'key-project',
    source: 'OpenAI',
    at: ofKeys,
    words: ['organization must be verified', 'missing scopes:'],
  },
  {
    means: 'key-project',
    source: 'OpenRouter, when the settings of an account leave no provider',
    at: [404],
    words: [/\bdata policy|\bguardrail restrictions|^no allowed providers/i],
  },
  {
    means: 'model',
    source: 'OpenAI, LiteLLM, New API',
    at: ofKeysAlone,
    words: ['not allowed to access model', /not have access to (?:the )?model/i, '无权访问模型'],
  },
  { means: 'token-only', source: 'Google', at: ofKeys, words: ['api keys are not supported by this api'] },
  { means: 'bad-key', source: 'Google, OpenAI', at: 'any', codes: ['api_key_invalid', 'invalid_api_key'] },
  {
    means: 'bad-key',
    source: 'Google',
    at: ofKeys,
    words: [
      'api_key_invalid',
      'api key not valid',
      'api key not found.',
      'api key expired',
      'key was reported as leaked',
    ],
  },
  { means: 'bad-key', source: 'OpenAI, xAI, Alibaba', at: ofKeys, words: ['invalid_api_key', 'incorrect api key'] },
  { means: 'bad-key', source: 'Anthropic', at: ofKeys, words: ['invalid x-api-key'] },
  {
    means: 'bad-key',
    source: 'LiteLLM',
    at: ofKeys,
    words: ['invalid proxy server token', 'virtual key expected'],
  },
  { means: 'bad-key', source: 'Azure', at: ofKeys, words: ['invalid subscription key'] },
  {
    means: 'bad-key',
    source: 'Groq, Together, MiniMax and relays',
    at: ofKeys,
    words: ['invalid api key', 'api key is invalid', 'api key is expired'],
  },
  {
    means: 'no-key',
    source: 'Google',
    at: ofKeys,
    value: 'x-goog-api-key',
    words: [
      'unregistered callers',
      'missing required authentication credential',
      'expected oauth 2 access token',
      'access_token_type_unsupported',
    ],
  },
  {
    means: 'no-key',
    source: 'OpenAI and relays',
    at: ofKeys,
    value: 'authorization',
    words: ['missing bearer', 'no bearer token', 'bearer token required', 'bearer token is missing'],
  },
  {
    means: 'no-token',
    source: 'Anthropic',
    at: ofKeys,
    words: ['invalid bearer token', 'oauth authentication is currently not supported'],
  },
  {
    means: 'no-version',
    source: 'Anthropic',
    at: ofKeys,
    words: ['anthropic-version: header is required', 'anthropic-version header'],
  },
  {
    means: 'no-key',
    source: 'LiteLLM, Kong and relays',
    at: ofKeys,
    words: ['no api key', 'missing api key', /api key (?:is )?(?:required|missing)/i],
  },
  { means: 'no-key', source: 'Azure', at: ofKeys, words: ['missing subscription key'] },
  { means: 'no-key', source: 'Google', at: ofKeys, words: ['credentials missing', 'credentials_missing'] },
  { means: 'no-key', source: 'OpenRouter', at: ofKeys, words: ['no auth credentials', 'no cookie auth credentials'] },
  { means: 'no-key', source: 'FastAPI', at: ofKeys, words: ['not authenticated'] },
  { means: 'no-key', source: 'New API', at: ofKeys, words: ['未提供令牌'] },
  {
    means: 'bad-key',
    source: 'relays, FastAPI, Z.ai',
    at: ofKeysAlone,
    words: ['invalid token', 'invalid authentication credentials', 'token expired', 'token has expired'],
  },
  { means: 'bad-key', source: 'LiteLLM', at: ofKeysAlone, words: ['token_not_found'] },
  { means: 'bad-key', source: 'OpenRouter', at: ofKeysAlone, words: ['user not found'] },
  { means: 'bad-key', source: 'New API', at: ofKeysAlone, words: ['无效的令牌', '令牌已过期'] },
  {
    means: 'no-key',
    source: 'gateways that name the header; a name alone is not enough, an error about something else may quote it',
    at: ofKeys,
    words: [
      /^(?=.*(?:x-goog-api-key|x-api-key|authorization)).*(?:\bheaders?\b.*\b(?:required|missing|not found)\b|\b(?:missing|provide|requires?|expected)\b.*\bheader\b|\bmissing x-)/is,
    ],
  },

  // The model.
  {
    means: 'model',
    source: 'OpenAI, Hugging Face, LM Studio, Together, Groq',
    at: [400, 404, 410, 503],
    codes: ['model_not_found', 'model_not_available', 'model_decommissioned'],
  },
  { means: 'model', source: 'New API, with no channel for it (deviation 21)', at: [503], words: ['无可用渠道'] },
  { means: 'model', source: 'OpenRouter', at: [400], words: [/ is not a valid model id$/i] },
  {
    means: 'model',
    source: 'Mistral, Perplexity, Z.ai, MiniMax, Cloudflare, Bedrock, DeepSeek, llama.cpp',
    at: [400],
    words: [
      /\b(?:unknown|invalid|no such) model\b|\bmodel (?:identifier is invalid|not exist)\b|^model '[^']{1,200}' not found/i,
    ],
  },
  {
    means: 'model',
    source:
      'OpenAI "has been deprecated", Google "is no longer available", Groq "has been decommissioned" (forums, 2025, 2026)',
    at: [400, 404, 410],
    words: [
      /\bmodels?\b.{0,160}\b(?:has been|have been|was|is|are)\s+(?:(?:now|already)\s+)?(?:deprecated|retired|shut ?down|sunset|discontinued|decommissioned|no longer (?:available|supported|offered))/is,
    ],
  },
  {
    means: 'model-lacks',
    source: 'OpenRouter',
    at: 'any',
    words: [/^no endpoints found that (?:support|can handle) (?:the requested output )?(\w+)/i],
  },
  {
    means: 'model-lacks',
    source: 'OpenAI, Google, Ollama',
    at: 'any',
    words: [
      'image_url is only supported',
      'input modality is not enabled',
      /does not support (?:chat$|image)/i,
      /^model requires more system memory/i,
      'required for image input',
    ],
  },

  // The format and the path.
  { means: 'effort-none', source: 'OpenAI, of tools beside thinking', words: [/\bset reasoning_effort to 'none'/i] },
  {
    means: 'named-format',
    source: 'OpenAI and relays; OpenAI for older models and Copilot name only the format that they refuse',
    at: [400, 404],
    formats: ['completions'],
    value: 'responses',
    words: [wants('responses'), lacks(chatCompletions)],
  },
  {
    means: 'named-format',
    source: 'OpenAI and relays; OpenAI for older models and Copilot name only the format that they refuse',
    at: [400, 404],
    formats: ['responses'],
    value: 'completions',
    words: [wants(chatCompletions), lacks('responses')],
  },
  {
    means: 'model',
    source: 'Ollama, OpenAI and most servers; the word "models" in a path does not count',
    at: [404],
    words: [
      /^(?!.*\/v1).*?\bmodel ['"]?([^'"\s]{1,200}?)['"]? not found/is,
      /^(?!.*\/v1).*\bmodels?\b.*\b(?:not found|not exist)\b/is,
    ],
  },
  { means: 'model', source: 'Google', at: [404], words: ['is not found for api version'] },
  { means: 'model', source: 'Anthropic', at: [404], words: [/^model:/i] },
  { means: 'model', source: 'OpenRouter, if no provider has it', at: [404], words: [/^no endpoints found/i] },
  {
    means: 'other-format',
    source: 'OpenAI',
    at: [404],
    formats: ['content', 'messages', 'responses'],
    value: 'completions',
    words: [/^invalid url \(/i],
  },
  {
    means: 'no-such-path',
    source: 'vLLM, LiteLLM, Ollama',
    at: [404],
    value: 'completions',
    words: [/^(?:not found$|404 page not found)/i],
  },

  // The fields.
  {
    means: 'too-many-pixels',
    source: 'Anthropic (npm @anthropic-ai/sdk 1.14.0; anthropics/claude-code#4778)',
    words: ['image_dimensions_too_large', 'image dimensions exceed'],
  },
  {
    means: 'token-field',
    source: 'OpenAI, Azure, and the parameter that they name',
    words: [
      /(?:unsupported|unknown) parameter: '(max_(?:completion_)?tokens)\b/i,
      /unrecognized request argument supplied: (max_(?:completion_)?tokens)\b/i,
      /^(max_(?:completion_)?tokens)$/i,
    ],
  },
  { means: 'token-field', source: 'Groq', words: [/property '(max_(?:completion_)?tokens)' is unsupported/i] },
  {
    means: 'token-field',
    source: 'Go, Rust (serde), Google',
    words: [/unknown (?:field|name)[: ]+[\\"'`]*(max_(?:completion_)?tokens)\b/i],
  },
  {
    means: 'token-field',
    source: 'Pydantic, as FastAPI, Mistral and vLLM show it; JSON Schema',
    words: [
      /(max_(?:completion_)?tokens)(?:: |['"]\), 'msg': ')extra inputs are not permitted/i,
      /\('(max_(?:completion_)?tokens)' was unexpected\)/i,
    ],
  },
  {
    means: 'token-field',
    source: 'LiteLLM',
    words: [/does not support parameters: [[{]['"](max_(?:completion_)?tokens)\b/i],
  },
  {
    means: 'other-field',
    source: 'OpenAI, of a field that older models take',
    words: [/'\w+' is not supported with this model\. use '(\w+)' instead/i],
  },
  {
    means: 'max-tokens',
    source: 'OpenAI, where thinking alone used up the limit: it is a 400, not a reply that is cut',
    words: [/^could not finish the message because max_tokens or model output limit was reached/i],
  },
  {
    means: 'effort',
    source: 'OpenAI, Anthropic, Google, Ollama',
    words: [
      /reasoning[_.]effort|output_config\.effort|\bthinking[ _]?level|the effort parameter|^thinking\.type\b|only works in thinking mode/i,
    ],
  },
  { means: 'field', source: 'Google', words: [/unknown name "([^"]*)/i] },
  {
    means: 'field',
    source: 'Anthropic, and others with Pydantic',
    words: [/(?<!\S)(\S+): extra inputs are not permitted/i],
  },
  {
    means: 'field',
    source: 'Anthropic',
    words: [
      /^`?(\w+)`? (?:is deprecated|and `?\w+`? cannot both be specified) for this model/i,
      /^(max_tokens): \d+ > /i,
    ],
  },
  { means: 'field', source: 'OpenAI, vLLM', words: [/^'?(max_tokens)\b.* is too large/i] },
  { means: 'field', source: 'Google', words: [/ has a (maxOutputTokens) value of /i] },
  {
    means: 'field',
    source: 'Google',
    value: 'systemInstruction',
    words: [/^developer instruction is not enabled for /i],
  },
  { means: 'field', source: 'Google', value: 'tools', words: [/^function calling is not enabled for /i] },
  { means: 'field', source: 'Google', value: 'responseJsonSchema', words: [/^json mode is not enabled for /i] },
  { means: 'field', source: 'Ollama', words: [/ does not support (tools)$/i] },
  {
    means: 'context-window',
    source: 'OpenAI, OpenRouter, Groq, Anthropic, llama.cpp, Google',
    words: [
      /context (?:length|limit|size|window)|prompt is too long|input token.{0,40} exceed|^request too large for /i,
    ],
  },

  // Parts of a request that it can do without.
  {
    means: 'schema',
    source: 'Anthropic',
    at: 'any',
    formats: ['messages'],
    words: [/'?additionalProperties'? must be|propert(?:y|ies) '.+' (?:is|are) not supported/i, 'output_config.format'],
  },
  {
    means: 'schema',
    source: 'DeepSeek, Groq and similar servers',
    at: 'any',
    formats: ['completions'],
    words: ['response_format', 'response format', 'json_schema'],
  },
  {
    means: 'thinking-field',
    source: 'Groq: "messages.2.reasoning: reasoning is not supported with this model"',
    at: 'any',
    formats: ['completions'],
    words: [/^(?=.*\bmessages[.[]\d).*\breasoning(?:_\w{1,10})?\b[^.]{0,80}\b(?:un|not )supported\b/is],
  },
  {
    means: 'encrypted-thinking',
    source: 'OpenAI, Azure',
    at: 'any',
    formats: ['responses'],
    words: ['encrypted content is not supported'],
  },
  {
    means: 'summary',
    source: 'OpenAI, of an account that is not verified',
    at: 'any',
    formats: ['responses'],
    words: [/verified to (?:generate|use) reasoning summar/i],
  },
  {
    means: 'thinking',
    source: 'OpenAI, Azure, OpenRouter, Copilot, of the thinking of earlier turns',
    at: 'any',
    formats: ['responses'],
    words: [/\brs_\w|\breasoning item|type 'reasoning'|encrypted content (?!is not supported)/i],
  },
];
