import { serviceNames } from '../../services.ts';
import { authForms } from '../../settings/types.ts';
import { type FlagTable, notAFlag } from './flag.ts';
import { parseSetting } from './set.ts';
import { decimal, duration, notEmpty, notNegative, oneOf, passwordless, whole } from './values.ts';

/** Taken by the program and by every command, before or behind the command's name. */
export const rootFlags = {
  json: { flags: '--json', text: 'print exactly one JSON document, on success and on failure' },
  quiet: { flags: '-q, --quiet', text: 'no notes, warnings or progress on stderr' },
  verbose: { flags: '-v, --verbose', text: 'requests, replies, retries and usage on stderr, keys redacted' },
  debug: { flags: '--debug', text: 'stack traces of errors' },
  color: { flags: '--no-color', text: 'no colour' },
  profile: { flags: '--profile <name>', text: 'profile of the config file', parse: notAFlag },
} satisfies FlagTable;

/** Where a request goes and how. */
export const connectionFlags = {
  model: { flags: '-m, --model <id>', text: 'model', parse: notAFlag },
  service: {
    flags: '--service <name>',
    text: `which service it is: ${serviceNames.join(', ')}`,
    parse: oneOf(serviceNames),
    values: serviceNames,
  },
  baseUrl: { flags: '--base-url <url>', text: 'gateway, with its path prefix if it has one' },
  apiKeyFile: { flags: '--api-key-file <path|->', text: 'file that holds the key' },
  apiKey: { flags: '--api-key [value]', text: 'refused: a key in argv is public', hidden: true },
  auth: { flags: '--auth <form>', text: 'auto, api-key or bearer', parse: oneOf(authForms), values: authForms },
  header: { flags: '--header <N: v>', text: 'one more header, or @file with one a line', repeat: true },
  headerNames: {
    flags: '--header-names <key,version>',
    text: 'real names of the key and version headers; vendors: those of Gemini and Anthropic',
  },
  proxy: { flags: '--proxy <url>', text: 'HTTP proxy, before HTTPS_PROXY and its like', parse: passwordless },
  systemCa: { flags: '--system-ca', text: "trust the system's certificate store too (Node 22.15 or later)" },
  cacert: { flags: '--cacert <file>', text: 'PEM of further certificate authorities' },
  clientCert: { flags: '--client-cert <file>', text: 'PEM of the client certificate' },
  clientKey: { flags: '--client-key <file>', text: 'PEM of its key' },
  allowHttp: { flags: '--allow-http', text: 'send the key over plain http' },
  timeout: { flags: '--timeout <time>', text: 'whole command, waits included (10m)' },
  retries: { flags: '--retries <n>', text: 'further attempts (2)', parse: whole(0, 100) },
  retryMaxTime: { flags: '--retry-max-time <time>', text: 'waiting in all (60s)', parse: duration },
  retrySafeOnly: { flags: '--retry-safe-only', text: 'repeat only what was surely not billed' },
  offline: { flags: '--offline', text: 'answer from the local gateway: no account, no network' },
  record: { flags: '--record <dir>', text: 'keep every exchange in a folder, without the key', parse: notAFlag },
  replay: { flags: '--replay <dir>', text: 'answer from what was recorded: no key, no network', parse: notAFlag },
  replaySpeed: { flags: '--replay-speed <x>', text: '2 is twice as fast as it was, 0 at once (1)', parse: notNegative },
} as const satisfies FlagTable;

/** What a request says, in both formats. */
export const bodyFlags = {
  prompt: { flags: '-p, --prompt <text>', text: 'the prompt, instead of words' },
  promptFile: { flags: '--prompt-file <path|->', text: 'the prompt from a file' },
  system: { flags: '--system <text>', text: 'system instruction' },
  systemFile: { flags: '--system-file <path|->', text: 'system instruction from a file' },
  maxTokens: { flags: '--max-tokens <n>', text: 'most tokens of the answer', parse: whole(1) },
  temperature: { flags: '--temperature <x>', text: 'sampling temperature', parse: decimal },
  topP: { flags: '--top-p <x>', text: 'nucleus sampling', parse: decimal },
  topK: { flags: '--top-k <n>', text: 'top-k sampling', parse: whole(0) },
  stop: { flags: '--stop <text>', text: 'stop sequence', parse: notEmpty, repeat: true },
  tools: { flags: '--tools <path|->', text: 'tool definitions, a JSON array' },
  set: {
    flags: '--set <path=value>',
    text: 'any field of the body: a.b=1, tags[]=x',
    parse: parseSetting,
    repeat: true,
  },
  body: { flags: '--body <path|->', text: 'a JSON body that the flags are laid over' },
} satisfies FlagTable;

/** What is printed, and what is not sent. */
export const outputFlags = {
  dryRun: { flags: '--dry-run', text: 'print the request and send nothing; input URLs are fetched' },
  curl: { flags: '--curl', text: 'print a bash command that sends the request' },
  raw: { flags: '--raw', text: 'print the reply body as it came' },
  requireComplete: {
    flags: '--require-complete',
    text: 'an answer that a limit cut, or that may not be whole, is exit 11',
  },
  stdin: { flags: '--no-stdin', text: 'never read stdin (for while-read loops)' },
  stdinTimeout: { flags: '--stdin-timeout <time>', text: 'wait for its first byte (60s)', parse: duration },
} satisfies FlagTable;
