import { GatewayError } from '../../library/index.ts';

/**
 * The measures after a failed call to the batch API of a service. A failure without a measure ends the run; after a failed creation
 * without one, the batch of the service may exist, and is looked for.
 */
interface Measures {
  /** The creation of a batch. `drop`: certainly no batch was created. `seek`: the batch is looked for by its mark. */
  create: 'drop' | 'seek';
  /** A look for a batch among those that the service lists. `none`: the service lists no batches. */
  list: 'none';
  /**
   * A look at a batch, and all work with its answer. `wait`: the next look may succeed; after an hour the failure ends the run.
   * `miss`: the same, but after that time the batch is lost. `leave`: the batch is left to a run with the right API key.
   */
  look: 'wait' | 'miss' | 'leave';
  /**
   * A download of results. `again`: it is repeated at once, a few times. `later`: the results that came are kept, and the next look
   * reads the others.
   */
  results: 'again' | 'later';
}

type FailureName = 'elsewhere' | 'barred' | 'refused' | 'conflict' | 'missing' | 'busy' | 'unsent' | 'unsure' | 'odd';

/** The one table of failures of the batch API. */
const measures: Readonly<Record<FailureName, Partial<Measures>>> = {
  elsewhere: { create: 'drop', look: 'leave' },
  barred: { create: 'drop' },
  refused: { create: 'drop', list: 'none' },
  conflict: { create: 'seek', list: 'none' },
  missing: { create: 'drop', list: 'none', look: 'miss', results: 'later' },
  busy: { create: 'drop', look: 'wait' },
  unsent: { create: 'drop', look: 'wait' },
  unsure: { create: 'seek', look: 'wait', results: 'again' },
  odd: { create: 'seek', look: 'wait' },
};

/** The measure after a failed call; undefined if the failure ends the run. */
export function chooseMeasure<Call extends keyof Measures>(call: Call, error: unknown): Measures[Call] | undefined {
  const failure = nameFailure(error);
  return failure && measures[failure][call];
}

/** Returns undefined for the error of a service that lists nothing; throws other errors again. */
export function ignoreUnlisted(error: unknown): undefined {
  if (chooseMeasure('list', error) === 'none') return undefined;
  throw error;
}

function nameFailure(error: unknown): FailureName | undefined {
  if (!(error instanceof GatewayError)) return undefined;
  const { sent, status = 0 } = error.details;
  switch (error.class) {
    case 'not-sent':
      return 'unsent';
    case 'batch-locked':
      // The error of a lost lock does not tell whether a request was sent.
      return sent === 'no' ? 'elsewhere' : undefined;
    case 'rejected':
      if (status === 404) return 'missing';
      return status === 409 ? 'conflict' : 'refused';
    case 'quota':
      return 'busy';
    case 'gateway':
    case 'no-reply':
    case 'incomplete':
      return 'unsure';
    case 'bad-reply':
      return 'odd';
    default:
      return sent === 'no' || (status >= 400 && status < 500) ? 'barred' : undefined;
  }
}
