import type { IncomingHttpHeaders } from 'node:http';
import { bearerToken, headerText, sameSecret } from './http/guard.ts';
import { unknownModel } from './completions/reply.ts';
import { Problem } from './problem.ts';
import type { GatewayFormatName, CallerForm, KeyForm, Level } from './types.ts';

/** A vendor's service that the gateway can imitate. */
export type ImitatedService = 'gemini' | 'anthropic' | 'openai';

/** How a service checks requests, and its wordings of errors. */
export interface ServiceRules {
  format: GatewayFormatName;
  /** How strict it is with fields. */
  level: Level;
  /** Everything else is not found. */
  paths: RegExp;
  /** Paths that the service has and this gateway does not; the error says so. */
  vendorPaths: RegExp;
  /** A known path with another method is not found either. */
  methodsArePaths?: true;
  /** The names that models of its vendor have. */
  models: RegExp;
  key: { header?: string; form: KeyForm; inQuery?: true };
  /** Whether a bearer token is always refused; else it is the key in another form. */
  refusesBearer?: true;
  versionHeader?: string;
  noKey: () => Problem;
  wrongKey: () => Problem;
  wrongToken: () => Problem;
  notFound: (path: string, method: string) => Problem;
  unknownModel: (model: string, path: string) => Problem;
  /** The variables that its SDKs read. */
  variables: {
    baseUrl: string;
    /** What their base URL ends with. */
    version?: string;
    key: readonly string[];
    /** What they prefer to these: another form of the key, or another service of the vendor. */
    rivals: readonly string[];
  };
}

const invalidKey = 'API key not valid. Please pass a valid API key.';
const googleError = 'type.googleapis.com/google.rpc';
const googleService = 'generativelanguage.googleapis.com';

/** The wordings come from public reports; test/fake-servers names them. */
export const serviceRules: Readonly<Record<ImitatedService, ServiceRules>> = {
  gemini: {
    format: 'content',
    level: 'strict',
    paths:
      /^\/v1(?:alpha|beta)?\/models(?:\/|$)|^\/(?:(?:upload|download)\/)?v1(?:alpha|beta)?\/(?:files|batches)(?:\/|$)/,
    vendorPaths:
      /^\/(?:(?:upload|download)\/)?v1(?:alpha|beta)?\/(?:cachedContents|fileSearchStores|tunedModels|corpora|interactions|operations|authTokens|models\/[^/:]+(?::\w+|\/operations))/,
    methodsArePaths: true,
    models: /^(?:gemini|gemma|imagen|nano-banana)(?:-.|$)/,
    key: { header: 'x-goog-api-key', form: 'vendor-key', inQuery: true },
    refusesBearer: true,
    noKey: () =>
      new Problem(
        403,
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
      ),
    wrongKey: () =>
      new Problem(400, invalidKey, {
        details: [
          {
            '@type': `${googleError}.ErrorInfo`,
            reason: 'API_KEY_INVALID',
            domain: 'googleapis.com',
            metadata: { service: googleService },
          },
          { '@type': `${googleError}.LocalizedMessage`, locale: 'en-US', message: invalidKey },
        ],
      }),
    wrongToken: () =>
      new Problem(
        401,
        'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.',
        {
          details: [
            {
              '@type': `${googleError}.ErrorInfo`,
              reason: 'ACCESS_TOKEN_TYPE_UNSUPPORTED',
              metadata: { service: googleService },
            },
          ],
        },
      ),
    notFound: (path) => new Problem(404, `nothing is served at ${path.slice(0, 200)}`, { page: googlePage }),
    unknownModel(model, path) {
      const [, version = 'v1beta', method = 'generateContent'] =
        /^\/(v1(?:alpha|beta)?)\/[^:]*:?(\w+)?/.exec(path) ?? [];
      return new Problem(
        404,
        `models/${model} is not found for API version ${version}, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods.`,
      );
    },
    variables: {
      baseUrl: 'GOOGLE_GEMINI_BASE_URL',
      // Some clients read no base URL: these do not see the real key either.
      key: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
      rivals: ['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_ENTERPRISE'],
    },
  },
  anthropic: {
    format: 'messages',
    level: 'strict',
    paths: /^\/v1\/(?:messages|models)(?:\/[^:]*)?$/,
    vendorPaths: /^\/v1\/(?:files|skills|complete|agents|environments|sessions|organizations)(?:\/|$)/,
    models: /^claude-./,
    key: { header: 'x-api-key', form: 'x-api-key' },
    versionHeader: 'anthropic-version',
    noKey: () => new Problem(401, 'x-api-key header is required'),
    wrongKey: () => new Problem(401, 'invalid x-api-key'),
    wrongToken: () => new Problem(401, 'Invalid bearer token'),
    notFound: () => new Problem(404, 'Not found'),
    unknownModel: (model) => new Problem(404, `model: ${model}`),
    variables: {
      baseUrl: 'ANTHROPIC_BASE_URL',
      key: ['ANTHROPIC_API_KEY'],
      rivals: ['ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'],
    },
  },
  openai: {
    format: 'completions',
    level: 'vendor',
    paths: /^\/v1\/(?:chat\/completions|images\/(?:generations|edits)|(?:models|files|batches|responses)(?:\/[^:]*)?)$/,
    vendorPaths:
      /^\/v1\/(?:responses|embeddings|completions|audio|images|moderations|uploads|fine_tuning|assistants|threads|vector_stores|conversations|containers|evals|realtime|videos)(?:\/|$)/,
    models: /^(?:gpt|chatgpt|dall-e|codex)-.|^o\d/,
    key: { form: 'bearer' },
    noKey: () =>
      new Problem(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. You can obtain an API key from https://platform.openai.com/account/api-keys.",
        { errorCode: null },
      ),
    wrongKey: wrongOpenAiKey,
    wrongToken: wrongOpenAiKey,
    notFound: (path, method) => new Problem(404, `Invalid URL (${method} ${path.slice(0, 200)})`),
    unknownModel: (model) => unknownModel(model),
    variables: {
      baseUrl: 'OPENAI_BASE_URL',
      version: '/v1',
      key: ['OPENAI_API_KEY'],
      rivals: ['OPENAI_API_BASE', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID'],
    },
  },
};

/** OpenAI shows the ends of the key; here it is hidden as a whole, for the words go to the log too. */
function wrongOpenAiKey(): Problem {
  const where = 'You can find your API key at https://platform.openai.com/account/api-keys.';
  return new Problem(401, `Incorrect API key provided: ****************. ${where}`);
}

const googlePage = `<!DOCTYPE html>
<html lang=en>
  <meta charset=utf-8>
  <title>Error 404 (Not Found)!!1</title>
  <p><b>404.</b> <ins>That’s an error.</ins>
  <p>The requested URL was not found on this server.  <ins>That’s all we know.</ins>
`;

/** Checks key and version as the service does. Returns the form of the key and the version. Throws Problem 400, 401 or 403. */
export function checkCaller(
  { headers, query }: { headers: IncomingHttpHeaders; query: URLSearchParams },
  key: string | undefined,
  rules: ServiceRules,
): CallerForm {
  const { header, form, inQuery } = rules.key;
  const token = bearerToken(headers.authorization);
  if (token !== undefined && rules.refusesBearer) throw rules.wrongToken();
  const inHeader = headerText(headers, header) || (inQuery && query.get('key')) || undefined;
  const shown = inHeader ?? token;
  if (shown === undefined) throw rules.noKey();
  const version = checkServiceVersion(headers, rules.versionHeader);
  if (key !== undefined && !sameSecret(shown, key))
    throw inHeader === undefined ? rules.wrongToken() : rules.wrongKey();
  return { keyForm: form, version };
}

const versions = new Set(['2026-10-21', '2023-06-01', '2023-01-01']);

function checkServiceVersion(headers: IncomingHttpHeaders, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const version = headerText(headers, name);
  if (version === undefined) throw new Problem(400, `${name}: header is required`);
  if (!versions.has(version)) throw new Problem(400, `${name}: ${JSON.stringify(version)} is not a valid version`);
  return version;
}

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

/** The variables that lead SDKs of the vendors and of Vercel to this gateway: for the imitated service, else for each. */
export function vendorEnvironment(
  service: ImitatedService | undefined,
  { url, key }: { url: string; key: string },
): { variables: Record<string, string>; unset: string[] } {
  const rules = service === undefined ? Object.values(serviceRules) : [serviceRules[service]];
  const variables = rules.flatMap(({ variables: { baseUrl, version = '', key: keys } }) => [
    [baseUrl, url + version],
    ...keys.map((name) => [name, key]),
  ]);
  return { variables: Object.fromEntries(variables), unset: rules.flatMap((row) => row.variables.rivals) };
}
