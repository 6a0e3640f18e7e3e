import { resolve } from 'node:path';
import type { ClientOptions } from '../../client/client-types.ts';
import {
  type Answered,
  createSender,
  type Exchanges,
  type PayingSender,
  type PostOptions,
  targetOf,
} from '../../client/send.ts';
import type { Target } from '../../transport/request.ts';
import { type Deadline, deadlineOnce, within } from '../../client/deadline.ts';
import { defaultTimeoutMs } from '../../clock.ts';
import { GatewayError, usageError } from '../../errors.ts';
import { byAuthUse, type PostOrGet } from '../../formats/format.ts';
import { credentialOf, hiddenHeaderNames, isUnmistakable, revealHeaders, type Secret } from '../../settings/redact.ts';
import { closest } from '../../closest.ts';
import { readKey } from '../../settings/key.ts';
import type { SettingsSurvey, KeySource } from '../../settings/types.ts';
import type { RetryPolicy } from '../../transport/retry.ts';
import type { Exchange, Transport } from '../../transport/types.ts';
import { flexPolicy, openFallback } from './lane.ts';
import type { Context } from '../context.ts';
import { isCache, replayedFolder } from '../flags/shared.ts';
import { readFileOrPipe, readTextFlag } from '../input/input-files.ts';
import type { ConnectionFlags } from './settings.ts';
import { countUnpaid, openBudgets, openExchanges, openTransports, originOf } from './transports.ts';
import { announcedEnd, logReply, logRequest, logRetry } from '../output/log.ts';

/** An open way to the gateway, for the length of a command. */
export interface Connection {
  /** Sends one post or GET, with retries; the deadline runs from the first on. */
  send(post: PostOrGet, own?: Partial<PostOptions>): Promise<Answered>;
  /** Pays for one request, if there is a budget. */
  pay?: PayingSender['pay'];
  close(): Promise<void>;
}

/** Forms of authentication where one connection serves several uses. */
export type AuthForms = Partial<Target['auth']>;

interface OpenOptions {
  forms?: AuthForms | undefined;
  /** The command's time, where it may have begun. */
  deadline?: (() => Deadline) | undefined;
}

/** Who is asked, before the key is read: enough to show a request. Tells what is odd about the base URL. */
export async function readTarget(settings: SettingsSurvey, context: Context, forms?: AuthForms): Promise<Target> {
  const { target, warnings } = targetOf(gatewayOf(settings, context, forms));
  for (const warning of warnings) await context.ui.warn(warning);
  return target;
}

/** What the settings say of the gateway, in the words of the library. */
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

/**
 * Opens the connections: reads the key, or starts the local gateway for `--offline`. What is odd about
 * the base URL was told before: by `readTarget`, or by doctor's own check.
 */
export async function openConnection(
  settings: SettingsSurvey,
  flags: ConnectionFlags,
  context: Context,
  { forms, deadline = deadlineOnce(settings.timeoutMs.value, context.signal) }: OpenOptions = {},
): Promise<Connection> {
  const { connections, close } = await openConnectionsTo([{ settings, forms }], flags, context, deadline);
  return { ...(connections[0] as Connection), close };
}

/** One of the gateways that a command asks. */
interface AskedGateway {
  settings: SettingsSurvey;
  forms?: AuthForms | undefined;
}

/** Opens a connection to each gateway, with its own key; what is recorded goes to one place. Offline there is one. */
export async function openConnectionsTo(
  gateways: readonly AskedGateway[],
  flags: ConnectionFlags,
  context: Context,
  deadline = deadlineOnce(gateways[0]?.settings.timeoutMs.value ?? defaultTimeoutMs, context.signal),
): Promise<{ connections: Pick<Connection, 'send' | 'pay'>[]; close(): Promise<void> }> {
  const pays = await openBudgets(gateways, flags, context);
  const { exchanges, keyed } = await openKeyed(gateways, flags, { context, deadline });
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
    const send = createSend(options, { exchanges, settings, context, deadline, policy });
    return { send: isFlex && fallback ? fallback.wrap(send) : send, pay: pays[at] };
  });
  return {
    connections,
    async close() {
      await exchanges.close();
      await fallback?.note();
    },
  };
}

interface KeyedExchanges {
  exchanges: Exchanges;
  /** The key of each gateway, and where the local one is. A replay has none, and a cache needs none. */
  keyed: Pick<ClientOptions, 'apiKey' | 'baseUrl'>[];
}

async function openKeyed(
  gateways: readonly AskedGateway[],
  flags: ConnectionFlags,
  { context, deadline }: { context: Context; deadline: () => Deadline },
): Promise<KeyedExchanges> {
  const replayed = replayedFolder(flags);
  if (replayed !== undefined) {
    const { openReplaying } = await import('./recordings.ts');
    return { exchanges: await openReplaying(replayed, context), keyed: [] };
  }
  const transport = await openTransports(
    gateways.map(({ settings }) => settings),
    flags,
    context,
  );
  const [first] = gateways;
  if (first?.settings.offline.value) {
    const exchanges = await openExchanges(transport, flags, { context, credentials: credentialsOf(first.settings) });
    const { startOffline } = await import('../../gateway/app.ts');
    const local = await startOffline({ headerNames: gatewayOf(first.settings, context).headerNames });
    const close = (): Promise<void> => exchanges.close().then(() => local.close());
    // Its port is another one each time; for recordings it is always the same gateway.
    const at = (): Exchange => exchanges.at(new URL('http://offline'));
    return { exchanges: { at, close }, keyed: [{ baseUrl: local.url, apiKey: local.key }] };
  }
  const credentials: Credential[] = [];
  const keyed: KeyedExchanges['keyed'] = [];
  const keyless = new Map<string, KeySource>();
  for (const { settings } of gateways) {
    if (settings.key.kind === 'none') {
      credentials.push(...credentialsOf(settings));
      keyed.push({});
      continue;
    }
    if (isCache(flags) && settings.key.kind === 'missing') {
      keyless.set(originOf(settings), settings.key);
      credentials.push(...credentialsOf(settings));
      keyed.push({});
      continue;
    }
    const key = await within(deadline(), readConfiguredKey(settings.key, context, deadline().signal));
    refuseKeyAsModel(settings, key);
    credentials.push(...credentialsOf(settings, key));
    keyed.push({ apiKey: key.reveal() });
  }
  context.ui.hide(credentials.map(({ secret }) => secret));
  const asked = requireKeys(transport, keyless, context);
  return { exchanges: await openExchanges(asked, flags, { context, credentials }), keyed };
}

/** A key in the place of the model would stand in addresses, logs and file names. */
function refuseKeyAsModel({ model }: SettingsSurvey, key: Secret): void {
  if (model?.value.includes(key.reveal()) && isUnmistakable(key.reveal()))
    throw usageError(`the model (${model.from}) is the key`, 'give the name of a model: -m <model>');
}

/** What is asked needs a key, what is recorded none: a key that is missing is told at the first request that goes out. */
function requireKeys(transport: Transport, keyless: ReadonlyMap<string, KeySource>, context: Context): Transport {
  if (keyless.size === 0) return transport;
  return {
    ...transport,
    async exchange(request, options) {
      const source = keyless.get(request.url.origin);
      if (source !== undefined) await readConfiguredKey(source, context);
      return transport.exchange(request, options);
    },
  };
}

/** Where the service did not find a model that its kept list lacks, the error names the nearest that the list has. */
async function withNearestModel(
  error: unknown,
  post: PostOrGet,
  { settings, context }: { settings: SettingsSurvey; context: Context },
): Promise<unknown> {
  if (!(error instanceof GatewayError) || error.details.reason === 'other-format') return error;
  if (error.details.status !== 404 && error.details.reason !== 'model') return error;
  const model = post.body?.['model'] ?? decodeURIComponent(/\/models\/([^/:]+):/.exec(post.path)?.[1] ?? '');
  if (typeof model !== 'string' || model === '') return error;
  const { keptModels } = await import('../../settings/kept-models.ts');
  const kept = await keptModels(settings, context.io.now());
  const nearest = kept.includes(model) ? undefined : closest(model, kept);
  if (nearest === undefined) return error;
  return error.but({ reason: 'nearest-model', value: nearest });
}

interface Parts {
  exchanges: Exchanges;
  settings: SettingsSurvey;
  context: Context;
  deadline: () => Deadline;
  policy: Partial<RetryPolicy>;
}

/** What one command sends, with one deadline for all of it. */
function createSend(
  options: ClientOptions,
  { exchanges, settings, context, deadline, policy }: Parts,
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
    return sender
      .send(post, { ...own, payment, deadline: own.deadline ?? deadline(), policy: { ...policy, ...own.policy } })
      .catch(async (error: unknown) => {
        throw await withNearestModel(withSource(error, settings), post, { settings, context });
      });
  };
}

/** The hint says which key was refused, and which flags lead to the same gateway. */
function withSource(error: unknown, { key, typedFlags }: SettingsSurvey): unknown {
  if (!(error instanceof GatewayError)) return error;
  const told = error.but({ flags: typedFlags });
  return error.class === 'auth' && 'from' in key ? told.but({ source: key.from }) : told;
}

/** Reads the key from where the settings say that it is. Throws GatewayError auth. */
export function readConfiguredKey(source: KeySource, context: Context, signal?: AbortSignal): Promise<Secret> {
  return readKey(source, {
    signal,
    readFile: async (path) => Buffer.from(await readFileOrPipe(resolve(context.io.cwd, path))).toString(),
    readStdin: () => readKeyFromStdin(context),
  });
}

const keysFromStdin = new WeakMap<Context['stdin'], Promise<string>>();

/** stdin ends once, and several connections may want the key. */
function readKeyFromStdin(context: Context): Promise<string> {
  const read = keysFromStdin.get(context.stdin) ?? readTextFlag('--api-key-file', '-', context);
  keysFromStdin.set(context.stdin, read);
  return read;
}

/** A secret that replies are searched for, and what people call it. */
export interface Credential {
  /** `the key`, `header x-corp-token` */
  name: string;
  secret: Secret;
}

/** The key and the credentials among the headers. Other values of a header file are not shown, but not searched for. */
export function credentialsOf({ headers }: Pick<SettingsSurvey, 'headers'>, key?: Secret): Credential[] {
  const fromHeaders = headers.flatMap(({ value: header }) => {
    const secret = credentialOf(header);
    return secret === undefined ? [] : [{ name: `header ${header.name}`, secret }];
  });
  return key === undefined ? fromHeaders : [{ name: 'the key', secret: key }, ...fromHeaders];
}
