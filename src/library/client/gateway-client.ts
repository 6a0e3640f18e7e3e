import { type GatewayError, usageError } from '../errors.ts';
import type { AnyApiRequest } from '../formats/format.ts';
import type { Connection, Fetch } from '../transport/types.ts';
import { ask, type PreparedRequest } from './ask.ts';
import { checkCallOptions } from './check-options.ts';
import type { ClientOptions, Sender } from './client-types.ts';
import { applyLessons, learnFrom, toTaughtFormat } from './correct.ts';
import { chooseDeadline, type Deadline } from './deadline.ts';
import { addressRequest, digestKey, type Endpoint, readEndpoint } from './endpoint.ts';
import type { ClientEvent, Listener } from './events.ts';
import { composeFetch, connectLate } from './fetch.ts';
import { countTokens, readModelList, readWindow } from './free-requests.ts';
import { createModelChoice, type ModelChoice } from './model-choice.ts';
import type { Payments } from './payment.ts';
import { type PaidExchange, type RepairOptions, sendFree, sendPaid } from './repairs.ts';
import type { SendOptions } from './send.ts';

/** A sender as command line and batches have it. */
export interface GatewayClient extends Sender {
  readonly endpoint: Endpoint;
  /** A request in the form that the service is known to want: `address` shows it and `send` sends it. */
  correct<Request extends AnyApiRequest>(request: Request): Request;
  /** A request in the format that the service was found to answer for its model, if nobody named another. */
  toTaughtFormat<Request extends AnyApiRequest>(request: Request): Promise<Request>;
  /** Whether the error of a request, which came by another way, says how its service wants it: `correct` knows it then. */
  learn(request: AnyApiRequest, error: GatewayError): boolean;
  /** One attempt of any request to the endpoint, with the key; its status is not judged. It is for programs that pass requests on. */
  readonly fetch: Fetch;
  readonly onEvent: Listener<ClientEvent> | undefined;
  /** The payments for the requests of `ask`. */
  readonly payments: Payments | undefined;
  /** Decides which model gets a request. */
  readonly models: ModelChoice;
  /**
   * Sends a request to the model that is chosen for it, pays for it, and leaves its reply to be read. The caller then ends the
   * payment; that of a request without a reply has ended.
   */
  sendPaid(request: PreparedRequest, options: RepairOptions): Promise<PaidExchange>;
  /** A digest of the key and a word, by which the key is recognized without keeping it; undefined without a key. */
  keyDigest(word: string): Promise<string | undefined>;
}

/** The options of a sender: those of the library, and those of flags. */
export interface GatewayClientOptions extends ClientOptions {
  /** ms for which a model must live on by the list of the service, or its requests are not sent. */
  aliveMs?: number | undefined;
  /** Further attempts while the service says that it is busy, if they are more than `retries`: for the flex lane. */
  busyRetries?: number | undefined;
  /** Sends a request of the flex lane at full price if the lane stays too busy for it. */
  laneFallback?: 'live' | undefined;
  /** Gives the error of a request that has no answer its hint. */
  explain?: ((error: GatewayError, request: AnyApiRequest) => Promise<GatewayError>) | undefined;
}

/** Opens a sender. Nothing is connected or read yet. Throws GatewayError usage for an invalid base URL. */
export function openGatewayClient(options: GatewayClientOptions): GatewayClient {
  const { endpoint } = readEndpoint(options);
  const { memory } = endpoint;
  const own = options.connection ? undefined : connectLate(options);
  const fetch = composeFetch({ ...options, endpoint, connection: options.connection ?? (own as Connection) });
  const base = { endpoint, fetch, options };
  const sending = { ...base, models: createModelChoice(base) };
  const withDeadline = <Options extends SendOptions>(call: Options): Options & { deadline: Deadline } => ({
    ...call,
    deadline: chooseDeadline(call, options),
  });
  const client: GatewayClient = {
    endpoint,
    ask(request, asking) {
      const call = checkCallOptions(asking);
      requirePrepared(request);
      const bounded = withDeadline(call);
      const deltas = ask(request, bounded, sending);
      return call.deadline ? deltas : endDeadlineAfter(deltas, bounded.deadline);
    },
    async send(request, call) {
      requireApiRequest(request);
      return sendFree(request, withDeadline(checkCallOptions(call)), sending);
    },
    sendPaid: (request, call) => sendPaid(request, call, sending),
    address(request) {
      requireApiRequest(request);
      return addressRequest(endpoint, applyLessons(request, memory));
    },
    learn(request, error) {
      const learnt = learnFrom({ apiRequest: request, error }, endpoint);
      if (!learnt?.isCertain) return false;
      learnt.keep(memory);
      void options.onEvent?.({ type: 'resent', by: 'correction', ...learnt.notice, error });
      return true;
    },
    correct: (request) => applyLessons(request, memory),
    toTaughtFormat: (request) => toTaughtFormat(request, memory),
    listModels: async (format, listing) => readModelList(client, format, checkCallOptions(listing)),
    async countTokens(request, counting) {
      requirePrepared(request);
      return countTokens(client, request, checkCallOptions(counting));
    },
    async contextWindow(request, asking) {
      requirePrepared(request);
      return readWindow(client, request, checkCallOptions(asking));
    },
    fetch,
    onEvent: options.onEvent,
    payments: options.payments,
    models: sending.models,
    keyDigest: (word) => digestKey(endpoint, word),
    async close() {
      await own?.close();
    },
  };
  return client;
}

/** A caller in JavaScript gets no help of types. */
function requirePrepared(request: Pick<PreparedRequest, 'post'> | undefined): void {
  requireApiRequest(request?.post);
}

function requireApiRequest(request: AnyApiRequest | undefined): void {
  if (typeof request?.path !== 'string')
    throw usageError('this takes a prepared request', "make one: await client.prepare({ model, prompt: 'hi' })");
}

/** Ends a deadline together with the generator that it limits. */
async function* endDeadlineAfter<Delta, Outcome>(
  deltas: AsyncGenerator<Delta, Outcome>,
  deadline: Deadline,
): AsyncGenerator<Delta, Outcome> {
  try {
    return yield* deltas;
  } finally {
    deadline.end();
  }
}
