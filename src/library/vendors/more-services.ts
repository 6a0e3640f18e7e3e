import type { Service } from './services.ts';

/*
 * Further services that speak the formats of OpenAI, for text and chat, some for images. Each base URL is whole: the operations
 * follow it. Their models change with every month, so none has a default. Addresses, variables and headers are from the services'
 * documents and from their own packages, read on 2026-11-26: if a row names a package, its default is used.
 */

type Row = Pick<Service, 'title' | 'baseUrl' | 'keyVariables' | 'keyPage'> & Partial<Service>;

/** The parts that most of these services share. */
function completionsService(row: Row): Omit<Service, 'name'> {
  return {
    formats: { text: 'completions', chat: 'completions' },
    quirks: {},
    hasWholePath: true,
    lacksBatches: true,
    headerNames: { apiKey: 'api-key', version: 'anthropic-version' },
    auth: 'bearer',
    addressVariables: [],
    models: {},
    ...row,
  };
}

/** The formats of a service that makes images, too. */
const withImages = { text: 'completions', chat: 'completions', image: 'completions', edit: 'completions' } as const;

/** A local server, whose usual port other programs use as well. */
function localServer(title: string, port: number, keyVariables: readonly string[] = []): Omit<Service, 'name'> {
  return completionsService({
    title,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    quirks: { includeUsage: true },
    isKeyless: true,
    lacksFlex: true,
    isAtCommonPort: true,
    keyVariables,
    keyPage: undefined,
  });
}

export const moreServices = {
  // docs.x.ai; npm @ai-sdk/xai 5.0.12, which has no chat completions any more: their search answers 410 (vercel/ai#15713).
  xai: completionsService({
    title: 'xAI',
    baseUrl: 'https://api.x.ai/v1',
    formats: { ...withImages, text: 'responses', chat: 'responses' },
    formatsElsewhere: { text: 'completions', chat: 'completions' },
    quirks: { includeUsage: true, imagesOperation: 'xai' },
    keyVariables: ['XAI_API_KEY'],
    keyPage: 'https://console.x.ai',
  }),
  // console.groq.com/docs/openai; groq-sdk 1.6.0, whose base URL has no path: it adds /openai/v1.
  groq: completionsService({
    title: 'Groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    quirks: { includeUsage: true },
    // groq-sdk 1.6.0, resources/batches and files: OpenAI's, with files of 100 MB.
    lacksBatches: false,
    keyVariables: ['GROQ_API_KEY'],
    addressVariables: ['GROQ_BASE_URL'],
    addressPath: '/openai/v1',
    keyPage: 'https://console.groq.com/keys',
  }),
  // docs.mistral.ai/api; @mistralai/mistralai 2.7.0. It refuses fields that it does not know, and reports usage unasked.
  mistral: completionsService({
    title: 'Mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    quirks: { seedField: 'random_seed' },
    keyVariables: ['MISTRAL_API_KEY'],
    keyPage: 'https://console.mistral.ai/api-keys',
  }),
  // api-docs.deepseek.com; its base URL works with and without /v1.
  deepseek: completionsService({
    title: 'DeepSeek',
    baseUrl: 'https://api.deepseek.com',
    // guides/json_mode: it has JSON mode alone.
    quirks: { includeUsage: true, schema: 'words' },
    keyVariables: ['DEEPSEEK_API_KEY'],
    keyPage: 'https://platform.deepseek.com/api_keys',
  }),
  // docs.together.ai; together-ai 0.52.0.
  together: completionsService({
    title: 'Together',
    baseUrl: 'https://api.together.ai/v1',
    formats: withImages,
    quirks: { includeUsage: true, imagesOperation: 'together' },
    keyVariables: ['TOGETHER_API_KEY'],
    addressVariables: ['TOGETHER_BASE_URL'],
    keyPage: 'https://api.together.ai/settings/api-keys',
  }),
  // docs.fireworks.ai; npm @ai-sdk/fireworks 3.0.62.
  fireworks: completionsService({
    title: 'Fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    quirks: { includeUsage: true },
    keyVariables: ['FIREWORKS_API_KEY'],
    keyPage: 'https://fireworks.ai/account/api-keys',
  }),
  // inference-docs.cerebras.ai; @cerebras/cerebras_cloud_sdk 1.91.0, whose base URL has no path: it adds /v1.
  cerebras: completionsService({
    title: 'Cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    quirks: { includeUsage: true },
    keyVariables: ['CEREBRAS_API_KEY'],
    addressVariables: ['CEREBRAS_BASE_URL'],
    keyPage: 'https://cloud.cerebras.ai',
  }),
  // deepinfra.com/docs/openai_api.
  deepinfra: completionsService({
    title: 'DeepInfra',
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    quirks: { includeUsage: true },
    // docs.deepinfra.com/api-reference/create-openai-batch (November 2026): OpenAI's.
    lacksBatches: false,
    keyVariables: ['DEEPINFRA_API_KEY'],
    keyPage: 'https://deepinfra.com/dash/api_keys',
  }),
  // docs.api.nvidia.com.
  nvidia: completionsService({
    title: 'NVIDIA',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    keyVariables: ['NVIDIA_API_KEY'],
    keyPage: 'https://build.nvidia.com',
  }),
  // docs.perplexity.ai, the Agent API: its chat completions ended on 2026-09-27 (anomalyco/models.dev#4993, theopenco/llmgateway#4146).
  perplexity: completionsService({
    title: 'Perplexity',
    baseUrl: 'https://api.perplexity.ai/v1',
    formats: { text: 'responses', chat: 'responses' },
    keyVariables: ['PERPLEXITY_API_KEY'],
    keyPage: 'https://www.perplexity.ai/settings/api',
  }),
  // huggingface.co/docs/inference-providers; the token opens all of the Hub.
  huggingface: completionsService({
    title: 'Hugging Face',
    baseUrl: 'https://router.huggingface.co/v1',
    quirks: { includeUsage: true },
    hasPublicList: true,
    hasWideKey: true,
    keyVariables: ['HF_TOKEN'],
    keyPage: 'https://huggingface.co/settings/tokens',
  }),
  // vercel.com/docs/ai-gateway; npm @ai-sdk/gateway 4.0.146.
  vercel: completionsService({
    title: 'Vercel AI Gateway',
    baseUrl: 'https://ai-gateway.vercel.sh/v1',
    formats: withImages,
    quirks: { includeUsage: true, imagesOperation: 'vercel' },
    hasPublicList: true,
    keyVariables: ['AI_GATEWAY_API_KEY'],
    keyPage: 'https://vercel.com/docs/ai-gateway',
  }),
  // docs.z.ai; the older name of its key is in models.dev.
  zai: completionsService({
    title: 'Z.ai',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    keyVariables: ['ZAI_API_KEY', 'ZHIPU_API_KEY'],
    keyPage: 'https://z.ai/manage-apikey/apikey-list',
  }),
  // platform.moonshot.ai/docs.
  moonshot: completionsService({
    title: 'Moonshot AI',
    baseUrl: 'https://api.moonshot.ai/v1',
    keyVariables: ['MOONSHOT_API_KEY'],
    keyPage: 'https://platform.moonshot.ai',
  }),
  // platform.minimax.io/docs.
  minimax: completionsService({
    title: 'MiniMax',
    baseUrl: 'https://api.minimax.io/v1',
    keyVariables: ['MINIMAX_API_KEY'],
    keyPage: 'https://platform.minimax.io',
  }),
  // alibabacloud.com/help/en/model-studio, the international endpoint.
  alibaba: completionsService({
    title: 'Alibaba Cloud Model Studio',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    quirks: { includeUsage: true },
    keyVariables: ['DASHSCOPE_API_KEY'],
    keyPage: 'https://modelstudio.console.alibabacloud.com',
  }),
  // learn.microsoft.com, Azure OpenAI v1; openai 6 reads the endpoint and the first key, @ai-sdk/azure the resource and the second.
  // Pictures: npm @ai-sdk/azure 4.0.85 asks it as OpenAI.
  azure: completionsService({
    title: 'Azure OpenAI',
    baseUrl: undefined,
    template: {
      url: 'https://{resource}.openai.azure.com/openai/v1',
      variables: { resource: ['AZURE_RESOURCE_NAME'] },
      hosts: /\.(?:openai|services\.ai|cognitiveservices)\.azure\.com$/,
    },
    isHostOf: 'openai',
    formats: withImages,
    quirks: { maxTokensField: 'max_completion_tokens', includeUsage: true, imagesOperation: 'openai' },
    auth: 'api-key',
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    addressVariables: ['AZURE_OPENAI_ENDPOINT'],
    addressPath: '/openai/v1',
    keyPage: 'https://ai.azure.com',
  }),
  // docs.aws.amazon.com/bedrock: inference by the completions API, and API keys.
  bedrock: completionsService({
    title: 'Amazon Bedrock',
    baseUrl: undefined,
    template: {
      url: 'https://bedrock-runtime.{region}.amazonaws.com/openai/v1',
      variables: { region: ['AWS_REGION', 'AWS_DEFAULT_REGION'] },
      hosts: /^bedrock-(?:runtime\.[a-z\d-]+\.amazonaws\.com|mantle\.[a-z\d-]+\.api\.aws)$/,
    },
    quirks: { includeUsage: true },
    keyVariables: ['AWS_BEARER_TOKEN_BEDROCK'],
    keyPage: 'https://console.aws.amazon.com/bedrock',
  }),
  // docs.cloud.google.com/vertex-ai: the OpenAI-compatible endpoint. Its key is an access token, which gcloud reads from this variable too.
  vertex: completionsService({
    title: 'Google Vertex AI',
    baseUrl: undefined,
    template: {
      url: 'https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/endpoints/openapi',
      variables: {
        location: ['GOOGLE_CLOUD_LOCATION', 'GOOGLE_VERTEX_LOCATION'],
        project: ['GOOGLE_CLOUD_PROJECT', 'GOOGLE_VERTEX_PROJECT'],
      },
      hosts: /^(?:[a-z\d-]+-)?aiplatform\.googleapis\.com$/,
    },
    hasWideKey: true,
    keyVariables: ['CLOUDSDK_AUTH_ACCESS_TOKEN'],
    keyPage: 'https://console.cloud.google.com/vertex-ai',
  }),
  // developers.cloudflare.com/ai-gateway, changelog of 2026-05-21; the token opens the services that it was made for, which can
  // be more.
  cloudflare: completionsService({
    title: 'Cloudflare',
    baseUrl: undefined,
    template: {
      url: 'https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1',
      variables: { account: ['CLOUDFLARE_ACCOUNT_ID'] },
      hosts: /^api\.cloudflare\.com$/,
    },
    hasWideKey: true,
    keyVariables: ['CLOUDFLARE_API_TOKEN'],
    keyPage: 'https://dash.cloudflare.com/profile/api-tokens',
  }),
  // docs.databricks.com, foundation model APIs: the path has no version.
  databricks: completionsService({
    title: 'Databricks',
    baseUrl: undefined,
    template: {
      url: 'https://{host}/serving-endpoints',
      variables: { host: ['DATABRICKS_HOST'] },
      hosts: /\.(?:cloud\.databricks\.com|gcp\.databricks\.com|azuredatabricks\.net)$/,
    },
    hasWideKey: true,
    keyVariables: ['DATABRICKS_TOKEN'],
    keyPage: 'https://docs.databricks.com/dev-tools/auth/pat',
  }),
  // lmstudio.ai/docs, docs.vllm.ai, llama.cpp's server: their default ports.
  lmstudio: localServer('LM Studio', 1234, ['LMSTUDIO_API_KEY']),
  vllm: localServer('vLLM', 8000),
  llamacpp: localServer('llama.cpp', 8080),
} satisfies Readonly<Record<string, Omit<Service, 'name'>>>;
