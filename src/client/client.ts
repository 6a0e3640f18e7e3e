import { chooseHint } from '../advice.ts';
import { defaultTimeoutMs } from '../clock.ts';
import { GatewayError, isGatewayError, usageError } from '../errors.ts';
import type { StreamDelta } from '../formats/events.ts';
import { chooseFormat, getQuirks, services, type Use } from '../vendors/services.ts';
import type { AnyRequest, ClientCall, SendProgress } from './call.ts';
import type {
  CallOptions,
  Client,
  ClientOptions,
  FilePicture,
  FolderOptions,
  MemoryPicture,
  MessageStream,
  Received,
  Reply,
} from './client-types.ts';
import { drainDeltas } from './read-reply.ts';
import { sendOrFallBack } from './lane.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import type { ClientModels, createModelChoice, ModelChoice } from './model-choice.ts';
import { perform, sendRequest, type SendOptions } from './send.ts';
import { isEnding, mayBeLine } from '../vendors/model-rules.ts';
import { addressRequest, digestKey, readEndpoint } from './endpoint.ts';
import { applyLessons, learnFrom, toTaughtFormat } from './correct.ts';
import { composeFetch, connectLate } from './fetch.ts';
import type { Connection } from '../transport/types.ts';

/**
 * A client of one gateway. Nothing is connected or read yet, and nothing is shared with other clients.
 * Throws GatewayError usage for an invalid base URL.
 */
export function createClient(options: ClientOptions): Client {
  const { endpoint, warnings } = readEndpoint(options);
  const { payments, connection } = options;
  const own = connection ? undefined : connectLate(options);
  const fetch = composeFetch({ ...options, endpoint, connection: connection ?? (own as Connection) });
  const sending = { endpoint, fetch, options };
  const service = services[endpoint.service];
  const chooseCallFormat = (use: Use, named = options.format) => {
    const format = named ?? chooseFormat(service.name, use, endpoint.baseUrl.href);
    if (format === undefined) throw usageError(`${service.title} makes no images`, 'choose another service');
    return { use, format, isFormatNamed: named !== undefined };
  };
  const chooseDeadline = ({ deadline, timeoutMs = options.timeoutMs, signal }: SendOptions): Deadline =>
    deadline ?? startDeadline(timeoutMs ?? defaultTimeoutMs, signal);
  const models = chooseModelsLate({
    ...options,
    service: service.name,
    // Without the hooks of requests to models: a list is free.
    async listModels(format, deadline) {
      const { readModelList } = await loadFreeRequests();
      const send: Client['send'] = (request, call) =>
        sendRequest(applyLessons(request, endpoint.lessons), { ...call, deadline }, sending);
      return readModelList({ send }, format, { query: service.listQuery, policy: { retries: 0 }, onRetry() {} });
    },
  });
  const setUpCall = (request: AnyRequest, call: CallOptions = {}): ClientCall => ({
    client,
    timeoutMs: call.timeoutMs ?? options.timeoutMs ?? defaultTimeoutMs,
    quirksIn: (format) => getQuirks(service.name, format, endpoint.baseUrl.href),
    ...chooseCallFormat('text'),
    request,
    call,
    onRetry: (notice) => (call.onRetry ?? options.onRetry)?.({ ...notice, error: withHint(notice.error) }),
    stream: false,
    fallback: call.fallback ?? options.fallback,
  });
  function generateImages(request: AnyRequest, call: FolderOptions): Promise<Reply<FilePicture>>;
  function generateImages(request: AnyRequest, call?: CallOptions): Promise<Reply>;
  async function generateImages(
    request: AnyRequest,
    call: CallOptions & { folder?: string } = {},
  ): Promise<Reply<FilePicture> | Reply> {
    const use = request.media?.length ? 'edit' : 'image';
    const clientCall: ClientCall = {
      ...setUpCall(request, call),
      ...chooseCallFormat(use),
      stream: undefined,
    };
    return call.folder === undefined ? reply(clientCall) : replyInto(call.folder, clientCall);
  }
  const client: Client = {
    generate: async (request, call) => reply(setUpCall(request, call)),
    stream: (request, call) => stream(setUpCall(request, call)),
    generateContent: async (request, call) => reply({ ...setUpCall(request, call), format: 'content' }),
    streamContent: (request, call) => stream({ ...setUpCall(request, call), format: 'content' }),
    generateImages,
    messages: async (request, call) =>
      reply({ ...setUpCall(request, call), use: 'chat', format: 'messages', stream: undefined }),
    streamMessages: (request, call) => stream({ ...setUpCall(request, call), use: 'chat', format: 'messages' }),
    async prepare(request, { use = 'text', format: named, stream: isStreamed = false, ...call } = {}) {
      const { prepareCall } = await loadCall();
      const setUp = setUpCall(request, { fallback: call.fallback });
      const asked = { ...setUp, ...chooseCallFormat(use, named), stream: isStreamed };
      return prepareCall(asked, chooseDeadline(call)).catch((error: unknown) => {
        throw withHint(error);
      });
    },
    ask(request, call = {}) {
      const deadline = chooseDeadline(call);
      const deltas = perform(request, client, { ...call, deadline });
      return call.deadline ? deltas : endDeadlineAfter(deltas, deadline);
    },
    send: (request, call = {}) => sendOrFallBack(request, { ...call, deadline: chooseDeadline(call) }, sending),
    address: (request) => addressRequest(endpoint, applyLessons(request, endpoint.lessons)),
    learn(request, error) {
      const learnt = learnFrom({ request, error }, endpoint);
      if (!learnt?.isCertain) return false;
      learnt.keep(endpoint.lessons);
      void options.onCorrection?.(learnt.told);
      return true;
    },
    correct: (request) => applyLessons(request, endpoint.lessons),
    toTaughtFormat: (request) => toTaughtFormat(request, endpoint.lessons),
    listModels: async (format, listing) => (await loadFreeRequests()).readModelList(client, format, listing),
    countTokens: async (request, counting) => (await loadFreeRequests()).countTokens(client, request, counting),
    contextWindow: async (request, asking) => (await loadFreeRequests()).readWindow(client, request, asking),
    fetch,
    payments,
    models,
    keyDigest: (word) => digestKey(endpoint, word),
    warnings,
    async close() {
      await own?.close();
    },
  };
  return client;
}

/** Most requests need no choice: what makes one is loaded with the first that does. */
function chooseModelsLate(client: Parameters<typeof createModelChoice>[0]): ClientModels {
  const { service, aliveMs, looksUpModels } = client;
  const looksUp = aliveMs !== undefined || looksUpModels === true;
  let loaded: Promise<ModelChoice> | undefined;
  const load = () =>
    (loaded ??= import('./model-choice.ts').then(({ createModelChoice }) => createModelChoice(client)));
  return {
    async before(request, deadline) {
      const isChoice = request.defaultFor !== undefined || mayBeLine(service, request.model) || looksUp;
      return isChoice ? (await load()).before(request, deadline) : request;
    },
    async after(error, request, deadline) {
      const isChoice = request.defaultFor !== undefined || request.fallback !== undefined;
      return isChoice ? (await load()).after(error, request, deadline) : undefined;
    },
    keep: async (request) => (await loaded)?.keep(request),
    async tellEnd(result) {
      result.modelEnds ??= await client.modelMemory?.findEnd(result.model);
      const end = result.modelEnds;
      if (end === undefined || !isEnding(end, Date.now())) delete result.modelEnds;
      else await client.onModel?.({ type: 'ends', end, isLookedUp: false });
    },
  };
}

/** Ends a deadline with what it bounds. */
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

/** What is thrown out of the library: an error that has a reason gets its hint here, in words about options. */
function withHint<Thrown>(thrown: Thrown): Thrown {
  if (!isGatewayError(thrown)) return thrown;
  const hint = chooseHint(thrown, 'library');
  if (hint !== undefined) thrown.details.hint = hint;
  return thrown;
}

/** What the methods need is loaded with the first call: each command needs few of them. */
const loadCall = () => import('./call.ts');
const loadFreeRequests = () => import('./free-requests.ts');

async function reply(clientCall: ClientCall): Promise<Reply> {
  const { memorySink, sendCall } = await loadCall();
  return withHints(drainDeltas(sendCall(clientCall, memorySink())));
}

async function replyInto(folder: string, clientCall: ClientCall): Promise<Reply<FilePicture>> {
  const { folderSink, sendCall } = await loadCall();
  return withHints(folderSink(folder).then((sink) => drainDeltas(sendCall(clientCall, sink))));
}

function withHints<Outcome>(work: Promise<Outcome>): Promise<Outcome> {
  return work.catch((error: unknown) => {
    throw withHint(error);
  });
}

function stream(clientCall: ClientCall): MessageStream {
  const progress: SendProgress = { attempts: 0, sent: 'no', billed: 'no' };
  const openDeltas = async () => {
    const { memorySink, sendCall } = await loadCall();
    return sendCall({ ...clientCall, stream: true, progress }, memorySink());
  };
  return openMessageStream(openDeltas, progress, clientCall.call.signal);
}

/** Gives the deltas of a generator to the caller's loop, and keeps what it returns or throws for `reply`. */
function openMessageStream(
  open: () => Promise<AsyncGenerator<StreamDelta, Reply<MemoryPicture>>>,
  progress: SendProgress,
  signal: AbortSignal | undefined,
): MessageStream {
  let opened: ReturnType<typeof open> | undefined;
  let text = '';
  let outcome: { reply: Reply } | { error: unknown } | undefined;
  async function next(): Promise<IteratorResult<StreamDelta, undefined>> {
    try {
      const deltas = await (opened ??= open());
      const step = await deltas.next();
      if (!step.done) {
        if (step.value.type === 'text') text += step.value.text;
        return step;
      }
      outcome ??= step.value === undefined ? undefined : { reply: step.value };
      return { done: true, value: undefined };
    } catch (error) {
      outcome ??= { error };
      if (isGatewayError(error)) progress.billed = error.billed;
      throw withHint(error);
    }
  }
  async function leave(): Promise<IteratorResult<StreamDelta, undefined>> {
    const deltas = await (opened ??= open());
    await deltas.return(undefined as never);
    return { done: true, value: undefined };
  }
  return {
    [Symbol.asyncIterator]: () => ({ next, return: leave }),
    async reply() {
      while (outcome === undefined) if ((await next()).done) break;
      if (outcome === undefined) signal?.throwIfAborted();
      if (outcome === undefined) throw new GatewayError('incomplete', 'the stream was left before its end');
      if ('error' in outcome) throw outcome.error;
      return outcome.reply;
    },
    received: (): Received => ({ text, ...progress }),
  };
}
