import { connectionFaults } from './connections.ts';
import { replyFaults } from './replies.ts';
import { statusFaults } from './statuses.ts';
import { streamFaults } from './streams.ts';
import type { JsonObject } from '../../library/index.ts';
import type { GatewayFormatName, OperationStream, StreamEvent, Attempt, GatewayReply } from '../types.ts';
import type { ModelAnswer } from '../models/task.ts';

export const everyCommand = ['text', 'image gen', 'image edit', 'chat'] as const;

/** Batches that go wrong, in the vendors' batch APIs: a request by itself gets a good answer. */
const batchFaults: FaultTable = {
  ...spoilt('lost-answer', 'is created, but the connection is reset before the reply', { losesReply: true }),
  ...spoilt('expired', 'expires with half of its requests', { expires: true }),
  ...spoilt('partial', 'completes, but every second request failed', { failsEverySecond: true }),
  ...spoilt('wrong-order', 'has its results in another order', { swapsLines: true }),
  ...spoilt('doubled', 'has each result twice', { doublesResults: true }),
  ...spoilt('404-at-first', 'is not found the first two times', { hiddenReads: 2 }),
  ...spoilt('stuck', 'stays in progress until it is canceled', { isStuck: true }),
};

function spoilt(name: string, description: string, batch: BatchFault): FaultTable {
  return { [`fault-batch-${name}`]: { description: `a batch ${description}`, exitCode: 0, batch } };
}

const tables: readonly FaultTable[] = [statusFaults, connectionFaults, replyFaults, streamFaults, batchFaults];
const faults = new Map<string, Fault>(
  tables
    .flatMap((table) => Object.entries(table))
    .map(([name, fault]) => [name, { name, commands: everyCommand, ...fault }]),
);

/** Every fault model with its effect and the exit code that follows. */
export const faultRows: readonly FaultRow[] = [...faults.values()];

/** The fault of a model name. */
export function findFault(model: string): Fault | undefined {
  return faults.get(model);
}

/** The row of a fault model in the topic `faults`. */
interface FaultRow {
  /** The model's name: `fault-…`. */
  name: string;
  description: string;
  /** The commands that the model can be tried with. */
  commands: readonly ('text' | 'image gen' | 'image edit' | 'chat')[];
  /** The exit code with which these commands end. */
  exitCode: number;
}

/** A model that goes wrong at one or more steps on the way to its reply. */
export interface Fault extends FaultRow {
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

/** Fault models by name. A row without commands is for all commands. */
export type FaultTable = Readonly<Record<string, Omit<Fault, 'name' | 'commands'> & Partial<Pick<Fault, 'commands'>>>>;
