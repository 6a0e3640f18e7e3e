import type { JsonObject } from '../../library/index.ts';
import type { GatewayFormatName, Attempt } from '../types.ts';
import { Problem, type ProblemDetails } from '../problem.ts';
import type { FaultTable } from './table.ts';

const overloaded = { status: 503, message: 'The model is overloaded. Please try again later.' };
const exhausted = {
  status: 429,
  message: 'Resource has been exhausted (e.g. check quota).',
  waitSeconds: 1,
  completions: { message: 'Rate limit reached for this model on requests per min (RPM). Please try again in 1s.' },
};
const spent = {
  message: 'You exceeded your current quota, please check your plan and billing details.',
  extra: { type: 'insufficient_quota', errorCode: 'insufficient_quota' },
};

/** Error statuses, for good or for the first tries only. */
export const statusFaults: FaultTable = {
  ...always(4, { status: 400, message: 'The request was refused, as this model always does.' }),
  ...always(3, {
    status: 401,
    message: 'The API key is not valid.',
    messages: { message: 'invalid x-api-key' },
    completions: { message: 'Incorrect API key provided.' },
  }),
  ...always(5, { status: 402, message: 'Your credit balance is too low.' }),
  ...always(3, { status: 403, message: 'The key may not use this model.' }),
  ...always(4, {
    status: 404,
    message: 'The model was not found.',
    completions: {
      message: 'The model `fault-404` does not exist or you do not have access to it.',
      extra: { errorCode: 'model_not_found' },
    },
  }),
  ...always(6, { status: 408, message: 'The request timed out.' }),
  ...always(4, { status: 413, message: 'Maximum request body size 1048576 exceeded, actual body size 1056562' }),
  ...always(5, exhausted),
  ...always(6, { status: 500, message: 'An internal error has occurred.' }),
  ...always(6, overloaded),
  ...always(6, { status: 504, message: 'The deadline expired before the operation could complete.' }),
  ...always(6, { status: 529, message: 'Overloaded' }),
  'fault-quota': {
    description: '429 with a wait of an hour, or insufficient_quota: not worth a retry',
    exitCode: 5,
    before: (attempt) => fail({ ...exhausted, completions: spent, waitSeconds: 3600 }, attempt),
  },
  ...first(1, 'once', exhausted),
  ...first(1, 'once', overloaded),
  ...first(2, 'twice', overloaded),
  'fault-html-502': {
    description: 'always 502 with an HTML page, as a proxy in front sends it',
    exitCode: 6,
    reply: () => ({ status: 502, headers: { 'content-type': 'text/html; charset=utf-8' }, body: badGatewayPage }),
  },
  'fault-redirect': {
    description: '307 to another host; a client must not follow with its key',
    exitCode: 9,
    reply: () => ({ status: 307, headers: { location: 'https://example.invalid/' }, body: '' }),
  },
};

interface Failure extends Partial<Record<GatewayFormatName, { message: string; extra?: ProblemDetails }>> {
  status: number;
  /** The message, for formats that have none of their own. */
  message: string;
  /** Seconds to wait: as a header, and in the details of the content format. */
  waitSeconds?: number;
}

function always(exitCode: number, failure: Failure): FaultTable {
  const { status, waitSeconds } = failure;
  const description = `always ${status}${waitSeconds === undefined ? '' : `, retry after ${waitSeconds} s`}`;
  return { [`fault-${status}`]: { description, exitCode, before: (attempt) => fail(failure, attempt) } };
}

/** Fails the first tries. It starts over after an answer, so that a script can be run again. */
function first(count: number, word: string, failure: Failure): FaultTable {
  const before = (attempt: Attempt): void => (attempt.count % (count + 1) < count ? fail(failure, attempt) : undefined);
  const description = `${failure.status} ${word}, then an answer to the same request`;
  return { [`fault-${failure.status}-${word}`]: { description, exitCode: 0, before } };
}

function fail({ status, waitSeconds, ...failure }: Failure, { format }: Attempt): never {
  const { message, extra }: { message: string; extra?: ProblemDetails } = failure[format] ?? failure;
  if (waitSeconds === undefined) throw new Problem(status, message, extra);
  const retryInfo: JsonObject = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${waitSeconds}s` };
  throw new Problem(status, message, {
    ...extra,
    details: [retryInfo],
    headers: { 'retry-after': String(waitSeconds) },
  });
}

const badGatewayPage = `<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n`;
