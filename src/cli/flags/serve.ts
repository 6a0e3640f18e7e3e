import { usageError } from '../../errors.ts';
import { type FlagTable, notAFlag } from './flag.ts';
import { connectionFlags } from './shared.ts';
import { quote, whole } from './values.ts';

/** Flags of `serve`. Those that other commands have too mean the same here, seen from the other end. */
export const serveFlags = {
  port: { flags: '--port <n>', text: 'port, 0 for a free one (8787; with a command 0)', parse: port },
  host: { flags: '--host <address>', text: 'address to listen on (127.0.0.1)' },
  allowHost: {
    flags: '--allow-host <name>',
    text: 'name or address by which other machines may call it',
    parse: allowedHost,
    repeat: true,
  },
  apiKeyFile: { ...connectionFlags.apiKeyFile, text: 'file with the key that callers must show (a fresh one)' },
  headerNames: connectionFlags.headerNames,
  service: { ...connectionFlags.service, text: 'be one service: its headers, paths, lists and words of errors' },
  vendorEnv: { flags: '--vendor-env', text: 'export what the SDKs of Gemini and Anthropic read, too' },
  specOnly: { flags: '--spec-only', text: 'accept only what the specification says' },
  pace: { flags: '--pace <ms>', text: 'wait between the deltas of a stream', parse: whole(0, 60_000) },
  faultDelay: { flags: '--fault-delay <ms>', text: 'how long fault-slow waits (10000)', parse: whole(0, 600_000) },
  upstream: {
    flags: '--upstream <profiles>',
    text: "pass everything on to a profile's gateway, with its key; of two, each has a format",
    parse: notAFlag,
    repeat: true,
  },
  record: { ...connectionFlags.record, text: 'keep what upstream answers in a folder, without the key' },
  replay: { ...connectionFlags.replay, text: 'answer from what was recorded, chunk for chunk and in time' },
  replaySpeed: connectionFlags.replaySpeed,
  proxy: connectionFlags.proxy,
  systemCa: connectionFlags.systemCa,
  cacert: connectionFlags.cacert,
  clientCert: connectionFlags.clientCert,
  clientKey: connectionFlags.clientKey,
} satisfies FlagTable;

function port(word: string): number {
  if (/^\d{1,5}$/.test(word) && Number(word) <= 65_535) return Number(word);
  throw usageError(
    `--port takes a whole number from 0 to 65535, not ${quote(word)}`,
    'for example: --port 8787, or --port 0 for a free one',
  );
}

/** A host as callers name it, in the form of a Host header. Throws GatewayError usage. */
function allowedHost(word: string): string {
  const host = /^[\da-f]*:[\da-f:.]*:[\da-f.]*$/i.test(word) ? `[${word}]` : word;
  const [, name = '', port = ''] = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.exec(host) ?? [];
  if (name !== '' && URL.canParse(`http://${name}${port}`)) return `${new URL(`http://${name}`).hostname}${port}`;
  throw usageError(
    `--allow-host takes a host name or an address, not ${quote(word)}`,
    'for example: --allow-host devbox.lan, or --allow-host 192.168.1.20',
  );
}
