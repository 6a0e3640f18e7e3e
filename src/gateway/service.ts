import type { GatewayFormatName, KeyForm } from './types.ts';

/** A vendor's service that the gateway can stand for. */
export type ServedService = 'gemini' | 'anthropic' | 'openai';

/** The part of the gateway that a service has. */
export interface ServiceRules {
  /** The format of its paths, and of every error. */
  format: GatewayFormatName;
  /** The names that models of its vendor have. */
  models: RegExp;
  /** The forms in which it takes a key. */
  keyForms: readonly KeyForm[];
  /** The variables that its SDKs read. */
  variables: {
    baseUrl: string;
    /** The end of the base URL that the SDKs expect. */
    version?: string;
    key: readonly string[];
    /** Variables that the SDKs prefer to the ones above: another form of the key, or another service of the vendor. */
    rivals: readonly string[];
  };
}

export const serviceRules: Readonly<Record<ServedService, ServiceRules>> = {
  gemini: {
    format: 'content',
    models: /^(?:gemini|gemma|imagen|nano-banana)(?:-.|$)/,
    keyForms: ['vendor-key', 'query'],
    variables: {
      baseUrl: 'GOOGLE_GEMINI_BASE_URL',
      // The key is set in all variables: clients that read no base URL must not see the real key either.
      key: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
      rivals: ['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_ENTERPRISE'],
    },
  },
  anthropic: {
    format: 'messages',
    models: /^claude-./,
    keyForms: ['x-api-key', 'bearer'],
    variables: {
      baseUrl: 'ANTHROPIC_BASE_URL',
      key: ['ANTHROPIC_API_KEY'],
      rivals: ['ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'],
    },
  },
  openai: {
    format: 'completions',
    models: /^(?:gpt|chatgpt|dall-e|codex)-.|^o\d/,
    keyForms: ['bearer'],
    variables: {
      baseUrl: 'OPENAI_BASE_URL',
      version: '/v1',
      key: ['OPENAI_API_KEY'],
      rivals: ['OPENAI_API_BASE', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID'],
    },
  },
};

/** Variables that would lead a program of ours elsewhere. */
export const misleadingVariables = [
  'GATEWAY_OFFLINE',
  'GATEWAY_PROFILE',
  'GATEWAY_SERVICE',
  'GATEWAY_FORMAT',
  'GATEWAY_API_KEY_FILE',
  'GATEWAY_HEADER_NAMES',
  'GATEWAY_AUTH',
];

/** Local answers cost nothing: no budget counts them. */
export const unpaid = { GATEWAY_BUDGET: 'none' };

/** The variables that lead SDKs of the vendors and of Vercel to this gateway: for the served service, otherwise for each. */
export function vendorEnvironment(
  service: ServedService | undefined,
  { url, key }: { url: string; key: string },
): { variables: Record<string, string>; unset: string[] } {
  const rules = service === undefined ? Object.values(serviceRules) : [serviceRules[service]];
  const variables = rules.flatMap(({ variables: { baseUrl, version = '', key: keys } }) => [
    [baseUrl, url + version],
    ...keys.map((name) => [name, key]),
  ]);
  return { variables: Object.fromEntries(variables), unset: rules.flatMap((row) => row.variables.rivals) };
}
