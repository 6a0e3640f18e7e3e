import type { Batch, BatchHost, FinishedReply, JobEnd, JobOutcome, PreparedJob, ReadyJob } from '../types.ts';
import type { FolderLock } from '../folder/lock.ts';
import type { Pacer } from './pace.ts';
import {
  type Answer,
  type Asked,
  type CheckEnd,
  countAnswer,
  type Deadline,
  endSignals,
  type GatewayClient,
  type GatewayError,
  getTimeoutError,
  isBug,
  isQuotaSpent,
  joinPayments,
  otherModel,
  type Payment,
  type Payments,
  type PreparedRequest,
  type SharedGate,
  type Spent,
  tryAsk,
  unusualTier,
  startDeadline,
} from '../../library/index.ts';

/** Sends the jobs of a run. */
export interface JobSender {
  /** Opens the payment for a job from a budget that runs share, if there is one. */
  pay(job: ReadyJob): Promise<Payment | undefined>;
  /**
   * Sends the request of a job, reads the reply and publishes its files. `onReady` is awaited right before: from then on it may go
   * out. A failure of the job is in the outcome; an error that it throws (a full disk, a bug) ends the batch.
   */
  send(job: ReadyJob, call: JobCall): Promise<JobOutcome>;
  /** Ends the requests in flight. The signal of the run ends only jobs that are not in flight. */
  abort(reason: unknown): void;
  /** Jobs whose reply is waited for. */
  readonly inFlight: number;
}

/** The parts of a call that are not in the job. */
export interface JobCall {
  /** Pays for the first request of the job: some of the amount can be reserved already. */
  payment: Payment | undefined;
  /** The limit of the run, which pays for further requests of the answer, too. */
  limit?: Payments | undefined;
  onReady: () => Promise<void>;
}

export interface SenderOptions {
  batch: Pick<Batch, 'host' | 'policy'> & { lock: Pick<FolderLock, 'check'> };
  clientOf(job: PreparedJob): GatewayClient | Promise<GatewayClient>;
  gate: SharedGate;
  /** Waits for the turn of the request by the rate, if there is one. */
  pace: Pacer | undefined;
}

/** The call of a job that goes on. */
interface Flight {
  deadline: Deadline;
  startedAt: number;
  /** A request is in flight: its reply is paid for, and worth waiting for. */
  inFlight: boolean;
}

/** The open parts of a sender: its options, and the calls that go on. */
interface OpenSender extends SenderOptions {
  flights: Set<Flight>;
}

export function createJobSender(options: SenderOptions): JobSender {
  const { batch, clientOf } = options;
  const { signal } = batch.host;
  const flights = new Set<Flight>();
  const sending: OpenSender = { ...options, flights };
  // One listener serves all jobs, so that no job needs its own.
  const endWaiting = (): void => {
    for (const { inFlight, deadline } of flights) if (!inFlight) deadline.abort(signal.reason);
  };
  signal.addEventListener('abort', endWaiting, { once: true });

  return {
    async pay({ prepared }) {
      return (await clientOf(prepared)).payments?.open(prepared.request);
    },
    send: (job, call) => sendJob(job, call, sending),
    abort: (reason) => flights.forEach(({ deadline }) => deadline.abort(reason)),
    get inFlight() {
      return [...flights].filter(({ inFlight }) => inFlight).length;
    },
  };
}

async function sendJob(job: ReadyJob, call: JobCall, sending: OpenSender): Promise<JobOutcome> {
  const { prepared } = job;
  // The time of the job starts when its inputs are fetched, or when it is sent.
  let flight = prepared.fetchInputs && startFlight(prepared, sending);
  try {
    const inputs = flight ? await tryFetchInputs(prepared, flight.deadline) : prepared;
    // The folder of images is checked before anything is paid for, and before the journal says that the job may be sent.
    await prepared.output.prepare();
    await call.onReady();
    flight ??= startFlight(prepared, sending);
    const { deadline, startedAt: since } = flight;
    const came = 'failure' in inputs ? inputs : await sendAndRead(prepared, inputs.request, { call, flight, sending });
    // A signal that comes now ends nothing: the paid answer is written first.
    const endOf = () => getTimeoutError(deadline);
    return await settleJob(job, came, { endOf, signal: deadline.signal, since, host: sending.batch.host });
  } finally {
    if (flight) sending.flights.delete(flight);
    flight?.deadline.end();
    await call.payment?.cancel();
    await prepared.close();
  }
}

function startFlight({ settings }: PreparedJob, { batch: { host }, flights }: OpenSender): Flight {
  const deadline = startDeadline(settings.timeoutMs);
  const flight = { deadline, startedAt: host.elapsed(), inFlight: false };
  flights.add(flight);
  if (host.signal.aborted) deadline.abort(host.signal.reason);
  return flight;
}

/** The result of a job of which nothing was sent. */
const unasked: Asked = { attempts: 0, isRecorded: false, mayBeBilled: false, doubtful: 0 };

/** The request of a job with the files of its URLs, or the reason why they could not be fetched. */
export async function tryFetchInputs(
  { request, fetchInputs }: PreparedJob,
  deadline: Deadline,
): Promise<{ request: PreparedRequest } | (Asked & { failure: unknown })> {
  try {
    return { request: (await fetchInputs?.(deadline)) ?? request };
  } catch (failure) {
    return { ...unasked, failure };
  }
}

/** Sends a request with its retries, and reads the reply. */
async function sendAndRead(
  prepared: PreparedJob,
  request: PreparedRequest,
  { call: { payment, limit }, flight, sending }: { call: JobCall; flight: Flight; sending: SenderOptions },
): Promise<Asked> {
  const { batch, gate, pace } = sending;
  const { signal } = batch.host;
  const { deadline } = flight;
  const { output, retries, isFlex } = prepared;
  let client: GatewayClient;
  try {
    client = await sending.clientOf(prepared);
  } catch (failure) {
    return { ...unasked, failure };
  }
  return tryAsk(client, request, {
    deadline,
    store: output.store,
    endOf: () => getTimeoutError(deadline),
    mostImages: output.mostImages,
    payments: payFirst(payment, joinPayments([limit, client.payments])),
    maxTurns: batch.policy.maxTurns,
    policy: retries,
    gate: paceRetries(isFlex ? { ...gate, allowRetry: () => true } : gate, pace, batch.lock),
    onEvent(event) {
      if (event.type === 'sent') flight.inFlight = true;
      if (event.type === 'retry' || event.type === 'resent') {
        flight.inFlight = false;
        if (signal.aborted) deadline.abort(signal.reason);
      }
      // Thousands of jobs would tell thousands of retries.
      return event.type === 'retry' ? undefined : client.onEvent?.(event);
    },
  });
}

/** Pays for the first request by a payment that is already open. */
function payFirst(first: Payment | undefined, others: Payments | undefined): Payments | undefined {
  let left = first;
  return (
    others && {
      ...others,
      open(request) {
        const payment = left ?? others.open(request);
        left = undefined;
        return payment;
      },
    }
  );
}

interface Settling {
  /** Checked between the steps of work on the answer. */
  endOf: CheckEnd;
  signal: AbortSignal;
  /** The beginning of the job, by the monotonic clock. */
  since: number;
  host: BatchHost;
}

/** The outcome of a job by its reply, in any lane. Throws the errors that end the batch. */
export async function settleJob(
  {
    prepared: { output, settings },
    answerName,
  }: { prepared: Pick<PreparedJob, 'output' | 'settings'>; answerName: string },
  came: Asked,
  { endOf, signal, since, host }: Settling,
): Promise<JobOutcome> {
  const { answer, attempts, mayBeBilled, isRecorded } = came;
  const counted = answer ? countAnswer({ ...answer, isRecorded }, settings) : { spent: nothing, warnings: [] };
  const finished = await output.finish({ answerName, counted, ...came }, { endOf, signal });
  const durationMs = host.elapsed() - since;
  const error = finished.failure === undefined ? undefined : await readJobFailure(finished, came, host);
  if (host.signal.aborted && error && endSignals.has(error.class) && !mayBeBilled) return { state: 'unsent' };
  if (error?.details.reason === 'budget' && !mayBeBilled) return { state: 'unsent', quotaSpent: error };
  const isSpent = error !== undefined && isQuotaSpent(error);
  if (isSpent && error.details.reason !== 'retry-time' && attempts === 1) return { state: 'unsent', quotaSpent: error };
  const document = finished.document({ error, durationMs });
  // A service can name anything as its model, even the API key.
  const { requestedModel, model, tier } = host.redaction.clean(getModels(answer));
  return {
    state: chooseJobState(error, came),
    document,
    // An answer from a cache counts in no sum.
    billed: isRecorded ? 'no' : undefined,
    usage: isRecorded ? undefined : answer?.result.usage,
    cost: counted.spent.costs[0],
    doubtful: countDoubtful(came.doubtful, error),
    requestedModel,
    model,
    tier,
    error: error && { class: error.class, message: host.redaction.redact(error.message), billed: error.billed },
    incomplete: error === undefined && answer?.result.complete === false ? true : undefined,
    longWait: isSpent ? error : undefined,
    saveReply: answer && ((unwritten) => finished.keepResult(unwritten, document)),
  };
}

const nothing: Spent = { costs: [], unknown: 0 };

/** The number of requests that may have been billed, beside the one that the cost or the error of a job stands for; undefined for none. */
function countDoubtful(count: number, error: GatewayError | undefined): number | undefined {
  const others = error?.lastBilled === 'no' ? count - 1 : count;
  return others > 0 ? others : undefined;
}

/** The error of a job. Throws the errors that end the batch: a bug, unless a reply came before it, and a failure to write. */
async function readJobFailure(
  { failure: thrown, hasLost, keep }: FinishedReply,
  { answer, attempts, isRecorded }: Asked,
  host: BatchHost,
): Promise<GatewayError> {
  const failure = thrown as GatewayError;
  const isOfJob = isBug(thrown) && answer !== undefined;
  if (!isOfJob && isBug(thrown)) throw thrown;
  if (!isOfJob && failure.class === 'not-written') throw await keep(failure);
  let error = failure;
  if (isOfJob || failure.details.unread !== undefined || hasLost) {
    error = await keep(thrown);
    await host.on({ type: 'reply-kept', error });
  }
  // Only recordings answered, so nothing was billed.
  const isFree = isRecorded && attempts === 0;
  return isFree ? error.withDetails({ sent: 'no', billed: 'no' }) : error;
}

/** The names of the model if another one answered, and the service tier if it is not the usual one. */
function getModels(answer: Answer | undefined): Pick<JobEnd, 'requestedModel' | 'model' | 'tier'> {
  if (answer === undefined) return {};
  const { model, modelVersion, serviceTier, insteadOf } = answer.result;
  const other = otherModel(model, modelVersion);
  const tier = serviceTier && unusualTier(serviceTier);
  const requestedModel = insteadOf?.model ?? model;
  const isOther = other !== undefined || insteadOf !== undefined;
  return isOther ? { requestedModel, model: other ?? model, tier } : { tier };
}

/**
 * The state of a job. A request that was sent and never answered, or cut by a signal, may have been billed: it is not sent again
 * unless the user asks for that.
 */
function chooseJobState(error: GatewayError | undefined, { mayBeBilled }: Asked): 'done' | 'failed' | 'unknown' {
  if (error === undefined) return 'done';
  // A replay repeats a lost reply, and sends nothing.
  const isLost = error.class === 'no-reply' && error.billed !== 'no';
  return isLost || (endSignals.has(error.class) && mayBeBilled) ? 'unknown' : 'failed';
}

/** The part of the gate that one job uses. */
type JobGate = Pick<SharedGate, 'enter' | 'close' | 'allowRetry'>;

/** The gate of one job, which each of its attempts enters. The first attempt had its turn before it was recorded as sent. */
export function paceRetries(gate: JobGate, pace: Pacer | undefined, lock: Pick<FolderLock, 'check'>): JobGate {
  let isFirst = true;
  return {
    close: gate.close,
    allowRetry: gate.allowRetry,
    async enter(signal) {
      if (!isFirst) await pace?.(signal);
      isFirst = false;
      // The gate may close during the wait for the turn, and the lock may be lost while the gate is closed.
      await gate.enter(signal);
      lock.check();
    },
  };
}
