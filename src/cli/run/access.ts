import {
  type Connection,
  type Deadline,
  type FetchWrapper,
  type GatewayClientOptions,
  openConnection,
  usageError,
  within,
} from '../../library/index.ts';
import { type Credential, isUnmistakable, listCredentials, type Secret } from '../settings/redact.ts';
import type { PartialSettings } from '../settings/types.ts';
import type { Context } from '../context.ts';
import { isCache, type RecordingFlags, replayedFolder } from '../flags/shared.ts';
import {
  type CertificateFlags,
  connectionOptions,
  getGatewayOrigin,
  type NetworkSettings,
  readConfiguredKey,
} from './connection.ts';
import type { ConnectionFlags } from './settings.ts';

/** The way on which the requests of a command reach its gateways. */
export interface Access {
  /** Absent if recordings answer everything. */
  connection: Connection | undefined;
  /** The wrappers that each exchange passes through, the outermost first. */
  wrappers: readonly FetchWrapper[];
  /** The key of each gateway, if it needs one here; of the local gateway its address, too. */
  endpoints: readonly Pick<GatewayClientOptions, 'apiKey' | 'baseUrl'>[];
  close(): Promise<void>;
}

/** Opens the access to one or several gateways: recordings, the local gateway of `--offline`, or the gateways with their keys. */
export async function openAccess(
  allSettings: readonly PartialSettings[],
  flags: ConnectionFlags,
  context: Context,
  options: { connection?: Connection | undefined; deadline: () => Deadline },
): Promise<Access> {
  const replayed = replayedFolder(flags);
  if (replayed !== undefined) return openReplayedAccess(replayed, context);
  const connection = options.connection ?? (await openOwnConnections(allSettings, flags, context));
  const [first] = allSettings;
  if (first?.offline) return openLocalAccess(first, connection, flags, context);
  return openKeyedAccess(allSettings, flags, { connection, context, deadline: options.deadline });
}

/** A replay sends nothing, and has no key. */
async function openReplayedAccess(folder: string, context: Context): Promise<Access> {
  const { openReplaying } = await import('./recordings.ts');
  const replay = await openReplaying(folder, context);
  return { connection: undefined, wrappers: [() => replay], endpoints: [], close: async () => undefined };
}

/** Starts the local gateway of `--offline`, which ends with the access to it. */
async function openLocalAccess(
  settings: PartialSettings,
  connection: Connection,
  flags: RecordingFlags,
  context: Context,
): Promise<Access> {
  const recordings = await openRecordings(flags, { context, credentials: listCredentials(settings) });
  const { startOffline } = await import('./offline.ts');
  const local = await startOffline({ headerNames: settings.headerNames });
  return {
    connection,
    wrappers: [giveBase(new URL('http://offline')), ...recordings.wrappers],
    endpoints: [{ baseUrl: local.url, apiKey: local.key }],
    async close() {
      await recordings.close();
      await connection.close();
      await local.close();
    },
  };
}

/** Reads the key of each gateway. */
async function openKeyedAccess(
  allSettings: readonly PartialSettings[],
  flags: RecordingFlags,
  { connection, context, deadline }: { connection: Connection; context: Context; deadline: () => Deadline },
): Promise<Access> {
  // A cache answers without a key.
  const keyless = isCache(flags) ? allSettings.filter(({ key }) => key.kind === 'missing') : [];
  const keys: (Secret | undefined)[] = [];
  for (const settings of allSettings) {
    const needsKey = settings.key.kind !== 'none' && !keyless.includes(settings);
    keys.push(needsKey ? await within(deadline(), readOwnKey(settings, context, deadline().signal)) : undefined);
  }
  const credentials = allSettings.flatMap((settings, at) => listCredentials(settings, keys[at]));
  context.ui.hide(credentials.map(({ secret }) => secret));
  const recordings = await openRecordings(flags, { context, credentials });
  return {
    connection,
    wrappers: keyless.length === 0 ? recordings.wrappers : [...recordings.wrappers, requireKeys(keyless, context)],
    endpoints: keys.map((key) => ({ apiKey: key?.reveal() })),
    async close() {
      await recordings.close();
      await connection.close();
    },
  };
}

/** Names the gateway for recordings: the port of the local one changes with each run. */
function giveBase(base: URL): FetchWrapper {
  return (next) => (request, call) => next({ ...request, base }, call);
}

/** A key in the place of the model would be in URLs, logs and file names. Throws GatewayError usage or auth. */
async function readOwnKey(
  { key: source, model, origins }: PartialSettings,
  context: Context,
  signal: AbortSignal,
): Promise<Secret> {
  const key = await readConfiguredKey(source, context, signal);
  if (model?.includes(key.reveal()) && isUnmistakable(key.reveal()))
    throw usageError(`the model (${origins.model?.from}) is the key`, 'give the name of a model: -m <model>');
  return key;
}

/** Recorded replies need no key, so a missing key is an error only when a request goes out. */
function requireKeys(keyless: readonly PartialSettings[], context: Context): FetchWrapper {
  const sources = new Map(keyless.map((settings) => [getGatewayOrigin(settings), settings.key]));
  return (next) => async (request, call) => {
    const source = sources.get(request.url.origin);
    if (source !== undefined) await readConfiguredKey(source, context);
    return next(request, call);
  };
}

/** The address of a gateway, and how to connect to it. */
type Reached = NetworkSettings & Pick<PartialSettings, 'baseUrl'>;

/** Connections to each gateway, by its own proxy and its own certificates. */
export async function openOwnConnections(
  gateways: readonly Reached[],
  flags: CertificateFlags,
  context: Context,
): Promise<Connection> {
  const [only, ...others] = gateways;
  if (only === undefined || others.length > 0) return openSeveralConnections(gateways, flags, context);
  return openConnection(await connectionOptions(only, flags, context));
}

async function openSeveralConnections(
  gateways: readonly Reached[],
  flags: CertificateFlags,
  context: Context,
): Promise<Connection> {
  const byOrigin = new Map(gateways.map((settings) => [getGatewayOrigin(settings), settings]));
  for (const { proxy, systemCa, baseUrl } of gateways) {
    const other = byOrigin.get(getGatewayOrigin({ baseUrl }));
    if (other?.proxy === proxy && other?.systemCa === systemCa) continue;
    throw usageError('two profiles reach the same host in different ways', 'give both the same proxy and systemCa');
  }
  const opened = new Map<string, Connection>();
  for (const [origin, settings] of byOrigin) {
    opened.set(origin, await openConnection(await connectionOptions(settings, flags, context)));
  }
  return {
    fetch: (request, call) => (opened.get(request.url.origin) as Connection).fetch(request, call),
    close: async () => void (await Promise.all([...opened.values()].map((connection) => connection.close()))),
  };
}

/** With `--record`, requests and replies are recorded without credentials. Throws GatewayError usage. */
export async function openRecordings(
  { record, ...flags }: RecordingFlags,
  options: { context: Context; credentials: readonly Credential[] },
): Promise<Pick<Access, 'wrappers' | 'close'>> {
  if (record === undefined) return { wrappers: [], close: async () => undefined };
  const { openRecording } = await import('./recordings.ts');
  const recorder = await openRecording({ ...flags, record }, options);
  return { wrappers: [recorder.record], close: () => recorder.close() };
}
