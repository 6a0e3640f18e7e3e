import type { ClientOptions } from '../../client/client-types.ts';
import {
  type Answered,
  createSender,
  type Exchanges,
  openConnections,
  type PayingSender,
  type PostOptions,
  targetOf,
  type Payment,
} from '../../client/send.ts';
import type { Target } from '../../transport/request.ts';
import { type Deadline, deadlineOnce, within } from '../../client/deadline.ts';
import { defaultTimeoutMs } from '../../clock.ts';
import { usageError } from '../../errors.ts';
import { byAuthUse, type PostOrGet } from '../../formats/format.ts';
import {
  type Credential,
  credentialsOf,
  hiddenHeaderNames,
  isUnmistakable,
  revealHeaders,
  type Secret,
} from '../../settings/redact.ts';
import { digestKey } from '../../settings/key.ts';
import type { SettingsSurvey, KeySource } from '../../settings/types.ts';
import type { Transport } from '../../transport/types.ts';
import { withSettingsHint } from './failure-hint.ts';
import { flexPolicy, openFallback } from './lane.ts';
import type { Context } from '../context.ts';
import { isCache, type RecordingFlags, replayedFolder } from '../flags/shared.ts';
import { type ConnectionFlags, originOf, readConfiguredKey, transportOptions } from './settings.ts';
import type { FetchUrl } from '../input/attachments.ts';
import { announcedEnd, logReply, logRequest, logRetry } from '../output/log.ts';

/** An open connection to the gateway, for one command. */
export interface Connection {
  /** Sends one post or GET, with retries; the deadline runs from the first on. */
  send(post: PostOrGet, own?: Partial<PostOptions>): Promise<Answered>;
  /** Pays for one request, if there is a budget. */
  pay?: PayingSender['pay'];
  /** A digest of the key and a word, by which the key is recognized. */
  keyDigest?(word: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Forms of authentication where one connection serves several uses. */
export type AuthForms = Partial<Target['auth']>;

/** The gateway, before the key is read: enough to show a request. Warns if the base URL was corrected. */
export async function readTarget(settings: SettingsSurvey, context: Context, forms?: AuthForms): Promise<Target> {
  const { target, warnings } = targetOf(gatewayOf(settings, context, forms));
  for (const warning of warnings) await context.ui.warn(warning);
  return target;
}

/** What the settings say about the gateway, in the words of the library. */
function gatewayOf(settings: SettingsSurvey, context: Context, forms?: AuthForms): ClientOptions {
  const { service, auth, headerNames, headers, allowHttp, timeoutMs } = settings;
  const plainHeaders = revealHeaders(headers.map(({ value }) => value));
  context.ui.hide(credentialsOf(settings).map(({ secret }) => secret));
  return {
    service: service.value,
    baseUrl: settings.baseUrl?.value ?? 'http://127.0.0.1',
    auth: byAuthUse((use) => forms?.[use] ?? auth.value),
    headerNames: { apiKey: headerNames.apiKey?.value, version: headerNames.version?.value },
    headers: plainHeaders,
    allowHttp: allowHttp.value,
    timeoutMs: timeoutMs.value,
  };
}

/** One of the gateways that a command asks. */
interface AskedGateway {
  settings: SettingsSurvey;
  forms?: AuthForms | undefined;
}

/**
 * Opens a connection: reads the key, or starts the local gateway for `--offline`. `readTarget`, or doctor's own check, has warned
 * of the base URL before. `deadline` is the command's time, if it may have begun.
 */
export async function openConnection(
  settings: SettingsSurvey,
  flags: ConnectionFlags,
  context: Context,
  { forms, deadline }: Pick<AskedGateway, 'forms'> & { deadline?: () => Deadline } = {},
): Promise<Connection> {
  const { connections, close } = await openConnectionsTo([{ settings, forms }], flags, context, deadline);
  return { ...(connections[0] as Connection), close };
}

/** Opens a connection to each gateway, with its own key; what is recorded goes to one place. Offline there is one. */
export async function openConnectionsTo(
  gateways: readonly AskedGateway[],
  flags: ConnectionFlags,
  context: Context,
  deadline = deadlineOnce(gateways[0]?.settings.timeoutMs.value ?? defaultTimeoutMs, context.signal),
): Promise<{ connections: Omit<Connection, 'close'>[]; close(): Promise<void> }> {
  const surveys = gateways.map(({ settings }) => settings);
  const isPaid = surveys.some(({ budget }) => budget !== undefined);
  const pays = isPaid ? await (await import('./budget.ts')).openBudgets(surveys, flags.tag, context) : [];
  const { exchanges, keyed } = await openKeyed(surveys, flags, context, deadline);
  const fallback = flags.laneFallback === 'live' ? openFallback(context) : undefined;
  const connections = gateways.map(({ settings, forms }, at) => {
    const options: ClientOptions = {
      ...gatewayOf(settings, context, forms),
      retries: flags.retries,
      retryMaxWaitMs: flags.retryMaxTime,
      retrySafeOnly: flags.retrySafeOnly,
      onRetry: (notice) => logRetry(notice, context),
      ...keyed[at],
    };
    const isFlex = settings.lane.value === 'flex';
    const policy = isFlex ? flexPolicy(flags) : {};
    const send = createSend(options, { exchanges, settings, deadline, policy }, context);
    // The local gateway has a new one each time.
    const key = settings.offline.value ? undefined : options.apiKey;
    const keyDigest = async (word: string) => key && digestKey(typeof key === 'string' ? key : await key(), word);
    return { send: isFlex && fallback ? fallback.wrap(send) : send, pay: pays[at], keyDigest };
  });
  return {
    connections,
    async close() {
      await exchanges.close();
      await fallback?.note();
    },
  };
}

/** What is asked, with the key of each gateway, and where the local one is. A replay has no key, and a cache needs none. */
interface KeyedExchanges {
  exchanges: Exchanges;
  keyed: Pick<ClientOptions, 'apiKey' | 'baseUrl'>[];
}

async function openKeyed(
  surveys: readonly SettingsSurvey[],
  flags: ConnectionFlags,
  context: Context,
  deadline: () => Deadline,
): Promise<KeyedExchanges> {
  const replayed = replayedFolder(flags);
  if (replayed !== undefined) {
    const { openReplaying } = await import('./recordings.ts');
    return { exchanges: await openReplaying(replayed, context), keyed: [] };
  }
  const transport = await openTransports(surveys, flags, context);
  const [first] = surveys;
  if (first?.offline.value) {
    const exchanges = await openExchanges(transport, flags, { context, credentials: credentialsOf(first) });
    const { openOffline } = await import('./offline.ts');
    const offline = await openOffline(exchanges, gatewayOf(first, context).headerNames);
    return { exchanges: offline.exchanges, keyed: [offline.gateway] };
  }
  const credentials: Credential[] = [];
  const keyed: KeyedExchanges['keyed'] = [];
  const keyless = new Map<string, KeySource>();
  for (const settings of surveys) {
    const isKeyless = isCache(flags) && settings.key.kind === 'missing';
    if (isKeyless) keyless.set(originOf(settings), settings.key);
    const needsKey = settings.key.kind !== 'none' && !isKeyless;
    const key = needsKey ? await within(deadline(), readOwnKey(settings, context, deadline().signal)) : undefined;
    credentials.push(...credentialsOf(settings, key));
    keyed.push(key === undefined ? {} : { apiKey: key.reveal() });
  }
  context.ui.hide(credentials.map(({ secret }) => secret));
  if (keyless.size === 0) return { exchanges: await openExchanges(transport, flags, { context, credentials }), keyed };
  const { requireKeys } = await import('./recordings.ts');
  const checked = requireKeys(transport, keyless, (source) => readConfiguredKey(source, context));
  return { exchanges: await openExchanges(checked, flags, { context, credentials }), keyed };
}

/** A key in the place of the model would be in URLs, logs and file names. Throws GatewayError usage or auth. */
async function readOwnKey(
  { key: source, model }: SettingsSurvey,
  context: Context,
  signal: AbortSignal,
): Promise<Secret> {
  const key = await readConfiguredKey(source, context, signal);
  if (model?.value.includes(key.reveal()) && isUnmistakable(key.reveal()))
    throw usageError(`the model (${model.from}) is the key`, 'give the name of a model: -m <model>');
  return key;
}

interface SendParts {
  exchanges: Exchanges;
  settings: SettingsSurvey;
  deadline: () => Deadline;
  policy: PostOptions['policy'];
}

/** What one command sends, with one deadline for all of it. */
function createSend(
  options: ClientOptions,
  { exchanges, settings, deadline, policy }: SendParts,
  context: Context,
): Connection['send'] {
  const hidden = hiddenHeaderNames(settings);
  let isAnnounced = false;
  const sender = createSender(options, {
    exchanges,
    onRequest(request) {
      context.report.attempts++;
      logRequest(request, hidden, context);
    },
    onReply(reply) {
      if (reply.recordedAt !== undefined) {
        context.report.attempts--;
        context.report.fromCache = true;
      }
      logReply(reply, context);
      const end = isAnnounced ? undefined : announcedEnd(reply);
      if (end === undefined) return;
      isAnnounced = true;
      void context.ui.warn(end);
    },
  });
  return (post, own = {}) => {
    const payment = own.payment && countUnpaid(own.payment, context);
    const limits = { deadline: own.deadline ?? deadline(), policy: { ...policy, ...own.policy } };
    return sender.send(post, { ...own, ...limits, payment }).catch(async (error: unknown) => {
      throw await withSettingsHint(error, post, settings, context);
    });
  };
}

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

/** Sends requests over connections; with `--record` they are kept, without the credentials. Throws GatewayError usage. */
export async function openExchanges(
  transport: Transport,
  { record, ...flags }: RecordingFlags,
  options: { context: Context; credentials: readonly Credential[] },
): Promise<Exchanges> {
  if (record === undefined) return { at: () => transport.exchange, close: () => transport.close() };
  const { openRecording } = await import('./recordings.ts');
  return openRecording(transport, { ...flags, record }, options);
}

/** An attempt that is not paid for is not sent. */
function countUnpaid<P extends Pick<Payment, 'reserve'>>(payment: P, { report }: Context): P {
  return {
    ...payment,
    reserve: (signal) =>
      payment.reserve(signal).catch((error: unknown) => {
        report.attempts--;
        throw error;
      }),
  };
}

/** What fetches the URLs of a command, of one job, or of one turn. Without a deadline they are fetched later. */
export type OpenFetchUrl = (
  settings: Pick<SettingsSurvey, 'offline' | 'proxy' | 'systemCa'>,
  deadline?: () => Deadline,
) => FetchUrl;

/** Makes what fetches URLs for one command. Its code is loaded with the first URL. */
export function openFetchUrls(flags: ConnectionFlags, context: Context): OpenFetchUrl {
  let opened: Promise<OpenFetchUrl> | undefined;
  return (settings, deadline) => async (url, label) => {
    opened ??= import('./fetch-urls.ts').then(({ urlFetcher }) => urlFetcher(flags, context));
    return (await opened)(settings, deadline)(url, label);
  };
}
