import { openConnections, type Exchanges } from '../../client/connection.ts';
import { usageError } from '../../errors.ts';
import type { SettingsSurvey } from '../../settings/types.ts';
import type { Transport, TransportOptions } from '../../transport/types.ts';
import type { Context } from '../context.ts';
import type { RecordingFlags } from '../flags/shared.ts';
import { quote } from '../flags/flag.ts';
import { readUserFile } from '../input/input-files.ts';
import type { Credential } from './connection.ts';
import type { ConnectionFlags } from './settings.ts';

/** The way to each gateway, by its own proxy and its own certificates. */
export async function openTransports(
  gateways: readonly (Parameters<typeof transportOptions>[0] & Pick<SettingsSurvey, 'baseUrl'>)[],
  flags: Parameters<typeof transportOptions>[1],
  context: Context,
): Promise<Transport> {
  const ways = new Map(gateways.map((settings) => [originOf(settings), settings]));
  for (const { proxy, systemCa, baseUrl } of gateways) {
    const way = ways.get(originOf({ baseUrl }));
    if (way?.proxy?.value === proxy?.value && way?.systemCa.value === systemCa.value) continue;
    throw usageError('two profiles reach the same host in different ways', 'give both the same proxy and systemCa');
  }
  const opened = new Map<string, Transport>();
  for (const [origin, settings] of ways) {
    opened.set(origin, await openConnections(await transportOptions(settings, flags, context)));
  }
  const [only] = opened.values();
  if (only !== undefined && opened.size === 1) return only;
  return {
    exchange: (request, options) => (opened.get(request.url.origin) as Transport).exchange(request, options),
    close: async () => void (await Promise.all([...opened.values()].map((transport) => transport.close()))),
  };
}

/** What is asked over connections; with `--record` it is kept, without the credentials. Throws GatewayError usage. */
export async function openExchanges(
  transport: Transport,
  { record, ...flags }: RecordingFlags,
  asked: { context: Context; credentials: readonly Credential[] },
): Promise<Exchanges> {
  if (record === undefined) return { at: () => transport.exchange, close: () => transport.close() };
  const { openRecording } = await import('./recordings.ts');
  return openRecording(transport, { ...flags, record }, asked);
}

/** Scheme and host of the gateway. */
export function originOf({ baseUrl }: Pick<SettingsSurvey, 'baseUrl'>): string {
  return new URL(baseUrl?.value ?? 'http://127.0.0.1').origin;
}

/** How to connect; the files that flags name are read. */
export async function transportOptions(
  { proxy, systemCa, offline }: Pick<SettingsSurvey, 'proxy' | 'systemCa' | 'offline'>,
  flags: Pick<ConnectionFlags, 'cacert' | 'clientCert' | 'clientKey'>,
  { io }: Context,
): Promise<TransportOptions> {
  if ((flags.clientCert === undefined) !== (flags.clientKey === undefined)) {
    throw usageError('--client-cert and --client-key go together', 'give both PEM files');
  }
  const { cacert, clientCert, clientKey } = flags;
  return {
    env: io.env,
    proxy,
    systemCa: systemCa.value && !offline.value,
    ca: cacert === undefined ? undefined : await readCertificate('--cacert', cacert, io.cwd),
    clientCert: clientCert === undefined ? undefined : await readCertificate('--client-cert', clientCert, io.cwd),
    clientKey: clientKey === undefined ? undefined : await readText('--client-key', clientKey, io.cwd),
  };
}

/** Throws GatewayError usage for a file without a certificate. */
async function readCertificate(flag: string, path: string, cwd: string): Promise<string> {
  const { requireCertificate } = await import('../../transport/trust.ts');
  const pem = await readText(flag, path, cwd);
  requireCertificate(pem, `${flag} ${quote(path)} contains`);
  return pem;
}

async function readText(flag: string, path: string, cwd: string): Promise<string> {
  return new TextDecoder().decode(await readUserFile(flag, path, cwd));
}
