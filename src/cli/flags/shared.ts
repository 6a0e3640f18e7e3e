import type { Command } from 'commander';
import {
  addFlags,
  amount,
  type FlagTable,
  type FlagValues,
  keepJsonOrPath,
  keepPath,
  notAFlag,
  oneOfWords,
  passwordless,
  tag,
  whole,
  writePair,
} from './flag.ts';
import { fieldFlags } from './fields.ts';
import { parseFieldPath } from './set.ts';
import { formatDuration, moveBudget, parseAge, parseDuration } from '../settings/values.ts';
import { isCredential } from '../settings/redact.ts';
import { toAttribute, getLongFlag } from '../settings/sources.ts';
import { type SettingDefinition, type SettingName, settingNames, settings } from '../settings/table.ts';
import type { Attribute } from '../settings/types.ts';
import type { Use } from '../../library/index.ts';

/** Readers of flags by the kind of their setting. Other kinds are read when the settings are resolved. */
const parsers = {
  budget: () => ({ parse: notAFlag, kept: moveBudget }),
  choice: ({ values = [] }: SettingDefinition) => ({ parse: oneOfWords(values), values }),
  count: () => ({ parse: whole(1) }),
  headers: () => ({ kept: keepHeader }),
  path: () => ({ kept: keepPath }),
  prices: () => ({ parse: notAFlag, kept: keepJsonOrPath }),
  proxy: () => ({ parse: passwordless }),
  text: () => ({ parse: notAFlag }),
  url: () => ({ kept: keepAddress }),
} satisfies { [kind in SettingDefinition['kind']]?: (row: SettingDefinition) => object };

/** A query can hold a key: an address is kept without its query, which has to be typed again. */
function keepAddress(word: string): string {
  return word.split('?', 1)[0] as string;
}

/**
 * The form in which a header is kept: a file by its path, a harmless header as it is, a header that may hold a secret by its name
 * only.
 */
function keepHeader(word: string, move: (path: string) => string): string {
  if (word.startsWith('@')) return `@${move(word.slice(1))}`;
  const name = word.split(':', 1)[0] as string;
  return isCredential(name, word.slice(name.length)) ? name : word;
}

type SettingRows = typeof settings;

/** The flag of a row of the settings table. */
type SettingFlag<R> = R extends { flag: infer F extends string; kind: infer K }
  ? { flags: F; text: string } & Pick<R, keyof R & ('advanced' | 'repeat')> &
      (K extends keyof typeof parsers ? ReturnType<(typeof parsers)[K]> : object)
  : never;

type GroupFlags<G> = {
  [N in SettingName as SettingRows[N] extends { group: G; flag: infer F } ? Attribute<F> : never]: SettingFlag<
    SettingRows[N]
  >;
};

/** The flags of one group of settings, by the names of their values in commander. */
export function settingFlags<G extends SettingDefinition['group']>(group: G): GroupFlags<G> {
  const rows = settingNames.filter((name) => (settings[name] as SettingDefinition).group === group);
  const table = rows.map((name) => {
    const { flag: flags = '', help: text = '', advanced, repeat, kind, ...row }: SettingDefinition = settings[name];
    const read = kind in parsers ? parsers[kind as keyof typeof parsers]({ kind, ...row }) : {};
    const flag = { flags, text, ...(advanced && { advanced }), ...(repeat && { repeat }), ...read };
    return [toAttribute(getLongFlag(name)), flag];
  });
  return Object.fromEntries(table) as GroupFlags<G>;
}

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

/** Flags for the place of a request and the way to it. */
export const connectionFlags = {
  model,
  service,
  baseUrl,
  apiKeyFile,
  apiKey: { flags: '--api-key [value]', text: 'refused: a key in argv is public', hidden: true, kept: 'never' },
  auth,
  header,
  headerNames,
  proxy,
  systemCa,
  cacert: {
    flags: '--cacert <file>',
    text: 'also trust the certificate authorities in this PEM file',
    advanced: true,
    kept: keepPath,
  },
  clientCert: {
    flags: '--client-cert <file>',
    text: 'client certificate for mutual TLS, a PEM file',
    advanced: true,
    kept: keepPath,
  },
  clientKey: {
    flags: '--client-key <file>',
    text: 'private key of the client certificate, a PEM file',
    advanced: true,
    kept: keepPath,
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
    parse: parseDuration,
    write: formatDuration,
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
    kept: keepPath,
    advanced: true,
  },
  replay: {
    flags: '--replay <dir>',
    text: 'answer from a folder that --record wrote: no key, no network; with --record too: send only what is not there',
    parse: notAFlag,
    kept: keepPath,
    advanced: true,
  },
  maxAge: {
    flags: '--max-age <time>',
    text: 'with --record and --replay: send again what is older, such as 7d or 12h',
    parse: parseAge,
    write: formatDuration,
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
    parse: oneOfWords(['live']),
    values: ['live'],
    advanced: true,
  },
  tag: {
    flags: '--tag <key=value>',
    text: 'write this into the ledger of the budget, and into the result',
    parse: tag,
    write: writePair,
    repeat: true,
    advanced: true,
  },
} satisfies FlagTable;

/** A limit of costs; each command has its own text. */
export const maxCost = { flags: '--max-cost <amount>', parse: amount } as const;

/** A prompt by its name; `batch` has a template for its rows. */
const templateFlags = {
  template: {
    flags: '-t, --template <name>',
    text: 'begin with a prompt of prompts list, or of a file',
    parse: notAFlag,
  },
} satisfies FlagTable;

/** Flags that choose the output, and whether a request is sent. */
export const outputFlags = {
  dryRun: { flags: '--dry-run', text: 'print the request and do not send it; input URLs are fetched', kept: 'never' },
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
    text: 'exit code 11 if a model other than the requested one answers',
    advanced: true,
  },
  requireAlive: {
    flags: '--require-alive <time>',
    text: 'look the model up first: exit code 11 before anything is sent if it ends within this time, such as 30d',
    parse: parseAge,
    write: formatDuration,
    advanced: true,
  },
  stdinTimeout: {
    flags: '--stdin-timeout <time>',
    text: 'how long to wait for the first byte on stdin (default: 60s)',
    parse: parseDuration,
    advanced: true,
  },
} satisfies FlagTable;

/** Adds the flags of every command that asks a model, after its own: fields of its request first. */
export function addAskFlags(command: Command, use: Use): void {
  addFlags(command, 'Request', { ...fieldFlags('request', use), ...templateFlags });
  addFlags(command, 'Connection', connectionFlags);
  addFlags(command, 'Costs', priceFlags);
  addFlags(command, 'Output', outputFlags);
}

/** The flags of recording and replaying, as they were typed. */
export type RecordingFlags = Pick<FlagValues<typeof connectionFlags>, 'record' | 'replay' | 'maxAge'>;

/** The folder of `--replay`, which answers every request; undefined with `--record`, which makes it a cache. */
export function replayedFolder({ record, replay }: RecordingFlags): string | undefined {
  return record === undefined ? replay : undefined;
}

/** Whether recordings are a cache: other requests are sent and recorded. */
export function isCache({ record, replay }: RecordingFlags): boolean {
  return record !== undefined && replay !== undefined;
}
