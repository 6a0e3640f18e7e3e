import { connectionFaults } from './connections.ts';
import { replyFaults } from './replies.ts';
import { statusFaults } from './statuses.ts';
import { streamFaults } from './streams.ts';
import { findOwn, type JsonObject } from '../../library/index.ts';
import type { GatewayFormatName, OperationStream, StreamEvent, Attempt, GatewayReply } from '../types.ts';
import type { ModelAnswer } from '../models/task.ts';

/** Batches that go wrong, in the vendors' batch APIs: a request by itself gets a good answer. */
const batchFaults: FaultTable = {
  'fault-batch-lost-answer': { batch: { losesReply: true } },
  'fault-batch-expired': { batch: { expires: true } },
  'fault-batch-partial': { batch: { failsEverySecond: true } },
  'fault-batch-wrong-order': { batch: { swapsLines: true } },
  'fault-batch-doubled': { batch: { doublesResults: true } },
  'fault-batch-404-at-first': { batch: { hiddenReads: 2 } },
  'fault-batch-stuck': { batch: { isStuck: true } },
};

/** Every fault by the name of its model. What each does for a caller is in the topic `faults` of the help. */
export const faults: FaultTable = {
  ...statusFaults,
  ...connectionFaults,
  ...replyFaults,
  ...streamFaults,
  ...batchFaults,
};

/** The fault of a model name. */
export function findFault(model: string): Fault | undefined {
  return findOwn(faults, model);
}

/** A model that goes wrong at one or more steps on the way to its reply. */
export interface Fault {
  /** Whether it changes pictures only, so that the model draws whatever the request asks for. */
  isOfImages?: true;
  /** Called before anything is made; throws Problem for an error reply. */
  before?: (attempt: Attempt) => void | Promise<void>;
  /** Changes the answer, before its format writes it down. */
  answer?: (answer: ModelAnswer) => ModelAnswer;
  /** Changes the JSON of the reply. */
  body?: (reply: JsonObject, format: GatewayFormatName) => JsonObject;
  /** Changes the events of a stream. */
  events?: (events: Iterable<StreamEvent>, stream: OperationStream) => Iterable<StreamEvent>;
  /** Spoils a batch; the same model answers single requests well. */
  batch?: BatchFault;
  /** Changes the bytes and how they end. */
  reply?: (reply: GatewayReply, attempt: Attempt) => GatewayReply | Promise<GatewayReply>;
}

/** The faults of a batch whose first request names the model. */
export interface BatchFault {
  /** The batch is created, but its creator gets no reply. */
  losesReply?: true;
  /** Number of requests for the batch after its creation that do not find it. */
  hiddenReads?: number;
  /** The batch never ends by itself. */
  isStuck?: true;
  /** The second half of its requests expires. */
  expires?: true;
  failsEverySecond?: true;
  /** Two neighbours are answered in the wrong order. */
  swapsLines?: true;
  /** Each result is there twice. */
  doublesResults?: true;
}

/** Faults by the names of their models. */
export type FaultTable = Readonly<Record<string, Fault>>;
