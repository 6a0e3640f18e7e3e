import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Answered, type CallOptions, openConnections, sendPost } from '../../client/connection.ts';
import { type Deadline, startDeadline } from '../../client/deadline.ts';
import { addressPost, createTarget, type Post, type Target } from '../../client/target.ts';
import { usageError } from '../../errors.ts';
import { credentialOf, hiddenHeaderNames, revealHeaders } from '../../settings/headers.ts';
import { readKey } from '../../settings/key.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Secret } from '../../settings/secret.ts';
import type { KeySource } from '../../settings/types.ts';
import type { TransportOptions } from '../../transport/types.ts';
import { type Exchanges, openRecording, openReplaying } from './recordings.ts';
import type { Context } from '../context.ts';
import { readTextFlag, readUserFile } from '../input/input-files.ts';
import type { ConnectionFlags } from './settings.ts';
import { tellReply, tellRequest, tellRetry } from '../output/tell.ts';

/** An open way to the gateway, for the length of a command. */
export interface Connection {
  /** Sends one post, with retries; the deadline runs from the first on. */
  send(post: Post, extra?: Partial<Omit<CallOptions, 'onRequest' | 'onReply'>>): Promise<Answered>;
  close(): Promise<void>;
}

/** Forms of authentication where one session serves several uses. */
export type AuthForms = Partial<Target['auth']>;

/** Who is asked, before the key is read: enough to show a request. Tells what is odd about the base URL. */
export async function readTarget(settings: Settings, context: Context, forms?: AuthForms): Promise<Target> {
  const { target, warnings } = targetOf(settings, context, forms);
  for (const warning of warnings) await context.ui.warn(warning);
  return target;
}

function targetOf(settings: Settings, context: Context, forms?: AuthForms): ReturnType<typeof createTarget> {
  const { auth, headerNames, headers, allowHttp } = settings;
  const form = auth.value;
  const plainHeaders = revealHeaders(headers.map(({ value }) => value));
  context.ui.hide(credentialsOf(settings).map(({ secret }) => secret));
  return createTarget({
    baseUrl: settings.baseUrl?.value ?? 'http://127.0.0.1',
    key: undefined,
    auth: { text: form, image: form, messages: form, ...forms },
    headerNames: { apiKey: headerNames.apiKey?.value, version: headerNames.version?.value },
    headers: plainHeaders,
    allowHttp: allowHttp.value,
  });
}

/**
 * Opens the connections: reads the key, or starts the local gateway for `--offline`. What is odd about
 * the base URL was told before: by `readTarget`, or by doctor's own check.
 */
export async function openConnection(
  settings: Settings,
  flags: ConnectionFlags,
  context: Context,
  forms?: AuthForms,
): Promise<Connection> {
  const { target: known } = targetOf(settings, context, forms);
  if (flags.replay !== undefined) {
    const exchanges = await openReplaying(flags.replay, flags, context);
    return createConnection(known, { settings, flags, context, exchanges, close: async () => undefined });
  }
  const transport = await openConnections(await transportOptions(flags, context));
  if (settings.offline.value) {
    const exchanges = await openRecording(transport, flags, { context, credentials: credentialsOf(settings) });
    const { startOffline } = await import('../../gateway/offline.ts');
    const gateway = await startOffline({ headerNames: known.headerNames });
    const target = { ...known, baseUrl: gateway.url, key: gateway.key };
    return createConnection(target, { settings, flags, context, exchanges, close: () => gateway.close() });
  }
  const key = await readConfiguredKey(settings.key, context);
  const credentials = credentialsOf(settings, key);
  context.ui.hide(credentials.map(({ secret }) => secret));
  const exchanges = await openRecording(transport, flags, { context, credentials });
  return createConnection(
    { ...known, key: key.reveal() },
    { settings, flags, context, exchanges, close: async () => undefined },
  );
}

/** Reads the key from where the settings say that it is. Throws GatewayError auth. */
export function readConfiguredKey(source: KeySource, context: Context): Promise<Secret> {
  return readKey(source, {
    readFile: (path) => readFile(resolve(context.io.cwd, path), 'utf8'),
    readStdin: () => readTextFlag('--api-key-file', '-', context),
  });
}

/** A secret that replies are searched for, and what people call it. */
export interface Credential {
  /** `the key`, `header x-corp-token` */
  name: string;
  secret: Secret;
}

/** The key and the credentials among the headers. Other values of a header file are not shown, but not searched for. */
export function credentialsOf({ headers }: Pick<Settings, 'headers'>, key?: Secret): Credential[] {
  const fromHeaders = headers.flatMap(({ value: header }) => {
    const secret = credentialOf(header);
    return secret === undefined ? [] : [{ name: `header ${header.name}`, secret }];
  });
  return key === undefined ? fromHeaders : [{ name: 'the key', secret: key }, ...fromHeaders];
}

interface Parts {
  settings: Settings;
  flags: ConnectionFlags;
  context: Context;
  exchanges: Exchanges;
  close: () => Promise<void>;
}

async function createConnection(
  target: Target,
  { settings, flags, context, exchanges, close }: Parts,
): Promise<Connection> {
  const exchange = exchanges.at(target.baseUrl);
  const policy = {
    retries: flags.retries ?? 2,
    maxWaitMs: flags.retryMaxTime ?? 60_000,
    safeOnly: flags.retrySafeOnly === true,
  };
  const hidden = hiddenHeaderNames(settings);
  let deadline: Deadline | undefined;
  const told: Pick<CallOptions, 'onRequest' | 'onReply' | 'onRetry'> = {
    onRequest(request) {
      context.report.attempts++;
      tellRequest(request, hidden, context);
    },
    onReply: (reply) => tellReply(reply, context),
    onRetry: (notice) => tellRetry(notice, context),
  };
  return {
    send: (post, extra = {}) =>
      sendPost({ exchange }, addressPost(target, post), {
        use: post.use,
        deadline: extra.deadline ?? (deadline ??= startDeadline(settings.timeoutMs.value, context.signal)),
        policy: extra.policy ?? policy,
        onRequest: told.onRequest,
        onReply: told.onReply,
        onRetry: extra.onRetry ?? told.onRetry,
        onSent: extra.onSent,
        onFailedBody: extra.onFailedBody,
        gate: extra.gate,
      }),
    async close() {
      await exchanges.close();
      await close();
    },
  };
}

/** The connection's own flags; the files that they name are read. */
export async function transportOptions(flags: ConnectionFlags, { io }: Context): Promise<TransportOptions> {
  if ((flags.clientCert === undefined) !== (flags.clientKey === undefined)) {
    throw usageError('--client-cert and --client-key go together', 'give both PEM files');
  }
  const read = async (flag: string, path: string | undefined) =>
    path === undefined ? undefined : new TextDecoder().decode(await readUserFile(flag, path, io.cwd));
  return {
    env: io.env,
    ca: await read('--cacert', flags.cacert),
    clientCert: await read('--client-cert', flags.clientCert),
    clientKey: await read('--client-key', flags.clientKey),
  };
}
