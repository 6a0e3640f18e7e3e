import type { FormatName, Quirks } from '../formats/types.ts';
import { moreServices } from './more-services.ts';

/** The form in which the key is sent; `auto` is the form that the service takes (formats 1). */
export const authForms = ['auto', 'api-key', 'bearer'] as const;
export type AuthForm = (typeof authForms)[number];

/** The use of a request; it decides the model and the form of authentication. */
export const useNames = ['text', 'image', 'edit', 'chat'] as const;
export type Use = (typeof useNames)[number];

/** The name of a service, as a value of `--service`. */
export type ServiceName = keyof typeof firstServices | keyof typeof moreServices;

/** One service: its address, and how requests to it differ. */
export interface Service {
  name: ServiceName;
  /** The name of the service for people. */
  title: string;
  /** The address; undefined if the user has to name it. */
  baseUrl: string | undefined;
  /** The address in place of `baseUrl`, if each account has its own. */
  template?: AddressTemplate;
  /** The service whose API this one has: at this host, that name means this service. */
  isHostOf?: 'openai';
  /** The base URL is whole: the operations follow it without their `/v1`. */
  hasWholePath?: true;
  /** Other servers use the port too: a server at this port may be another one. */
  isAtCommonPort?: true;
  /** The uses that it has, and the format of each. */
  formats: Readonly<Partial<Record<Use, FormatName>>>;
  /** The formats of other servers that take its requests, if they differ. */
  formatsElsewhere?: Readonly<Partial<Record<Use, FormatName>>>;
  /** Differences from other services of the same format. */
  quirks: Omit<Quirks, 'service'>;
  /** Whether its batch API is missing, or not known to be that of its format. */
  lacksBatches?: boolean;
  /** The service ignores the tier that a request asks for. */
  lacksFlex?: true;
  /** The service takes requests without a key. */
  isKeyless?: true;
  /** The service cuts a prompt that is longer than the window, and answers the rest: the command that sets a window of `{tokens}`. */
  cutsPrompts?: string;
  /** The list of models needs no key, so it cannot show whether a key is valid. */
  hasPublicList?: true;
  /** The path that lists the models in memory, if the list of models does not say which these are. */
  loadedPath?: string;
  /** The query that lists the models of all uses; without it, the list has only those for text. */
  listQuery?: string;
  /** The headers of the key in formats without a key header of their own, and of the version in the messages format. Lower case. */
  headerNames: { apiKey: string; version: string };
  /** The default form of the key; `auto` is the table of formats/README.md. */
  auth: AuthForm;
  /** Variables with a key of this service that the vendor's own tools read; the first one that is set is used. */
  keyVariables: readonly string[];
  /** Variables of the key that hold a token, which is sent as a bearer token whatever the form of the key. */
  tokenVariables?: readonly string[];
  /** Headers of its account, and the variable of each that the vendor's own tools read. Lower case. */
  headerVariables?: Readonly<Record<string, string>>;
  /** The key opens other things too: it chooses the service only if no other key is set. */
  hasWideKey?: true;
  /** Variables with an address in place of `baseUrl`, which the vendor's own tools read too. */
  addressVariables: readonly string[];
  /** The path that these tools add to such an address. */
  addressPath?: string;
  /** The page where users make a key. */
  keyPage: string | undefined;
  /** The default model of each use: a model that the vendor recommends, or its alias if the reply names the model behind it. */
  models: Readonly<Partial<Record<Use, string>>>;
}

/** An address with `{blanks}` for the parts that differ for each account. */
export interface AddressTemplate {
  url: string;
  /** The variables of each blank; the first one that is set is used. */
  variables: Readonly<Record<string, readonly string[]>>;
  /** The hosts that it leads to. */
  hosts: RegExp;
}

/** The names of the vendors' public services for the placeholders of formats/README.md. */
export const vendorHeaderNames = { apiKey: 'x-goog-api-key', version: 'anthropic-version' };

/** The declarations then have only the names of the rows, not their contents. */
const nameServices = <Name extends string>(rows: Readonly<Record<Name, Omit<Service, 'name'>>>) => rows;

/** The services that short lists name. */
const firstServices = nameServices({
  gateway: {
    title: 'a gateway of your own',
    baseUrl: undefined,
    formats: { text: 'content', image: 'content', edit: 'content', chat: 'messages' },
    quirks: {},
    headerNames: { apiKey: 'x-vendor-a-api-key', version: 'vendor-b-version' },
    auth: 'auto',
    keyVariables: [],
    addressVariables: [],
    keyPage: undefined,
    models: {},
  },
  gemini: {
    title: 'Google Gemini',
    baseUrl: 'https://generativelanguage.googleapis.com',
    formats: { text: 'content', image: 'content', edit: 'content', chat: 'content' },
    // ai.google.dev, logs-datasets and changelog of 2026-10-26: projects made since then keep every call, up to 55 days.
    quirks: { keeps: true },
    headerNames: vendorHeaderNames,
    auth: 'api-key',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    addressVariables: ['GOOGLE_GEMINI_BASE_URL'],
    keyPage: 'https://aistudio.google.com/apikey',
    models: {
      text: 'gemini-3.8-flash',
      chat: 'gemini-3.8-flash',
      image: 'gemini-nano-banana-2.1',
      edit: 'gemini-nano-banana-2.1',
    },
  },
  anthropic: {
    title: 'Anthropic',
    baseUrl: 'https://api.anthropic.com',
    formats: { text: 'messages', chat: 'messages' },
    quirks: { schema: 'closed' },
    headerNames: vendorHeaderNames,
    auth: 'api-key',
    // npm @anthropic-ai/sdk 1.14.0, client.d.ts.
    keyVariables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
    tokenVariables: ['ANTHROPIC_AUTH_TOKEN'],
    addressVariables: ['ANTHROPIC_BASE_URL'],
    keyPage: 'https://console.anthropic.com/settings/keys',
    models: { text: 'claude-sonnet-5-5', chat: 'claude-sonnet-5-5' },
  },
  openai: {
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com',
    // OpenAI's current models refuse tools in chat completions (npm openai 7.57.0, the pages of its models, November 2026).
    formats: { text: 'responses', chat: 'responses', image: 'completions', edit: 'completions' },
    formatsElsewhere: { text: 'completions', chat: 'completions' },
    quirks: { maxTokensField: 'max_completion_tokens', includeUsage: true, imagesOperation: 'openai' },
    headerNames: vendorHeaderNames,
    auth: 'bearer',
    keyVariables: ['OPENAI_API_KEY'],
    // npm openai 7.59.0, client.d.ts.
    headerVariables: { 'openai-organization': 'OPENAI_ORG_ID', 'openai-project': 'OPENAI_PROJECT_ID' },
    addressVariables: ['OPENAI_BASE_URL'],
    keyPage: 'https://platform.openai.com/api-keys',
    models: {
      text: 'gpt-6-luna',
      chat: 'gpt-6-luna',
      image: 'gpt-image-2.6-flare',
      edit: 'gpt-image-2.6-flare',
    },
  },
  openrouter: {
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api',
    formats: { text: 'completions', chat: 'completions', image: 'completions', edit: 'completions' },
    lacksBatches: true,
    hasPublicList: true,
    listQuery: 'output_modalities=text,image',
    quirks: { includeUsage: true, effort: 'object', search: true, imagesOperation: 'openrouter' },
    headerNames: vendorHeaderNames,
    auth: 'bearer',
    keyVariables: ['OPENROUTER_API_KEY'],
    addressVariables: [],
    keyPage: 'https://openrouter.ai/settings/keys',
    models: {
      text: '~google/gemini-flash-latest',
      chat: '~google/gemini-flash-latest',
      image: 'google/gemini-nano-banana-2.1',
      edit: 'google/gemini-nano-banana-2.1',
    },
  },
  ollama: {
    title: 'Ollama',
    baseUrl: 'http://127.0.0.1:11434',
    formats: { text: 'completions', chat: 'completions', image: 'completions', edit: 'completions' },
    lacksBatches: true,
    lacksFlex: true,
    quirks: { includeUsage: true, effort: 'ollama', imagesOperation: 'ollama' },
    // docs.ollama.com/api/ps (2026-11): `{"models":[{"name":"llama3:8b",…}]}`.
    loadedPath: '/api/ps',
    isKeyless: true,
    // Ollama says it only in its log: `truncating input prompt limit=4096 prompt=7268 new=4096` (ollama 0.12, 2025-11).
    cutsPrompts: 'OLLAMA_CONTEXT_LENGTH={tokens} ollama serve',
    headerNames: vendorHeaderNames,
    auth: 'bearer',
    keyVariables: [],
    addressVariables: ['OLLAMA_HOST'],
    keyPage: undefined,
    models: {},
  },
});

/** Every service. Help, `config init`, completion, `doctor` and the README are made or checked with this table. */
export const services = Object.fromEntries(
  Object.entries({ ...firstServices, ...moreServices }).map(([name, row]) => [name, { ...row, name }]),
) as Readonly<Record<ServiceName, Service>>;

/** Every name that `--service` takes. */
export const serviceNames = Object.keys(services) as ServiceName[];

/** The services in short lists; `gateway-cli help services` has all. */
export const firstServiceNames = Object.keys(firstServices) as ServiceName[];

/** Whether a service has hosts of its own. */
export function hasOwnHost(name: ServiceName): boolean {
  return (services[name].baseUrl ?? services[name].template) !== undefined;
}

/** Whether a base URL is at the service's own host: the same scheme, host and port. False for a service without a host. */
export function isOwnHost(name: ServiceName, baseUrl: string | URL): boolean {
  const { baseUrl: own, template } = services[name];
  if (!hasOwnHost(name)) return false;
  const { origin, protocol, host } = new URL(baseUrl);
  if (template !== undefined) return protocol === 'https:' && template.hosts.test(host);
  return own !== undefined && new URL(own).origin === origin;
}

/**
 * The path of the service's own base URL, if a base URL is at its host and that path is known: a shorter base URL is completed by
 * it. Undefined if the version is in the path of each operation.
 */
export function findOwnPath(name: ServiceName, baseUrl: URL): string | undefined {
  const { baseUrl: own, template, hasWholePath, formats } = services[name];
  const isWhole = formats.text === 'completions' || formats.text === 'responses';
  if (!isWhole || !isOwnHost(name, baseUrl)) return undefined;
  const [path = ''] = /(?<=^https?:\/\/[^/]+)\/.*$/.exec(own ?? template?.url ?? '') ?? [];
  if (!hasWholePath) return `${path}/v1`;
  if (!path.includes('{')) return path;
  const filled = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).exec(baseUrl.pathname);
  return filled?.[0];
}

/** An address with its blanks filled in. Google's location `global`, unlike other locations, is not a part of the host. */
export function fillTemplate({ url }: AddressTemplate, values: Readonly<Record<string, string>>): string {
  return url.replaceAll(/\{(\w+)\}/g, (_, blank: string) => values[blank] ?? '').replace('//global-', '//');
}

/** The service whose host is that of a base URL; undefined for other hosts, and for text that is not a URL. */
export function findServiceByUrl(baseUrl: string): ServiceName | undefined {
  if (!URL.canParse(baseUrl)) return undefined;
  return serviceNames.find((name) => !services[name].isAtCommonPort && isOwnHost(name, baseUrl));
}

/** The format of a use at an address, which is the service's own if it is undefined; undefined for a use that the service lacks. */
export function chooseFormat(name: ServiceName, use: Use, baseUrl: string | undefined): FormatName | undefined {
  const { formats, formatsElsewhere } = services[name];
  const isOwn = baseUrl === undefined || isOwnHost(name, baseUrl);
  return (isOwn ? undefined : formatsElsewhere?.[use]) ?? formats[use];
}

export function listUses(name: ServiceName): Use[] {
  return useNames.filter((use) => services[name].formats[use] !== undefined);
}

/** The services that have a use and a host of their own, which a message can recommend. */
export function listVendors(use: Use): ServiceName[] {
  return firstServiceNames.filter(
    (name) => services[name].baseUrl !== undefined && services[name].formats[use] !== undefined,
  );
}

/**
 * The end of a model's name that is empty, or the date or number of a version: `-20250929`, `@20250929`, `-2024-08-06`, `-05-20`,
 * `-001`.
 */
const modelVersion = /^(?:[-@](?:\d{3}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?))?$/;

/**
 * Whether a reply names the requested model: with a version after it, with a path before it, or without the suffix such as
 * `:nitro` that OpenRouter uses for the way.
 */
function isSameModel(requested: string, answered: string): boolean {
  const [wanted, found] = [withoutPath(requested), withoutPath(answered)];
  const names = [wanted, wanted.replace(/:.*/, '')];
  return names.some((name) => found.startsWith(name) && modelVersion.test(found.slice(name.length)));
}

/**
 * Whether the name is an alias, for which the name of another model is expected: the vendor changes its model from time to time
 * or, for `openrouter/auto`, with each prompt.
 */
export function isMovingAlias(model: string): boolean {
  return model.endsWith('-latest') || model.startsWith('openrouter/');
}

/** The name of the model that answered; undefined if it is the requested one or unknown. */
export function otherModel(requested: string, answered: string | undefined): string | undefined {
  if (answered === undefined || answered === '' || isSameModel(requested, answered)) return undefined;
  return answered;
}

function withoutPath(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1).toLowerCase();
}

/** The service, or the host, of a name under which a session remembers it. */
export function withoutFormat(remembered: string): string {
  return remembered.slice(0, remembered.lastIndexOf('/'));
}

/** The differences of a service from others of its format, and the name under which a session remembers it. */
export function getQuirks(name: ServiceName, format: FormatName, baseUrl: string | undefined): Quirks {
  const { quirks } = services[name];
  if (baseUrl === undefined || isOwnHost(name, baseUrl)) return { ...quirks, service: `${name}/${format}` };
  // Another server that speaks a vendor's format knows only its older fields.
  const { imagesOperation, includeUsage, effort, search } = quirks;
  return { imagesOperation, includeUsage, effort, search, service: `${new URL(baseUrl).host}/${format}` };
}
