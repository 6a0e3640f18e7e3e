import { connectionFaults } from './connections.ts';
import { replyFaults } from './replies.ts';
import { statusFaults } from './statuses.ts';
import { streamFaults } from './streams.ts';
import type { JsonObject } from '../../json.ts';
import type { FormatName, OperationStream, StreamEvent, Attempt, Reply } from '../types.ts';
import type { Answer } from '../models/task.ts';

export const everyCommand = ['text', 'image gen', 'image edit', 'chat'] as const;

const tables: readonly FaultTable[] = [statusFaults, connectionFaults, replyFaults, streamFaults];
const faults = new Map<string, Fault>(
  tables
    .flatMap((table) => Object.entries(table))
    .map(([name, fault]) => [name, { name, commands: everyCommand, ...fault }]),
);

/** Every fault model with what it does and the exit code it leads to, for the help and the README. */
export const faultRows: readonly FaultRow[] = [...faults.values()];

/** The fault of a model name. */
export function findFault(model: string): Fault | undefined {
  return faults.get(model);
}

/** What the help and the README say of a fault model. */
export interface FaultRow {
  /** The model's name: `fault-…`. */
  name: string;
  description: string;
  /** The commands that the model can be tried with. */
  commands: readonly ('text' | 'image gen' | 'image edit' | 'chat')[];
  /** How these commands end. */
  exitCode: number;
}

/** A model that goes wrong at one or more steps on the way to its reply. */
export interface Fault extends FaultRow {
  /** Before anything is made; throws Problem for an error reply. */
  before?: (attempt: Attempt) => void | Promise<void>;
  /** Changes the answer, before its format writes it down. */
  answer?: (answer: Answer) => Answer;
  /** Changes the JSON of the reply. */
  body?: (reply: JsonObject, format: FormatName) => JsonObject;
  /** Changes the events of a stream. */
  events?: (events: Iterable<StreamEvent>, stream: OperationStream) => Iterable<StreamEvent>;
  /** Changes the bytes and how they end. */
  reply?: (reply: Reply, attempt: Attempt) => Reply | Promise<Reply>;
}

/** Fault models by name, with every command where a row names none. */
export type FaultTable = Readonly<Record<string, Omit<Fault, 'name' | 'commands'> & Partial<Pick<Fault, 'commands'>>>>;
