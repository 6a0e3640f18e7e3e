import { defaultTimeoutMs } from '../clock.ts';
import { usageError } from '../errors.ts';
import type { AnyApiRequest } from '../formats/format.ts';
import { services } from '../vendors/services.ts';
import { type ClientCall, prepareForCaller, readCall, streamCall } from './call.ts';
import { checkCallOptions, checkClientOptions } from './check-options.ts';
import type { AskRequest, CallOptions, Client, ClientOptions } from './client-types.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { countTokens, readModelList, readWindow } from './free-requests.ts';
import { createModelChoice, type ModelChoice } from './model-choice.ts';
import { perform, type PreparedRequest, type Sending, sendRequest, type SendOptions } from './send.ts';
import { addressRequest, digestKey, readEndpoint } from './endpoint.ts';
import { applyLessons, learnFrom, toTaughtFormat } from './correct.ts';
import { sendRepaired } from './repairs.ts';
import { composeFetch, connectLate } from './fetch.ts';
import type { Connection } from '../transport/types.ts';
import { openMessageStream } from './message-stream.ts';

/**
 * A client of one gateway. Nothing is connected or read yet, and nothing is shared with other clients.
 * Throws GatewayError usage for an invalid base URL.
 */
export function createClient(given: ClientOptions): Client {
  const options = checkClientOptions(given);
  const { endpoint, warnings } = readEndpoint(options);
  const { memory } = endpoint;
  const own = options.connection ? undefined : connectLate(options);
  const fetch = composeFetch({ ...options, endpoint, connection: options.connection ?? (own as Connection) });
  const sending = { endpoint, fetch, options };
  const chooseDeadline = ({ deadline, timeoutMs = options.timeoutMs, signal }: SendOptions): Deadline =>
    deadline ?? startDeadline(timeoutMs ?? defaultTimeoutMs, signal);
  const withDeadline = <Options extends SendOptions>(call: Options): Options & { deadline: Deadline } =>
    hasDeadline(call) ? call : { ...call, deadline: chooseDeadline(call) };
  const toCall = (request: AskRequest, call?: CallOptions, chosen: Partial<ClientCall> = {}): ClientCall => {
    return { client, options, endpoint, request, call: checkCallOptions(call), use: 'text', stream: false, ...chosen };
  };
  const client: Client = {
    generate: async (request, call) => readCall(toCall(request, call)),
    stream: (request, call) =>
      openMessageStream(
        async (listener) => streamCall(toCall(request, call, { stream: true, listener })),
        call?.signal,
      ),
    generateImages: (async (request: AskRequest, call?: CallOptions & { folder?: string }) => {
      const use = (request as AskRequest | undefined)?.media?.length ? 'edit' : 'image';
      return readCall(toCall(request, call, { use, stream: undefined }), call?.folder);
    }) as Client['generateImages'],
    async prepare(request, given) {
      const { use = 'text', stream: isStreamed = false, ...call } = checkCallOptions(given);
      return prepareForCaller(toCall(request, call, { use, stream: isStreamed }), chooseDeadline(call));
    },
    ask(request, given) {
      const call = checkCallOptions(given);
      requirePrepared(request);
      const bounded = withDeadline(call);
      const deltas = perform(request, client, { ...bounded, service: endpoint.service });
      return call.deadline ? deltas : endDeadlineAfter(deltas, bounded.deadline);
    },
    async send(request, call) {
      requireApiRequest(request);
      return sendRepaired(request, withDeadline(checkCallOptions(call)), sending);
    },
    address(request) {
      requireApiRequest(request);
      return addressRequest(endpoint, applyLessons(request, memory));
    },
    learn(request, error) {
      const learnt = learnFrom({ request, error }, endpoint);
      if (!learnt?.isCertain) return false;
      learnt.keep(memory);
      void options.onEvent?.({ type: 'resent', by: 'correction', ...learnt.told, error });
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
    models: openModels(options, sending),
    keyDigest: (word) => digestKey(endpoint, word),
    warnings,
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

function hasDeadline<Options extends SendOptions>(call: Options): call is Options & { deadline: Deadline } {
  return call.deadline !== undefined;
}

/** Opens the choice of the model that a request goes to. */
function openModels(options: ClientOptions, { endpoint, ...sending }: Sending): ModelChoice {
  const { service, memory } = endpoint;
  const { models, payments, onEvent } = options;
  return createModelChoice({
    ...models,
    payments,
    onEvent,
    service,
    memory,
    // Without the hooks of requests to models: a list is free.
    listModels(format, deadline) {
      const send: Client['send'] = (request, call) =>
        sendRequest(applyLessons(request, memory), { ...call, deadline }, { ...sending, endpoint });
      const { listQuery: query } = services[service];
      return readModelList({ send }, format, { query, policy: { retries: 0 }, onEvent() {} });
    },
  });
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
