import { expect, onTestFinished, test, vi } from 'vitest';
import { serviceNames, services } from '../../src/library/vendors/services.ts';
import { moreServices } from '../../src/library/vendors/more-services.ts';
import { type Asked, completionBody } from '../fake-servers/completions.ts';
import { type AskedResponse, responseBody } from '../fake-servers/responses.ts';
import { type FakeReply, type FakeServer, startFakeServer } from '../fake-servers/start.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { startHostProxy } from './vendors.ts';

// Every further service at its own host, from its own variables alone: what it is sent, what it answers in fields of its own, and what
// it says of a wrong key and of a model that it does not have. A report of each wording is beside it; (?): it is our guess.

const key = 'key-0123456789abcdef';
const tail = '/chat/completions';

/** Fields of a reply; of one in the responses format also items before its text. */
interface Answer {
  usage?: object;
  items?: readonly object[];
  [name: string]: unknown;
}

interface Row {
  env: Readonly<Record<string, string>>;
  /** The URL of its operation. */
  url: string;
  /** Fields of its reply beside those of the format, and what becomes of them in the document. */
  reply?: Answer;
  document?: object;
  /** Status and body; a text is no JSON. */
  wrongKey?: readonly [number, object | string];
  noModel: readonly [number, object | string];
  /** What the hint says beside the list. */
  hint?: string;
}

const openAiNoModel = {
  error: {
    message: 'The model `none` does not exist or you do not have access to it.',
    type: 'invalid_request_error',
    param: null,
    code: 'model_not_found',
  },
};

const rows: Readonly<Record<keyof typeof moreServices, Row>> = {
  xai: {
    env: { XAI_API_KEY: key },
    url: 'https://api.x.ai/v1/responses',
    reply: { usage: { input_tokens: 9, output_tokens: 3, cost_in_usd_ticks: 318_319_000 } },
    document: { cost: { amount: '0.0318319', currency: 'USD', told: true } },
    // continuedev/continue#10778.
    wrongKey: [
      400,
      {
        code: 'Client specified an invalid argument',
        error: 'Incorrect API key provided: ke***ef. You can obtain an API key from https://console.x.ai.',
      },
    ],
    // Of grok-beta, September 2025.
    noModel: [
      404,
      {
        code: 'Some requested entity was not found',
        error:
          'The model none was deprecated on 2025-09-15 and is no longer accessible via the API. Please use grok-3 instead.',
      },
    ],
    hint: 'the service names its successor: -m grok-3',
  },
  groq: {
    env: { GROQ_API_KEY: key },
    url: `https://api.groq.com/openai/v1${tail}`,
    reply: { x_groq: { id: 'req_1' } },
    wrongKey: [401, { error: { message: 'Invalid API Key', type: 'invalid_request_error', code: 'invalid_api_key' } }],
    noModel: [404, openAiNoModel],
  },
  mistral: {
    env: { MISTRAL_API_KEY: key },
    url: `https://api.mistral.ai/v1${tail}`,
    // nextcloud/integration_openai#332.
    wrongKey: [401, { detail: 'Unauthorized' }],
    // tmc/langchaingo#1233.
    noModel: [
      400,
      { object: 'error', message: 'Invalid model: none', type: 'invalid_model', param: null, code: '1500' },
    ],
  },
  deepseek: {
    env: { DEEPSEEK_API_KEY: key },
    url: `https://api.deepseek.com${tail}`,
    reply: {
      usage: { prompt_tokens: 9, completion_tokens: 3, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 5 },
    },
    document: { usage: { cachedInputTokens: 4 } },
    wrongKey: [
      401,
      {
        error: {
          message: 'Authentication Fails, Your api key: ****cdef is invalid',
          type: 'authentication_error',
          param: null,
          code: 'invalid_request_error',
        },
      },
    ],
    noModel: [
      400,
      {
        error: {
          message: 'Model Not Exist',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_request_error',
        },
      },
    ],
  },
  together: {
    env: { TOGETHER_API_KEY: key },
    url: `https://api.together.ai/v1${tail}`,
    // harshitv804/LawGPT#4.
    wrongKey: [
      401,
      {
        error: {
          message: 'Invalid API key provided. You can find your API key at https://api.together.xyz/settings/api-keys.',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_api_key',
        },
      },
    ],
    // HeyPuter/puter#3168.
    noModel: [
      400,
      {
        id: 'o-1',
        error: {
          message:
            'Unable to access non-serverless model none. Please visit https://api.together.ai/models/none to create and start a new dedicated endpoint for the model.',
          type: 'invalid_request_error',
          param: null,
          code: 'model_not_available',
        },
      },
    ],
  },
  fireworks: {
    env: { FIREWORKS_API_KEY: key },
    url: `https://api.fireworks.ai/inference/v1${tail}`,
    // The code: typeclaw/typeclaw#388; (?) the words.
    wrongKey: [401, { error: { message: 'The API key you provided is invalid.', code: 'UNAUTHORIZED' } }],
    noModel: [
      404,
      {
        error: {
          message: 'Model not found, inaccessible, and/or not deployed',
          param: 'model',
          code: 'NOT_FOUND',
          type: 'error',
        },
      },
    ],
  },
  cerebras: {
    env: { CEREBRAS_API_KEY: key },
    url: `https://api.cerebras.ai/v1${tail}`,
    reply: { time_info: { queue_time: 0.1 } },
    // (?)
    wrongKey: [
      401,
      { message: 'Wrong API Key', type: 'invalid_request_error', param: 'api_key', code: 'wrong_api_key' },
    ],
    // nminaya/grammar-nazi-bot#933.
    noModel: [
      404,
      {
        message: 'Model does not exist or you do not have access to it.',
        type: 'not_found_error',
        param: 'model',
        code: 'model_not_found',
      },
    ],
  },
  deepinfra: {
    env: { DEEPINFRA_API_KEY: key },
    url: `https://api.deepinfra.com/v1/openai${tail}`,
    // (?)
    wrongKey: [401, { detail: { error: 'User authentication failed' } }],
    noModel: [404, openAiNoModel],
  },
  nvidia: {
    env: { NVIDIA_API_KEY: key },
    url: `https://integrate.api.nvidia.com/v1${tail}`,
    // can1357/oh-my-pi#499.
    wrongKey: [403, { status: 403, title: 'Forbidden', detail: 'Authorization failed' }],
    // gethouston/houston#1243.
    noModel: [404, { status: 404, title: 'Not Found', detail: "Function '7f1c': Not found for account 'abc'" }],
  },
  perplexity: {
    env: { PERPLEXITY_API_KEY: key },
    url: 'https://api.perplexity.ai/v1/responses',
    reply: {
      usage: { input_tokens: 9, output_tokens: 3, cost: { currency: 'USD', total_cost: 0.005 } },
      items: [
        {
          type: 'search_results',
          results: [{ id: 1, title: 'Rome', url: 'https://rome.example/', snippet: 'A city' }],
        },
        { type: 'fetch_url_results', contents: [{ title: 'Map', url: 'https://rome.example/map', snippet: 'A map' }] },
      ],
    },
    document: {
      sources: [
        { url: 'https://rome.example/', title: 'Rome', snippet: 'A city' },
        { url: 'https://rome.example/map', title: 'Map', snippet: 'A map' },
      ],
      cost: { amount: '0.005', currency: 'USD', told: true },
    },
    // (?) nginx of its front.
    wrongKey: [
      401,
      '<html><head><title>401 Authorization Required</title></head><body><center><h1>401 Authorization Required</h1></center></body></html>',
    ],
    // FerroxLabs/wayland#603.
    noModel: [
      400,
      {
        error: {
          message:
            "Invalid model 'none'. Permitted models can be found in the documentation at https://docs.perplexity.ai/docs/getting-started/models.",
          type: 'invalid_model',
          code: 400,
        },
      },
    ],
  },
  huggingface: {
    env: { HF_TOKEN: key },
    url: `https://router.huggingface.co/v1${tail}`,
    wrongKey: [401, { error: 'Invalid username or password.' }],
    noModel: [
      400,
      {
        error: {
          message: "The requested model 'none' does not exist.",
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      },
    ],
  },
  vercel: {
    env: { AI_GATEWAY_API_KEY: key },
    url: `https://ai-gateway.vercel.sh/v1${tail}`,
    // (?)
    wrongKey: [401, { error: { message: 'Invalid API key', type: 'authentication_error' } }],
    noModel: [404, { error: { message: "Model 'none' not found", type: 'model_not_found' } }],
  },
  zai: {
    env: { ZAI_API_KEY: key },
    url: `https://api.z.ai/api/paas/v4${tail}`,
    // continuedev/continue#12724.
    wrongKey: [401, { error: { code: '401', message: 'token expired or incorrect' } }],
    // JailbrokenAI/wallbreaker#20.
    noModel: [400, { error: { code: '1211', message: 'Unknown Model, please check the model code.' } }],
  },
  moonshot: {
    env: { MOONSHOT_API_KEY: key },
    url: `https://api.moonshot.ai/v1${tail}`,
    // sigoden/aichat#1469.
    wrongKey: [401, { error: { message: 'Invalid Authentication', type: 'invalid_authentication_error' } }],
    // langgenius/dify#39778.
    noModel: [
      404,
      { error: { message: 'Not found the model none or Permission denied', type: 'resource_not_found_error' } },
    ],
  },
  minimax: {
    env: { MINIMAX_API_KEY: key },
    url: `https://api.minimax.io/v1${tail}`,
    // nearai/ironclaw#1742, egoist/chatwise-releases#1368.
    wrongKey: [
      401,
      { type: 'error', error: { type: 'authorized_error', message: 'invalid api key (2049)' }, request_id: 'r' },
    ],
    // (?)
    noModel: [
      400,
      {
        type: 'error',
        error: { type: 'bad_request_error', message: "invalid params, unknown model 'none' (2013)" },
        request_id: 'r',
      },
    ],
  },
  alibaba: {
    env: { DASHSCOPE_API_KEY: key },
    url: `https://dashscope-intl.aliyuncs.com/compatible-mode/v1${tail}`,
    // (?)
    wrongKey: [
      401,
      {
        error: {
          message: 'Incorrect API key provided.',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_api_key',
        },
        request_id: 'r',
      },
    ],
    noModel: [404, { ...openAiNoModel, request_id: 'r' }],
  },
  azure: {
    env: { AZURE_OPENAI_API_KEY: key, AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com/' },
    url: `https://mine.openai.azure.com/openai/v1${tail}`,
    reply: { prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }] },
    wrongKey: [
      401,
      {
        error: {
          code: '401',
          message:
            'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
        },
      },
    ],
    noModel: [
      404,
      {
        error: {
          code: 'DeploymentNotFound',
          message:
            'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
        },
      },
    ],
  },
  bedrock: {
    env: { AWS_BEARER_TOKEN_BEDROCK: key, AWS_REGION: 'eu-west-1' },
    url: `https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1${tail}`,
    // anomalyco/opencode#47073.
    wrongKey: [403, { Message: 'Authentication failed: Please make sure your API Key is valid.' }],
    // earendil-works/pi#4993.
    noModel: [400, { message: 'The provided model identifier is invalid.' }],
  },
  vertex: {
    env: { CLOUDSDK_AUTH_ACCESS_TOKEN: key, GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: 'europe-west4' },
    url: `https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/endpoints/openapi${tail}`,
    wrongKey: [
      401,
      [
        {
          error: {
            code: 401,
            message:
              'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
            status: 'UNAUTHENTICATED',
          },
        },
      ],
    ],
    noModel: [
      404,
      [
        {
          error: {
            code: 404,
            message:
              'Publisher Model `projects/p/locations/europe-west4/publishers/google/models/none` was not found or your project does not have access to it. Please ensure you are using a valid model version.',
            status: 'NOT_FOUND',
          },
        },
      ],
    ],
  },
  cloudflare: {
    env: { CLOUDFLARE_API_TOKEN: key, CLOUDFLARE_ACCOUNT_ID: 'a1' },
    url: `https://api.cloudflare.com/client/v4/accounts/a1/ai/v1${tail}`,
    // cloudflare/workers-sdk#4522.
    wrongKey: [403, { success: false, errors: [{ code: 10_000, message: 'Authentication error' }] }],
    noModel: [
      400,
      {
        errors: [{ message: 'AiError: No such model: No such model none or task (1f)', code: 5007 }],
        success: false,
        result: {},
        messages: [],
      },
    ],
  },
  databricks: {
    env: { DATABRICKS_TOKEN: key, DATABRICKS_HOST: 'https://dbc-1.cloud.databricks.com' },
    url: `https://dbc-1.cloud.databricks.com/serving-endpoints${tail}`,
    // (?)
    wrongKey: [403, { error_code: 403, message: 'Invalid access token.' }],
    noModel: [
      404,
      {
        error_code: 'ENDPOINT_NOT_FOUND',
        message:
          'The given endpoint does not exist, please retry after checking the specified model and version deployment exists.',
      },
    ],
  },
  lmstudio: {
    env: {},
    url: `http://127.0.0.1:1234/v1${tail}`,
    noModel: [
      400,
      {
        error: {
          message: 'Invalid model identifier "none". Please specify a valid downloaded model (e.g., phi-4).',
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      },
    ],
  },
  vllm: {
    env: {},
    url: `http://127.0.0.1:8000/v1${tail}`,
    noModel: [
      404,
      {
        error: { message: 'The model `none` does not exist.', type: 'NotFoundError', param: 'model', code: 404 },
      },
    ],
  },
  llamacpp: {
    env: {},
    url: `http://127.0.0.1:8080/v1${tail}`,
    reply: { timings: { prompt_n: 9 } },
    // (?)
    noModel: [400, { error: { code: 400, message: "model 'none' not found", type: 'invalid_request_error' } }],
  },
};

/** The service, on loopback: behind a proxy at its own host, or at a port that `--base-url` names. */
async function serve(name: keyof typeof moreServices): Promise<FakeServer & { ask: Ask }> {
  const { env, url, reply, wrongKey, noModel } = rows[name];
  const { host, pathname, protocol } = new URL(url);
  const header = name === 'azure' ? 'api-key' : 'authorization';
  const server = await startFakeServer(({ method, path, headers, body }): FakeReply => {
    if (method !== 'POST' || path !== pathname) return answer(404, 'no such path');
    if (wrongKey && headers[header]?.replace('Bearer ', '') !== key) return answer(...wrongKey);
    const asked = JSON.parse(body) as Asked & AskedResponse;
    if (asked.model !== 'm') return answer(...noModel);
    const { usage = { prompt_tokens: 9, completion_tokens: 3 }, items, ...more } = reply ?? {};
    const who = { id: 'c-1', model: 'm', text: 'Hello there.' };
    const isResponse = path.endsWith('/responses');
    const text = isResponse
      ? responseBody(asked, { ...who, usage, items })
      : completionBody(asked, { ...who, usage, more });
    const type = asked.stream === true ? 'text/event-stream' : 'application/json';
    return { status: 200, headers: { 'content-type': type }, body: text };
  });
  onTestFinished(() => server.close());
  const port = Number(new URL(server.url).port);
  const proxy = await startHostProxy({ [host]: port });
  onTestFinished(() => proxy.close());
  for (const folder of ['CONFIG', 'STATE', 'CACHE']) vi.stubEnv(`XDG_${folder}_HOME`, scratchFolder());
  const own = protocol === 'https:' ? [] : ['--service', name, '--base-url', `http://127.0.0.1:${port}/v1`];
  const ask: Ask = (line, changed = {}) =>
    run([...line.split(' '), ...own, '--retries', '0'], { env: { HTTPS_PROXY: proxy.url, ...env, ...changed } });
  return { ...server, ask };
}

type Ask = (line: string, env?: Record<string, string>) => ReturnType<typeof run>;

function answer(status: number, body: object | string): FakeReply {
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  return { status, headers: { 'content-type': type }, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

const names = Object.keys(rows) as (keyof typeof rows)[];

test.each(names)('%s answers its first text and its first chat, and its own fields are read', async (name) => {
  const { ask, requests } = await serve(name);
  const { document = {} } = rows[name];
  const text = await ask('text hi -m m --json');
  expect(text.code).toBe(0);
  expect(JSON.parse(text.stdout)).toMatchObject({ text: 'Hello there.', usage: { inputTokens: 9 }, ...document });
  const chat = await ask('chat hi -m m');
  expect(chat).toMatchObject({ code: 0, stdout: 'Hello there.\n' });
  expect(requests.map(({ body }) => (JSON.parse(body) as Asked).stream)).toEqual([undefined, true]);
  if (services[name].formats.image === undefined)
    expect(await ask('image gen hi -m m -o x.png')).toMatchObject({ code: 2, stdout: '' });
});

test.each(names.filter((name) => rows[name].wrongKey))('%s refuses a wrong key: exit code 3', async (name) => {
  const { ask, requests } = await serve(name);
  const [variable = ''] = services[name].keyVariables;
  const ran = await ask('text hi -m m', { [variable in rows[name].env ? variable : '']: 'key-wrong-0123456789' });
  expect(ran).toMatchObject({ code: 3, stdout: '' });
  expect(ran.stderr).toContain(variable);
  expect(requests).toHaveLength(1);
});

test.each(names)('%s does not have a model: exit code 4, and the hint leads to its list', async (name) => {
  const { ask, requests } = await serve(name);
  const ran = await ask('text hi -m none');
  expect(ran).toMatchObject({ code: 4, stdout: '' });
  expect(ran.stderr).toContain(rows[name].hint ?? 'gateway-cli models');
  expect(requests).toHaveLength(1);
});

test('every service that short lists do not name is in the table', () => {
  expect(names).toEqual(serviceNames.filter((name) => name in moreServices));
});
