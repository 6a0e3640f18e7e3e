import { usageError } from '../../library/index.ts';
import { type FlagTable, notAFlag, oneOfWords, quoteWord, whole } from './flag.ts';
import { connectionFlags, priceFlags } from './shared.ts';
import { parseDuration } from '../settings/values.ts';

/** The services that the local gateway can stand for; `gateway` is itself. */
const served = ['gateway', 'gemini', 'anthropic', 'openai'] as const;

/** Flags of `serve`. A flag that other commands have too has the same meaning, seen from the server. */
export const serveFlags = {
  port: { flags: '--port <n>', text: 'TCP port; 0 is any free one (default: 8787, with a command 0)', parse: port },
  host: { flags: '--host <address>', text: 'address to listen on (default: 127.0.0.1)', advanced: true },
  allowHost: {
    flags: '--allow-host <name>',
    text: 'host name or address that other machines may use to reach it',
    parse: allowedHost,
    repeat: true,
    advanced: true,
  },
  allowOrigin: {
    flags: '--allow-origin <origin>',
    text: 'origin of a web page that may call it from a browser, such as http://localhost:5173',
    parse: allowedOrigin,
    repeat: true,
    advanced: true,
  },
  apiKeyFile: {
    ...connectionFlags.apiKeyFile,
    text: 'file with the key that clients must send (default: a new random key)',
  },
  headerNames: connectionFlags.headerNames,
  service: {
    flags: '--service <name>',
    text: 'be this service alone: its paths, key headers, models and the shape of its errors',
    parse: oneOfWords(served),
    values: served,
  },
  vendorEnv: {
    flags: '--vendor-env',
    text: 'also set the variables that the SDKs of Gemini, Anthropic and OpenAI read',
  },
  pace: {
    flags: '--pace <ms>',
    text: 'wait between two events of a stream, 0 to 60000 ms',
    parse: whole(0, 60_000),
    advanced: true,
  },
  faultDelay: {
    flags: '--fault-delay <ms>',
    text: 'how long the model fault-slow waits, up to 600000 ms (default: 10000)',
    parse: whole(0, 600_000),
    advanced: true,
  },
  batchDelay: {
    flags: '--batch-delay <duration>',
    text: 'how long a batch of the batch APIs takes, such as 30s or 5m (default: 500ms)',
    parse: parseDuration,
    advanced: true,
  },
  upstream: {
    flags: '--upstream <profile>',
    text: 'forward all requests to the gateway of this profile or service, with its key',
    parse: notAFlag,
  },
  budget: { ...priceFlags.budget, text: 'limit of costs that runs share, for what --upstream passes on' },
  prices: priceFlags.prices,
  tag: { ...priceFlags.tag, text: 'write this into the ledger of the budget' },
  record: { ...connectionFlags.record, text: 'write what --upstream answers to a folder, without the key' },
  replay: {
    ...connectionFlags.replay,
    text: 'answer from a folder that --record wrote; with --upstream and --record too: forward only what is not there',
  },
  maxAge: connectionFlags.maxAge,
  proxy: connectionFlags.proxy,
  systemCa: connectionFlags.systemCa,
  cacert: connectionFlags.cacert,
  clientCert: connectionFlags.clientCert,
  clientKey: connectionFlags.clientKey,
} as const satisfies FlagTable;

function port(word: string): number {
  if (/^\d{1,5}$/.test(word) && Number(word) <= 65_535) return Number(word);
  throw usageError(
    `--port takes a whole number from 0 to 65535, not ${quoteWord(word)}`,
    'for example: --port 8787, or --port 0 for a free one',
  );
}

/** A host, in the form of a Host header. Throws GatewayError usage. */
function allowedHost(word: string): string {
  const host = /^[\da-f]*:[\da-f:.]*:[\da-f.]*$/i.test(word) ? `[${word}]` : word;
  const [, name = '', port = ''] = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.exec(host) ?? [];
  if (name !== '' && URL.canParse(`http://${name}${port}`)) return `${new URL(`http://${name}`).hostname}${port}`;
  throw usageError(
    `--allow-host takes a host name or an address, not ${quoteWord(word)}`,
    'for example: --allow-host devbox.lan, or --allow-host 192.168.1.20',
  );
}

/** An origin as a browser sends it. Throws GatewayError usage. */
function allowedOrigin(word: string): string {
  const origin = word.toLowerCase().replace(/\/$/, '');
  if (/^[a-z][a-z\d+.-]*:\/\/[^\s/*?#@]+$/.test(origin) && URL.canParse(origin)) return origin;
  throw usageError(
    `--allow-origin takes the origin of a web page, not ${quoteWord(word)}`,
    'for example: --allow-origin http://localhost:5173; repeat the flag for more',
  );
}
