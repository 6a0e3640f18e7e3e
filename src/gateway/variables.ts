import type { ImitatedService } from './service.ts';

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

/** What the SDKs of a service read. */
interface VendorVariables {
  baseUrl: readonly string[];
  /** What their base URL ends with. */
  version?: string;
  key: readonly string[];
  /** What they prefer to these: another form of the key, or another service of the vendor. */
  rivals: readonly string[];
}

const vendorVariables: Readonly<Record<ImitatedService, VendorVariables>> = {
  gemini: {
    baseUrl: ['GOOGLE_GEMINI_BASE_URL'],
    // Some clients read no base URL: these do not see the real key either.
    key: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    rivals: ['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_ENTERPRISE'],
  },
  anthropic: { baseUrl: ['ANTHROPIC_BASE_URL'], key: ['ANTHROPIC_API_KEY'], rivals: ['ANTHROPIC_AUTH_TOKEN'] },
  openai: {
    baseUrl: ['OPENAI_BASE_URL'],
    version: '/v1',
    key: ['OPENAI_API_KEY'],
    rivals: ['OPENAI_API_BASE', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID'],
  },
};

/** What leads the SDKs of the vendors and of Vercel to this gateway: of the imitated service, else of each. */
export function vendorEnvironment(
  service: ImitatedService | undefined,
  { url, key }: { url: string; key: string },
): { variables: Record<string, string>; unset: string[] } {
  const vendors = service === undefined ? Object.values(vendorVariables) : [vendorVariables[service]];
  const variables = vendors.flatMap((vendor) => [
    ...vendor.baseUrl.map((name) => [name, url + (vendor.version ?? '')]),
    ...vendor.key.map((name) => [name, key]),
  ]);
  return { variables: Object.fromEntries(variables), unset: vendors.flatMap(({ rivals }) => rivals) };
}
