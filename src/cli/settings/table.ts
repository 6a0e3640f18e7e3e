import {
  authForms,
  defaultTimeoutMs,
  effortNames,
  firstServiceNames,
  type FormatName,
  formatNames,
  requestFields,
  serviceNames,
  type Use,
} from '../../library/index.ts';

/** The kind of a setting's value. `definition.ts` has the schema of each kind, `values.ts` parses typed values. */
export type Kind =
  | 'budget'
  | 'choice'
  | 'command'
  | 'count'
  | 'duration'
  | 'headerName'
  | 'headers'
  | 'path'
  | 'prices'
  | 'proxy'
  | 'switch'
  | 'text'
  | 'url';

export interface SettingDefinition {
  kind: Kind;
  /** The values of a `choice`, and its noun for messages. */
  values?: readonly string[];
  noun?: string;
  /** The table of `cli/flags` for the flag; absent: the flag is a field of a request, whose table has more facts. */
  group?: 'root' | 'connection' | 'costs' | 'answer' | 'image';
  /** The flag in the syntax of commander: `-m, --model <id>`. */
  flag?: string;
  help?: string;
  /** Help shows the flag with `--verbose` only. */
  advanced?: true;
  /** The flag can be given several times. */
  repeat?: true;
  /** Environment variables; the first that is set counts. */
  variables?: readonly string[] | { [use in Use]: readonly string[] };
  /** The key in a profile of the config file. */
  key?: string;
  /** The members of a key that holds an object, each with the uses that it is for. */
  fields?: Readonly<
    Record<string, { uses?: readonly Use[]; formats?: readonly FormatName[]; examples?: readonly unknown[] }>
  >;
  /** The object can have members under names of the user's own, too. */
  takesNames?: true;
  /** The description of the key in the JSON Schema. */
  description?: string;
  /** Values of the key; `config set` shows the first one in hints. */
  examples?: readonly unknown[] | undefined;
  /** The value of a setting that is set nowhere. */
  default?: unknown;
  /** The uses of the profile's value and of the default (all uses). The flag is for every use. */
  uses?: readonly Use[];
  /** The formats that use the setting (all formats). */
  formats?: readonly FormatName[];
  /** The scope of the profile's value: the service of the profile, the origin of its base URL, or everywhere. */
  only?: 'service' | 'origin' | undefined;
  /** `resolve.ts` has a rule of its own for the setting; otherwise flag > environment > profile > default. */
  rule?: true;
  /** The flag decides which gateway answers: commands in hints repeat it. */
  inHints?: true;
  /** Whether `config list` and `doctor` show it (always). */
  shown?: 'if on' | 'if set' | 'never';
}

/** The messages format requires a limit. */
const defaultMaxTokens = 4096;

/**
 * Every setting: flag, environment variables, profile key, default and help. The order is that of `config list`. Adding a row
 * adds the flag with its help and completion, the key of `config set` and of the JSON Schema, and the line of `config list` and
 * `doctor`.
 */
export const settings = {
  profile: {
    kind: 'text',
    rule: true,
    inHints: true,
    group: 'root',
    flag: '--profile <name>',
    help: 'use this set of settings from the config file',
    variables: ['GATEWAY_PROFILE'],
  },
  offline: {
    kind: 'switch',
    group: 'connection',
    flag: '--offline',
    help: 'use the built-in local gateway: no account, no network',
    variables: ['GATEWAY_OFFLINE'],
    default: false,
    shown: 'if on',
  },
  noStdin: {
    kind: 'switch',
    group: 'root',
    flag: '--no-stdin',
    help: 'do not read stdin; use it in while-read loops',
    advanced: true,
    variables: ['GATEWAY_NO_STDIN'],
    default: false,
    shown: 'never',
  },
  service: {
    kind: 'choice',
    values: serviceNames,
    noun: 'service',
    rule: true,
    only: 'service',
    inHints: true,
    group: 'connection',
    flag: '--service <name>',
    help: `${firstServiceNames.join(', ')}, …`,
    variables: ['GATEWAY_SERVICE'],
    key: 'service',
    description: 'Which service it is: its base URL, headers and variables of the key.',
  },
  format: {
    kind: 'choice',
    values: formatNames,
    noun: 'format',
    rule: true,
    only: 'service',
    inHints: true,
    group: 'connection',
    flag: '--format <name>',
    help: `the wire format, if a gateway has several: ${formatNames.join(', ')}`,
    advanced: true,
    variables: ['GATEWAY_FORMAT'],
    key: 'format',
    description: 'The wire format, if a gateway has several; that of the service otherwise.',
    shown: 'if set',
  },
  baseUrl: {
    kind: 'url',
    rule: true,
    only: 'service',
    inHints: true,
    group: 'connection',
    flag: '--base-url <url>',
    help: 'address of the gateway, with its path prefix',
    variables: ['GATEWAY_BASE_URL'],
    key: 'baseUrl',
    description: "Where the gateway is; a path prefix is kept. The profile's key and headers go to this origin only.",
    examples: ['https://gateway.example.com'],
  },
  apiKey: { kind: 'text', rule: true, only: 'origin', variables: ['GATEWAY_API_KEY'], key: 'apiKey' },
  apiKeyFile: {
    kind: 'path',
    rule: true,
    only: 'origin',
    inHints: true,
    group: 'connection',
    flag: '--api-key-file <path|->',
    help: 'read the API key from a file; - is stdin',
    advanced: true,
    variables: ['GATEWAY_API_KEY_FILE'],
    key: 'apiKeyFile',
    description: "A file that holds the key alone; relative paths start at the config file's folder.",
  },
  apiKeyCommand: {
    kind: 'command',
    rule: true,
    only: 'origin',
    key: 'apiKeyCommand',
    description: 'A program that prints the key, run without a shell: a list, or a string that is split at its blanks.',
    examples: [['pass', 'show', 'gateway']],
  },
  model: {
    kind: 'text',
    rule: true,
    only: 'service',
    group: 'connection',
    flag: '-m, --model <id>',
    help: 'name of the model, as gateway-cli models lists it',
    variables: {
      text: ['GATEWAY_MODEL'],
      image: ['GATEWAY_IMAGE_MODEL'],
      edit: ['GATEWAY_EDIT_MODEL', 'GATEWAY_IMAGE_MODEL'],
      chat: ['GATEWAY_CHAT_MODEL', 'GATEWAY_MODEL'],
    },
    key: 'models',
    takesNames: true,
    fields: {
      text: { uses: ['text'] },
      image: { uses: ['image'] },
      edit: { uses: ['edit'] },
      chat: { uses: ['chat'] },
    },
    description: 'The model of each use, and under names of your own those that -m takes by these names.',
  },
  fallback: {
    kind: 'text',
    only: 'service',
    flag: requestFields.fallback.flag,
    key: 'fallback',
    description: 'The model that is asked once where the first one is busy or gone, and nothing was billed.',
    shown: 'if set',
  },
  auth: {
    kind: 'choice',
    values: authForms,
    rule: true,
    only: 'service',
    inHints: true,
    group: 'connection',
    flag: '--auth <form>',
    help: 'how the key is sent: api-key (a header of its own), bearer (Authorization) or auto (default: auto)',
    advanced: true,
    variables: ['GATEWAY_AUTH'],
    key: 'auth',
    fields: {
      text: { uses: ['text', 'chat'], formats: ['content'] },
      image: { uses: ['image'], formats: ['content'] },
      messages: { uses: ['text', 'chat'], formats: ['messages'] },
      completions: { formats: ['completions'] },
      responses: { formats: ['responses'] },
    },
    description: "The form of authentication of each row of the service's table; auto follows that table.",
  },
  headerNames: {
    kind: 'headerName',
    rule: true,
    only: 'service',
    inHints: true,
    group: 'connection',
    flag: '--header-names <key,version>',
    help: 'header names that your gateway takes for key and version; vendors sends those of Gemini and Anthropic',
    advanced: true,
    variables: ['GATEWAY_HEADER_NAMES'],
    key: 'headerNames',
    fields: { apiKey: { formats: ['content'], examples: ['x-api-key'] }, version: { formats: ['messages'] } },
    description: 'The real names of x-vendor-a-api-key and vendor-b-version.',
  },
  headers: {
    kind: 'headers',
    rule: true,
    only: 'origin',
    group: 'connection',
    flag: '--header <N: v>',
    help: 'extra HTTP header, or @file with one per line',
    repeat: true,
    advanced: true,
    key: 'headers',
    description: "Further headers of every request to this profile's origin; credentials are allowed here.",
  },
  maxTokens: {
    kind: 'count',
    flag: requestFields.maxTokens.flag,
    key: 'maxTokens',
    description: 'max_tokens of chat in the messages format, which demands a limit (4096).',
    examples: [4096],
    uses: ['chat'],
    formats: ['messages'],
    default: defaultMaxTokens,
  },
  effort: {
    kind: 'choice',
    values: effortNames,
    noun: 'effort',
    flag: requestFields.effort.flag,
    key: 'effort',
    description: 'How much the model thinks before it answers a text or a chat; thinking is billed.',
    examples: ['low'],
    uses: ['text', 'chat'],
    shown: 'if set',
  },
  store: {
    kind: 'switch',
    flag: requestFields.store.flag,
    key: 'store',
    description: 'Lets a service keep requests and answers that it is asked not to keep otherwise.',
    default: false,
    shown: 'if on',
  },
  keepThink: {
    kind: 'switch',
    flag: requestFields.keepThink.flag,
    key: 'keepThink',
    description: 'Leaves thinking in the tags <think> and </think> at the head of an answer in its text.',
    default: false,
    formats: ['completions'],
    shown: 'if on',
  },
  prices: {
    kind: 'prices',
    rule: true,
    group: 'costs',
    flag: '--prices <json|path>',
    help: 'what models cost per million tokens: {"<model or *>":{"input":"0.30","output":"2.50"}}, or a file with it; see gateway-cli help costs',
    advanced: true,
    key: 'prices',
    description: 'What models cost, by name or pattern (*); the exact name counts, else the longest pattern.',
    examples: [{ 'some-model': { input: '0.30', output: '2.50', currency: 'USD' } }],
  },
  lane: {
    kind: 'choice',
    values: ['live', 'flex', 'batch'],
    noun: 'lane',
    group: 'costs',
    flag: '--lane <lane>',
    help: 'live, flex (half price, slower, refused while the service is busy), or of a batch: batch',
    advanced: true,
    key: 'lane',
    description:
      'How requests are sent: live, flex (half price, slower), or batch: the batch API of the service, only for batches.',
    examples: ['flex'],
    default: 'live',
    shown: 'if set',
  },
  budget: {
    kind: 'budget',
    group: 'costs',
    flag: '--budget <name|path:amount>',
    help: 'limit of costs that runs share: team:20, or team:20/month; a request without --max-tokens (maxTokens in jobs) can pass it; see gateway-cli help costs',
    advanced: true,
    variables: ['GATEWAY_BUDGET'],
    key: 'budget',
    description:
      'A limit of costs that runs share: <name|path>:<amount>, and /day or /month. Relative paths start at the folder of this file.',
    examples: ['team:20.00/month'],
    shown: 'if set',
  },
  timeoutMs: {
    kind: 'duration',
    group: 'connection',
    flag: '--timeout <time>',
    help: 'time limit of the whole command (default: 10m)',
    variables: ['GATEWAY_TIMEOUT'],
    key: 'timeout',
    description: 'Seconds, or a duration such as 500ms, 90s, 2m, 1h (10m).',
    examples: ['90s'],
    default: defaultTimeoutMs,
  },
  allowHttp: {
    kind: 'switch',
    only: 'origin',
    inHints: true,
    group: 'connection',
    flag: '--allow-http',
    help: 'allow http:// to another host; the key is then sent unencrypted',
    advanced: true,
    key: 'allowHttp',
    description: "Allows http:// with a key for this profile's origin.",
    default: false,
  },
  proxy: {
    kind: 'proxy',
    inHints: true,
    group: 'connection',
    flag: '--proxy <url>',
    help: 'send through this HTTP proxy (default: HTTPS_PROXY, HTTP_PROXY)',
    advanced: true,
    key: 'proxy',
    description: 'An HTTP proxy; comes before HTTPS_PROXY, HTTP_PROXY and ALL_PROXY. Hosts of NO_PROXY have none.',
    examples: ['http://proxy.example.com:3128'],
  },
  systemCa: {
    kind: 'switch',
    inHints: true,
    group: 'connection',
    flag: '--system-ca',
    help: "also trust the system's certificate authorities (Node 22.15 or later)",
    advanced: true,
    key: 'systemCa',
    description: "Trusts the system's certificate store too; Node 22.15 or later can.",
    default: false,
    shown: 'if on',
  },
  preview: {
    kind: 'switch',
    group: 'image',
    flag: '--preview',
    help: 'show the image in the terminal',
    key: 'preview',
    description: 'Shows pictures inline on terminals.',
    default: false,
  },
  markdown: {
    kind: 'switch',
    group: 'answer',
    flag: '--no-markdown',
    help: 'on a terminal, do not format Markdown',
    advanced: true,
    key: 'markdown',
    description: 'Formats the Markdown of answers on terminals (true).',
    default: true,
  },
} as const satisfies Record<string, SettingDefinition>;

export type SettingName = keyof typeof settings;

/** Every setting, in the order of the table. */
export const settingNames = Object.keys(settings) as SettingName[];
