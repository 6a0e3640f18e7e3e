import type { JsonObject } from '../../json.ts';
import type { StreamEvent } from '../messages/events.ts';
import type { Attempt, Reply } from '../types.ts';

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
  /** Changes the reply of the content format. */
  content?: (reply: JsonObject) => JsonObject;
  /** Changes the message of the messages format. */
  message?: (message: JsonObject) => JsonObject;
  /** Changes the events of a streamed message. */
  events?: (events: Iterable<StreamEvent>) => Iterable<StreamEvent>;
  /** Changes the pieces of a streamed reply of the content format; a text stands for a piece that is not JSON. */
  pieces?: (pieces: Iterable<JsonObject>) => Iterable<JsonObject | string>;
  /** Changes the bytes and how they end. */
  reply?: (reply: Reply, attempt: Attempt) => Reply | Promise<Reply>;
}

/** Fault models by name, with every command where a row names none. */
export type FaultTable = Readonly<Record<string, Omit<Fault, 'name' | 'commands'> & Partial<Pick<Fault, 'commands'>>>>;
