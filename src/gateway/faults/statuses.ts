import type { JsonObject } from '../../library/index.ts';
import type { Attempt } from '../types.ts';
import { Problem, type ProblemDetails } from '../problem.ts';
import type { FaultTable } from './table.ts';

const overloaded = { status: 503, message: 'The model is overloaded. Please try again later.' };
const exhausted = {
  status: 429,
  message: 'Resource has been exhausted (e.g. check quota).',
  waitSeconds: 1,
};
const spent = {
  message: 'You exceeded your current quota, please check your plan and billing details.',
  extra: { type: 'insufficient_quota', errorCode: 'insufficient_quota' },
};

/** Error statuses, for good or for the first tries only. */
export const statusFaults: FaultTable = {
  ...always({ status: 400, message: 'The request was refused, as this model always does.' }),
  ...always({ status: 401, message: 'The API key is not valid.' }),
  ...always({ status: 402, message: 'Your credit balance is too low.' }),
  ...always({ status: 403, message: 'The key may not use this model.' }),
  ...always({
    status: 404,
    message: 'The model was not found.',
    completions: { extra: { errorCode: 'model_not_found' } },
  }),
  ...always({ status: 408, message: 'The request timed out.' }),
  ...always({ status: 413, message: 'Maximum request body size 1048576 exceeded, actual body size 1056562' }),
  ...always(exhausted),
  ...always({ status: 500, message: 'An internal error has occurred.' }),
  ...always(overloaded),
  ...always({ status: 504, message: 'The deadline expired before the operation could complete.' }),
  ...always({ status: 529, message: 'Overloaded' }),
  'fault-quota': {
    before: (attempt) => fail({ ...exhausted, completions: spent, waitSeconds: 3600 }, attempt),
  },
  ...first(1, 'once', exhausted),
  ...first(1, 'once', overloaded),
  ...first(2, 'twice', overloaded),
  'fault-html-502': {
    reply: () => ({ status: 502, headers: { 'content-type': 'text/html; charset=utf-8' }, body: badGatewayPage }),
  },
  'fault-redirect': {
    reply: () => ({ status: 307, headers: { location: 'https://example.invalid/' }, body: '' }),
  },
};

interface Failure {
  status: number;
  message: string;
  /** The parts that differ in the completions format. */
  completions?: { message?: string; extra: ProblemDetails };
  /** Seconds to wait: as a header, and in the details of the content format. */
  waitSeconds?: number;
}

function always(failure: Failure): FaultTable {
  return { [`fault-${failure.status}`]: { before: (attempt) => fail(failure, attempt) } };
}

/** Fails the first tries. It starts over after an answer, so that a script can be run again. */
function first(count: number, word: string, failure: Failure): FaultTable {
  const before = (attempt: Attempt): void => (attempt.count % (count + 1) < count ? fail(failure, attempt) : undefined);
  return { [`fault-${failure.status}-${word}`]: { before } };
}

function fail({ completions, ...failure }: Failure, { format }: Attempt): never {
  const { status, message, waitSeconds, extra } = {
    ...failure,
    extra: {},
    ...(format === 'completions' && completions),
  };
  if (waitSeconds === undefined) throw new Problem(status, message, extra);
  const retryInfo: JsonObject = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${waitSeconds}s` };
  throw new Problem(status, message, {
    ...extra,
    details: [retryInfo],
    headers: { 'retry-after': String(waitSeconds) },
  });
}

const badGatewayPage = `<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n`;
