import type { Transport } from '../transport/types.ts';
import type { AuthForm, CallOptions, ClientOptions } from './client-types.ts';
import { type Answered, openConnections, sendPost } from './connection.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { addressPost, createTarget, type Post, type Target } from './target.ts';

/** Sends the posts of one client over kept connections. */
export interface Sender {
  /** Starts the time of a call: the whole of it is bounded, not its request alone. */
  startDeadline(call: CallOptions): Deadline;
  send(post: Post, deadline: Deadline, onRetry: CallOptions['onRetry']): Promise<Answered>;
  close(): Promise<void>;
}

/** Throws GatewayError usage for a base URL that is none; the key is read at the first post. */
export function createSender(options: ClientOptions): Sender {
  const { baseUrl, env = {}, ca, clientCert, clientKey, timeoutMs = 600_000 } = options;
  const known = createTarget({
    baseUrl: typeof baseUrl === 'string' ? baseUrl : baseUrl.href,
    key: undefined,
    auth: authOf(options.auth),
    headerNames: options.headerNames,
    headers: Object.fromEntries(
      Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    allowHttp: options.allowHttp === true,
  }).target;
  let target: Promise<Target> | undefined;
  let transport: Promise<Transport> | undefined;
  const policy = {
    retries: options.retries ?? 2,
    maxWaitMs: options.retryMaxWaitMs ?? 60_000,
    safeOnly: options.retrySafeOnly === true,
  };
  return {
    startDeadline: (call) => startDeadline(call.timeoutMs ?? timeoutMs, call.signal),
    async send(post, deadline, onRetry = options.onRetry) {
      target ??= readKey(options.apiKey).then((key) => ({ ...known, key }));
      transport ??= openConnections({ env, ca, clientCert, clientKey });
      const request = addressPost(await target, post);
      return sendPost(await transport, request, { use: post.use, deadline, policy, onRetry });
    },
    async close() {
      await (await transport)?.close();
    },
  };
}

function authOf(auth: ClientOptions['auth'] = 'auto'): Record<'text' | 'image' | 'messages', AuthForm> {
  if (typeof auth === 'string') return { text: auth, image: auth, messages: auth };
  return { text: auth.text ?? 'auto', image: auth.image ?? 'auto', messages: auth.messages ?? 'auto' };
}

async function readKey(apiKey: ClientOptions['apiKey']): Promise<string | undefined> {
  return typeof apiKey === 'function' ? apiKey() : apiKey;
}
