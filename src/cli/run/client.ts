import {
  type AuthForm,
  type AuthUse,
  byAuthUse,
  type ClientEvent,
  type Connection,
  type Deadline,
  deadlineOnce,
  defaultTimeoutMs,
  type FetchWrapper,
  type GatewayClient,
  type GatewayClientOptions,
  joinPayments,
  type Listener,
  openGatewayClient,
  type Payments,
  readEndpoint,
  type Resent,
} from '../../library/index.ts';
import { hiddenHeaderNames, listCredentials, revealHeaders } from '../settings/redact.ts';
import type { PartialSettings } from '../settings/types.ts';
import { openAccess } from './access.ts';
import { withSettingsHint } from './failure-hint.ts';
import type { Context } from '../context.ts';
import { isCache, type RecordingFlags } from '../flags/shared.ts';
import { type ConnectionFlags } from './settings.ts';
import { type KeptMemory, openMemory } from './memory.ts';
import { modelListener } from './model-notices.ts';
import { logReply, logRequest, logRetry } from '../output/log.ts';

/** Forms of authentication for a client that serves several uses. */
export type AuthForms = Partial<Record<AuthUse, AuthForm>>;

/** Warns if the base URL was corrected. Throws GatewayError usage for a URL that cannot be corrected. */
export async function checkAddress(settings: PartialSettings, context: Context): Promise<void> {
  for (const warning of readEndpoint(endpointOptions(settings, context)).warnings) await context.ui.warn(warning);
}

/** A client before its key is read and anything is connected: enough to show a request. Warns and throws as `checkAddress`. */
export async function createDryClient(
  settings: PartialSettings,
  context: Context,
  forms?: AuthForms,
): Promise<GatewayClient> {
  await checkAddress(settings, context);
  const apiKey = settings.key.kind === 'none' ? undefined : refuseKey;
  const memory = await openClientMemory(settings, {}, context);
  return openGatewayClient({ ...endpointOptions(settings, context, forms), apiKey, memory });
}

function openClientMemory(settings: PartialSettings, flags: RecordingFlags, context: Context): Promise<KeptMemory> {
  const isPlayed = (flags.record ?? flags.replay) !== undefined && !isCache(flags);
  return openMemory(settings, { learns: !isPlayed && !settings.offline }, context);
}

/** Reads no key: it takes the place of the key's reader if a request is only shown. */
async function refuseKey(): Promise<never> {
  throw new Error('a request that is only shown was sent');
}

/** The options of the library for the settings of the gateway. */
function endpointOptions(settings: PartialSettings, context: Context, forms?: AuthForms): GatewayClientOptions {
  const { service, format, auth, headerNames, headers, allowHttp } = settings;
  context.ui.hide(listCredentials(settings).map(({ secret }) => secret));
  return {
    service,
    format,
    baseUrl: settings.baseUrl ?? 'http://127.0.0.1',
    auth: byAuthUse((use) => forms?.[use] ?? auth),
    headerNames,
    headers: revealHeaders(headers),
    allowHttp,
  };
}

/** The settings of one of the gateways that a command asks. */
interface AskedGateway {
  settings: PartialSettings;
  forms?: AuthForms | undefined;
}

/** The flags that say how requests are sent; commands that ask a model have one more. */
type SendingFlags = ConnectionFlags & { requireAlive?: number | undefined };

interface OpenOptions {
  /** The deadline of the command, if its time may have begun. */
  deadline?: () => Deadline;
  /** A connection in place of the client's own. */
  connection?: Connection | undefined;
  /** The limit of what the requests of the command cost. */
  limit?: Payments | undefined;
  /** Counts the requests that are sent. */
  counter?: { attempts: number } | undefined;
}

/**
 * Opens a client: reads the key, or starts the local gateway for `--offline`. `checkAddress`, or doctor's own check, has warned of
 * the base URL before.
 */
export async function openClient(
  settings: PartialSettings,
  flags: SendingFlags,
  context: Context,
  { forms, ...options }: Pick<AskedGateway, 'forms'> & OpenOptions = {},
): Promise<GatewayClient> {
  const { clients, close } = await openClients([{ settings, forms }], flags, context, options);
  return { ...(clients[0] as GatewayClient), close };
}

/**
 * Opens a client for each gateway, with its own key. The clients share connections and one folder of recordings. Offline there is
 * only one client.
 */
export async function openClients(
  gateways: readonly AskedGateway[],
  flags: SendingFlags,
  context: Context,
  options: OpenOptions = {},
): Promise<{ clients: GatewayClient[]; close(): Promise<void> }> {
  const allSettings = gateways.map(({ settings }) => settings);
  const { deadline = deadlineOnce(allSettings[0]?.timeoutMs ?? defaultTimeoutMs, context.signal) } = options;
  const isPaid = allSettings.some(({ budget }) => budget !== undefined);
  const payments = isPaid ? await (await import('./budget.ts')).openSharedBudgets(allSettings, flags.tag, context) : [];
  const access = await openAccess(allSettings, flags, context, { connection: options.connection, deadline });
  const memories = await Promise.all(allSettings.map((settings) => openClientMemory(settings, flags, context)));
  const tellCorrection = tellCorrectionsOnce(context);
  let fallbacks = 0;
  const tellResent = (event: Resent): Promise<void> | undefined => {
    if (event.by === 'live-lane') fallbacks++;
    return event.by === 'correction' ? tellCorrection(event) : undefined;
  };
  const clients = gateways.map(({ settings, forms }, at) =>
    openGatewayClient({
      ...endpointOptions(settings, context, forms),
      ...access.endpoints[at],
      connection: access.connection,
      wrappers: context.ui.isVerbose ? [logExchange(settings, context), ...access.wrappers] : access.wrappers,
      payments: joinPayments([options.limit, payments[at]]),
      memory: memories[at],
      ...retryOptions(settings, flags),
      aliveMs: flags.requireAlive,
      laneFallback: flags.laneFallback,
      onEvent: createListener(settings, { counter: options.counter, tellResent }, context),
      explain(error, request) {
        addAttempts(options.counter, error.details.attempts);
        return withSettingsHint(error, request, settings, context);
      },
    }),
  );
  return {
    clients,
    async close() {
      await access.close();
      for (const memory of memories) await memory.close();
      const requests = fallbacks === 1 ? '1 request was' : `${fallbacks} requests were`;
      if (fallbacks > 0) await context.ui.note(`${requests} sent at full price: the flex lane stayed busy`);
    },
  };
}

/** The service refuses requests of the flex lane while it is busy: they are retried for long. */
function retryOptions(
  { lane }: PartialSettings,
  { retries, retryMaxTime, retrySafeOnly }: ConnectionFlags,
): GatewayClientOptions {
  if (lane !== 'flex') return { retries, retryMaxWaitMs: retryMaxTime, retrySafeOnly };
  return { retries, busyRetries: retries ?? 60, retryMaxWaitMs: retryMaxTime ?? 900_000, retrySafeOnly };
}

/** Tells each correction once: to repeat it for many requests would say nothing new. */
function tellCorrectionsOnce({ ui }: Context): (event: Resent) => Promise<void> {
  const told = new Set<string>();
  return async ({ text = '', isDetail }) => {
    if (told.has(text)) return;
    told.add(text);
    await (isDetail ? ui.notice(text) : ui.note(text));
  };
}

/** Tells the retries of a client, its repairs and the ends of its models, and counts its requests. */
function createListener(
  settings: PartialSettings,
  { counter, tellResent }: Pick<OpenOptions, 'counter'> & { tellResent: (event: Resent) => Promise<void> | undefined },
  context: Context,
): Listener<ClientEvent> {
  const tellModel = modelListener(settings, context);
  return (event) => {
    switch (event.type) {
      case 'sent':
      case 'refused':
        return undefined;
      case 'retry':
        return logRetry(event, context);
      case 'resent':
        return tellResent(event);
      case 'answered':
        return addAttempts(counter, event.attempts);
      default:
        return tellModel(event);
    }
  };
}

/** Logs each attempt and its reply. */
function logExchange(settings: PartialSettings, context: Context): FetchWrapper {
  return (next) => async (request, call) => {
    logRequest(request, hiddenHeaderNames(settings), context);
    const reply = await next(request, call);
    logReply(reply, context);
    return reply;
  };
}

function addAttempts(counter: OpenOptions['counter'], attempts = 0): void {
  if (counter) counter.attempts += attempts;
}
