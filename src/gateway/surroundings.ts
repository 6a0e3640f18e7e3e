import type { Visit } from './faults/fault.ts';

/** What an exchange knows beside its body. */
export interface Surroundings {
  lenient: boolean;
  pace: number;
  /** Made from the request's bytes alone: equal requests get equal ids. */
  id: string;
  /** How often the same request was answered before, where each of them gets a picture of its own; else 0. */
  variant: number;
  /** The visit of a fault model. */
  visit(stream: boolean): Visit;
}
