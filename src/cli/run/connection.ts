import { resolve } from 'node:path';
import { type ConnectionOptions, requireCertificate, usageError } from '../../library/index.ts';
import { readKey } from '../settings/key.ts';
import type { Secret } from '../settings/redact.ts';
import type { KeySource, PartialSettings } from '../settings/types.ts';
import type { Context } from '../context.ts';
import { quoteWord } from '../flags/flag.ts';
import { readFileOrPipe, readTextFlag, readUserFile } from '../input/input-files.ts';
import type { ConnectionFlags } from './settings.ts';

/** Scheme and host of the gateway. */
export function getGatewayOrigin({ baseUrl }: Pick<PartialSettings, 'baseUrl'>): string {
  return new URL(baseUrl ?? 'http://127.0.0.1').origin;
}

/** The settings that decide how to connect. */
export type NetworkSettings = Pick<PartialSettings, 'proxy' | 'systemCa' | 'offline' | 'origins'>;

/** The flags of certificates. */
export type CertificateFlags = Pick<ConnectionFlags, 'cacert' | 'clientCert' | 'clientKey'>;

/** The options of a connection; the files that flags name are read. Throws GatewayError usage. */
export async function connectionOptions(
  { proxy, systemCa, offline, origins }: NetworkSettings,
  flags: CertificateFlags,
  { io }: Context,
): Promise<ConnectionOptions> {
  const { cacert, clientCert, clientKey } = flags;
  if ((clientCert === undefined) !== (clientKey === undefined))
    throw usageError('--client-cert and --client-key go together', 'give both PEM files');
  return {
    env: io.env,
    proxy: proxy === undefined ? undefined : { value: proxy, from: origins.proxy?.from ?? '' },
    systemCa: systemCa && !offline,
    ca: cacert === undefined ? undefined : await readCertificate('--cacert', cacert, io.cwd),
    clientCert: clientCert === undefined ? undefined : await readCertificate('--client-cert', clientCert, io.cwd),
    clientKey: clientKey === undefined ? undefined : await readFlagFile('--client-key', clientKey, io.cwd),
  };
}

/** Throws GatewayError usage for a file without a certificate. */
async function readCertificate(flag: string, path: string, cwd: string): Promise<string> {
  const pem = await readFlagFile(flag, path, cwd);
  requireCertificate(pem, `${flag} ${quoteWord(path)} contains`);
  return pem;
}

/** A text of which only the plain characters matter: in comments, certificates have others. */
async function readFlagFile(flag: string, path: string, cwd: string): Promise<string> {
  return new TextDecoder().decode(await readUserFile(flag, path, cwd));
}

/** Reads the key from its place in the settings. Throws GatewayError auth. */
export function readConfiguredKey(source: KeySource, context: Context, signal?: AbortSignal): Promise<Secret> {
  return readKey(source, {
    signal,
    readFile: async (path) => Buffer.from(await readFileOrPipe(resolve(context.io.cwd, path))).toString(),
    readStdin: () => readKeyFromStdin(context),
  });
}

const keysFromStdin = new WeakMap<Context['stdin'], Promise<string>>();

/** The key is read once: stdin ends, and several connections may need the key. */
function readKeyFromStdin(context: Context): Promise<string> {
  const read = keysFromStdin.get(context.stdin) ?? readTextFlag('--api-key-file', '-', context);
  keysFromStdin.set(context.stdin, read);
  return read;
}
