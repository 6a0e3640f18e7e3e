import type { GatewayError, RetryNotice } from '../errors.ts';
import type { ModelEnd } from '../vendors/model-rules.ts';

/** An event of a request, while it is sent. */
export type CallEvent =
  /** The first bytes of an attempt are sent: from then on it may be billed. `attempts`: its number, from 1. */
  | { type: 'sent'; attempts: number }
  /** An attempt failed, and another one follows after a wait. */
  | ({ type: 'retry' } & RetryNotice)
  /** A reply with an error status came. */
  | { type: 'refused'; body: Uint8Array }
  | Resent
  /** The head of the reply came, and its body follows. `attempts`: number of requests that were sent, none if a recording answers. */
  | { type: 'answered'; attempts: number; isRecorded: boolean };

/** A request was refused and not billed, and is sent once more. `error` counts all attempts so far. */
export interface Resent {
  type: 'resent';
  /** The change: the form that the service asks for, the lane of full price, or another model. */
  by: 'correction' | 'live-lane' | 'other-model';
  /** The change in words. */
  text?: string;
  /** The words are worth no line of their own, for example in a log that is short. */
  isDetail?: true;
  error: GatewayError;
}

/** An event about models: one is asked in place of another, or will be removed. */
export type ModelEvent =
  /** A request that was refused goes to another model. */
  | { type: 'replaced'; from: string; to: string; because: 'gone' | 'refused' | 'fallback'; error: GatewayError }
  /** The request goes to the model that was chosen before, in place of one that is gone. */
  | { type: 'kept'; from: string; to: string }
  /** The model will be removed. */
  | { type: 'ends'; end: ModelEnd }
  /** Nothing says whether the model will be removed. */
  | { type: 'unknown'; model: string; why: string };

/** An event of a client. */
export type ClientEvent = CallEvent | ModelEvent;

/**
 * Gets events. If it returns a promise, the client waits for it before it goes on, but not at `sent`. If it throws, the call ends
 * with that error.
 */
export type Listener<Event> = (event: Event) => unknown;

/** A listener to the events of a request that follows others: its attempts are counted on from those before. */
export function countOn(listener: Listener<CallEvent> | undefined, before: number): Listener<CallEvent> | undefined {
  if (listener === undefined || before === 0) return listener;
  return (event) => listener('attempts' in event ? { ...event, attempts: before + event.attempts } : event);
}
