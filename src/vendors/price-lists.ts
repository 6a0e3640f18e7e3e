/*
 * How two public lists of prices call services. models.dev `api.json` (anomalyco/models.dev @f3fc6922, MIT) has them by provider;
 * LiteLLM's `model_prices_and_context_window.json` (BerriAI/litellm @00035b69, MIT) names one in each row. Nothing of them is shipped.
 */
const otherNames: Readonly<Record<string, { modelsDev?: string; litellm?: string }>> = {
  gemini: { modelsDev: 'google' },
  together: { modelsDev: 'togetherai', litellm: 'together_ai' },
  fireworks: { modelsDev: 'fireworks-ai', litellm: 'fireworks_ai' },
  vercel: { litellm: 'vercel_ai_gateway' },
  moonshot: { modelsDev: 'moonshotai' },
  alibaba: { litellm: 'dashscope' },
  bedrock: { modelsDev: 'amazon-bedrock' },
  vertex: { modelsDev: 'google-vertex', litellm: 'vertex_ai' },
  cloudflare: { modelsDev: 'cloudflare-workers-ai' },
};

/** What a list calls a service. */
export function nameInPriceList(service: string, list: 'modelsDev' | 'litellm'): string {
  return otherNames[service]?.[list] ?? service;
}
