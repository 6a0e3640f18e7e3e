/*
 * The names of services in models.dev's list of prices, `api.json` (anomalyco/models.dev @f3fc6922, MIT), if they differ from
 * ours. Nothing of the list is shipped.
 */
const otherNames: Readonly<Record<string, string>> = {
  gemini: 'google',
  together: 'togetherai',
  fireworks: 'fireworks-ai',
  moonshot: 'moonshotai',
  bedrock: 'amazon-bedrock',
  vertex: 'google-vertex',
  cloudflare: 'cloudflare-workers-ai',
};

/** The name of a service in models.dev. */
export function nameInPriceList(service: string): string {
  return otherNames[service] ?? service;
}
