import type { JsonObject } from '../../json.ts';
import type { StreamEvent } from '../messages/events.ts';
import type { Format, Reply } from '../types.ts';

/** The commands a fault can be tried with. */
type FaultCommand = 'text' | 'image gen' | 'image edit' | 'chat';

/** What the help and the README say of a fault model. */
export interface FaultRow {
  /** The model's name: `fault-…`. */
  name: string;
  description: string;
  commands: readonly FaultCommand[];
  /** How these commands end (design.md section 4). */
  exitCode: number;
  /** Flags that the exit code holds with. */
  flags?: string;
}

/** One request to a fault model. */
export interface Visit {
  /** How often the same request came before. */
  count: number;
  format: Format;
  /** Whether the reply is a stream. */
  stream: boolean;
  /** The wait of the slow faults, ms. */
  delay: number;
  /** Its signal aborts when the caller leaves. */
  left: { readonly signal: AbortSignal };
}

/** A model that goes wrong at one or more stations of a reply's way. */
export interface Fault extends FaultRow {
  /** Before anything is made; throws Problem for an error reply. */
  before?: (visit: Visit) => void | Promise<void>;
  /** Changes the reply of the content format. */
  content?: (reply: JsonObject) => JsonObject;
  /** Changes the message of the messages format. */
  message?: (message: JsonObject) => JsonObject;
  /** Changes the events of a streamed message. */
  events?: (events: Iterable<StreamEvent>) => Iterable<StreamEvent>;
  /** Changes the bytes and how they end. */
  reply?: (reply: Reply, visit: Visit) => Reply | Promise<Reply>;
}

export const everyCommand = ['text', 'image gen', 'image edit', 'chat'] as const;
export const imageCommands = ['image gen', 'image edit'] as const;
