import { type FlagTable, notAFlag, age, amount, decimal, duration, notEmpty, oneOf, variable, whole } from './flag.ts';
import { parseFieldPath } from './set.ts';
import { settingFlags } from './setting-flags.ts';
import { parseSetting } from './set.ts';
import { resolve } from 'node:path';
import { usageError } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';

// Help has the order of the tables; flags of further settings come last.
const { stdin, profile, ...furtherRoot } = settingFlags('root');

/** Flags of the program and of every command, before or after the command's name. */
export const rootFlags = {
  json: { flags: '--json', text: 'print one JSON document on stdout, on success and on failure' },
  quiet: { flags: '-q, --quiet', text: 'print only errors on stderr' },
  verbose: {
    flags: '-v, --verbose',
    text: 'print requests, replies, retries and usage on stderr; with --help: all flags',
  },
  debug: { flags: '--debug', text: 'print the stack trace of an error', advanced: true },
  stdin,
  color: { flags: '--no-color', text: 'print plain text, as with NO_COLOR=1', advanced: true },
  profile,
  ...furtherRoot,
} satisfies FlagTable;

const {
  model,
  service,
  baseUrl,
  apiKeyFile,
  auth,
  header,
  headerNames,
  proxy,
  systemCa,
  allowHttp,
  timeout,
  offline,
  ...furtherConnection
} = settingFlags('connection');

/** Where a request goes and how. */
export const connectionFlags = {
  model,
  service,
  baseUrl,
  apiKeyFile,
  apiKey: { flags: '--api-key [value]', text: 'refused: a key in argv is public', hidden: true },
  auth,
  header,
  headerNames,
  proxy,
  systemCa,
  cacert: { flags: '--cacert <file>', text: 'also trust the certificate authorities in this PEM file', advanced: true },
  clientCert: { flags: '--client-cert <file>', text: 'client certificate for mutual TLS, a PEM file', advanced: true },
  clientKey: {
    flags: '--client-key <file>',
    text: 'private key of the client certificate, a PEM file',
    advanced: true,
  },
  allowHttp,
  timeout,
  retries: {
    flags: '--retries <n>',
    text: 'number of retries, 0 to 100 (default: 2)',
    advanced: true,
    parse: whole(0, 100),
  },
  retryMaxTime: {
    flags: '--retry-max-time <time>',
    text: 'maximum total wait between retries (default: 60s)',
    parse: duration,
    advanced: true,
  },
  retrySafeOnly: {
    flags: '--retry-safe-only',
    text: 'retry only requests that were certainly not billed',
    advanced: true,
  },
  offline,
  record: {
    flags: '--record <dir>',
    text: 'write every request and reply to a folder, without the key',
    parse: notAFlag,
    advanced: true,
  },
  replay: {
    flags: '--replay <dir>',
    text: 'answer from a folder that --record wrote: no key, no network; with --record too: send only what is not there',
    parse: notAFlag,
    advanced: true,
  },
  maxAge: {
    flags: '--max-age <time>',
    text: 'with --record and --replay: send again what is older, such as 7d or 12h',
    parse: age,
    advanced: true,
  },
  ...furtherConnection,
} as const satisfies FlagTable;

/** Prices, and the lane, which decides the price. */
export const priceFlags = {
  ...settingFlags('costs'),
  laneFallback: {
    flags: '--lane-fallback <lane>',
    text: 'with --lane flex: live sends at full price what the service stays too busy for',
    parse: oneOf(['live']),
    values: ['live'],
    advanced: true,
  },
} satisfies FlagTable;

/** A limit of costs; each command has its own text. */
export const maxCost = { flags: '--max-cost <amount>', parse: amount } as const;

/** What a request says, in every format. */
export const bodyFlags = {
  prompt: { flags: '-p, --prompt <text>', text: 'what to ask for, if it is not an argument' },
  promptFile: {
    flags: '--prompt-file <path|->',
    text: 'read the prompt from a file, such as x.prompt.yml; - is stdin',
    advanced: true,
  },
  var: {
    flags: '--var <name=value>',
    text: 'fill {{name}} in the prompt; name=@file reads a file; --vars gives many',
    parse: variable,
    repeat: true,
  },
  vars: {
    flags: '--vars <path|json|n>',
    text: 'values for many {{names}}: a JSON object, or row n of the testData of a .prompt.yml file',
    advanced: true,
  },
  noVars: { flags: '--no-vars', text: 'send {{name}} unchanged', advanced: true },
  system: { flags: '--system <text>', text: 'instructions for the model, beside the prompt' },
  systemFile: {
    flags: '--system-file <path|->',
    text: 'read the --system text from a file; - is stdin',
    advanced: true,
  },
  ...settingFlags('body'),
  temperature: {
    flags: '--temperature <x>',
    text: 'randomness of the answer, from 0 to 1 or 2',
    parse: decimal,
  },
  topP: {
    flags: '--top-p <x>',
    text: 'sample from the most likely tokens up to this total probability, 0 to 1',
    parse: decimal,
    advanced: true,
  },
  topK: { flags: '--top-k <n>', text: 'sample from this many most likely tokens', parse: whole(0), advanced: true },
  stop: {
    flags: '--stop <text>',
    text: 'end the answer where this text would come',
    parse: notEmpty,
    repeat: true,
    advanced: true,
  },
  tools: {
    flags: '--tools <path|->',
    text: 'tools that the model may call: a JSON array, in a file; - is stdin',
    advanced: true,
  },
  set: {
    flags: '--set <path=value>',
    text: 'set a field of the request: a.b=1, tags[]=x',
    parse: parseSetting,
    repeat: true,
  },
  body: {
    flags: '--body <path|->',
    text: 'start from this JSON request body; flags change it; - is stdin',
    advanced: true,
  },
} satisfies FlagTable;

/** What is printed, and whether a request is sent. */
export const outputFlags = {
  dryRun: { flags: '--dry-run', text: 'print the request and do not send it; input URLs are fetched' },
  curl: { flags: '--curl', text: 'print a curl command for bash and send nothing', advanced: true },
  field: {
    flags: '--field <path>',
    text: 'print one value, such as text or usage.totalTokens',
    parse: parseFieldPath,
    values: ['answer', 'images[0].path', 'model', 'responseId', 'stopReason', 'text', 'usage.totalTokens'],
  },
  raw: { flags: '--raw', text: 'print the unchanged body of the reply', advanced: true },
  requireComplete: {
    flags: '--require-complete',
    text: 'exit code 11 if a limit cut the answer, or it may be incomplete',
    advanced: true,
  },
  requireModel: {
    flags: '--require-model',
    text: 'exit code 11 if another model than the requested one answers',
    advanced: true,
  },
  stdinTimeout: {
    flags: '--stdin-timeout <time>',
    text: 'how long to wait for the first byte on stdin (default: 60s)',
    parse: duration,
    advanced: true,
  },
} satisfies FlagTable;

/** The flags of recording and replaying, as they were typed. */
export interface RecordingFlags {
  record?: string;
  replay?: string;
  maxAge?: number;
}

/** The folder of `--replay`, which answers every request; undefined with `--record`, which makes it a cache. */
export function replayedFolder({ record, replay }: RecordingFlags): string | undefined {
  return record === undefined ? replay : undefined;
}

/** Whether recordings are a cache: other requests are sent and recorded. */
export function isCache({ record, replay }: RecordingFlags): boolean {
  return record !== undefined && replay !== undefined;
}

/** Throws GatewayError usage for flags that cannot be combined. */
export function checkRecordingFlags(flags: RecordingFlags): void {
  const { record, replay, maxAge } = flags;
  if (record !== undefined && replay !== undefined && resolve(record) !== resolve(replay)) {
    const folder = shellWord(replay);
    throw usageError(
      '--record and --replay name two folders; together they are a cache, which is one',
      `for a cache: --record ${folder} --replay ${folder}`,
    );
  }
  if (maxAge !== undefined && !isCache(flags)) {
    throw usageError(
      '--max-age needs a cache: --record and --replay with the same folder',
      'for example: --record recordings --replay recordings --max-age 7d',
    );
  }
}

/** Flags that print to stdout. */
export interface StdoutFlags {
  dryRun?: true;
  curl?: true;
  raw?: true;
  jsonl?: true;
  field?: readonly string[];
  code?: true;
  output?: string | undefined;
}

/** Throws GatewayError usage if two flags print to stdout, other than `--dry-run --json`. */
export function checkStdoutOwner(flags: StdoutFlags, json: boolean): void {
  const owners = [
    flags.dryRun && '--dry-run',
    flags.curl && '--curl',
    flags.raw && '--raw',
    flags.jsonl && '--jsonl',
    flags.field && '--field',
    flags.code && (flags.output ?? '-') === '-' && '--code',
    flags.output === '-' && !flags.code && '-o -',
    json && !flags.dryRun && '--json',
  ].filter((owner) => typeof owner === 'string');
  if (owners.length > 1)
    throw usageError(`${owners.join(' and ')} both write to stdout`, `keep one of them: ${owners[0]}`);
}

/** Flags that do nothing with `--raw`. */
interface RawFlags {
  raw?: boolean | undefined;
  count?: number | undefined;
  output?: string | undefined;
  sidecar?: boolean | undefined;
  preview?: boolean | undefined;
  strict?: boolean | undefined;
}

/** Throws GatewayError usage for a flag that `--raw` would ignore. */
export function checkRaw(flags: RawFlags): void {
  if (!flags.raw) return;
  if ((flags.count ?? 1) > 1)
    throw usageError('--raw prints one reply, and -n asks for several', 'leave one of them out');
  const idle = (['output', 'sidecar', 'preview', 'strict'] as const).find((name) => flags[name] !== undefined);
  if (idle === undefined) return;
  const flag = idle === 'output' ? '-o' : `--${idle}`;
  throw usageError(`--raw writes no files, so ${flag} has nothing to do`, `leave one of them out: --raw or ${flag}`);
}
