import type { Visit } from './faults/fault.ts';
import type { Reading } from './fields/rule.ts';

/** What an exchange knows beside its body. */
export interface Surroundings {
  reading: Reading;
  /** Whether a local model answers in the place of a vendor's. */
  standsIn: boolean;
  /** Adds to what the log says of the request. */
  tell(note: string): void;
  pace: number;
  /** Made from the request's bytes alone: equal requests get equal ids. */
  id: string;
  /** How often the same request was answered before, where each of them gets a picture of its own; else 0. */
  variant: number;
  /** The visit of a fault model. */
  visit(stream: boolean): Visit;
}
