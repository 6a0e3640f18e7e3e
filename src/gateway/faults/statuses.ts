import type { JsonObject } from '../../json.ts';
import { Problem, type ProblemDetails } from '../problem.ts';
import type { Reply } from '../types.ts';
import { everyCommand, type Fault, type Visit } from './fault.ts';

const overloaded = 'The model is overloaded. Please try again later.';
const exhausted = 'Resource has been exhausted (e.g. check quota).';

/** Error statuses, for good or for the first tries only. */
export const statusFaults: readonly Fault[] = [
  always({ code: 400, exitCode: 4, message: 'The request was refused, as this model always does.' }),
  always({ code: 401, exitCode: 3, message: 'invalid x-api-key' }),
  always({ code: 402, exitCode: 5, message: 'Your credit balance is too low.' }),
  always({ code: 403, exitCode: 3, message: 'The key may not use this model.' }),
  always({ code: 404, exitCode: 4, message: 'The model was not found.' }),
  always({ code: 408, exitCode: 6, message: 'The request timed out.' }),
  always({ code: 413, exitCode: 4, message: 'Maximum request body size 1048576 exceeded, actual body size 1056562' }),
  always({ code: 429, exitCode: 5, message: exhausted, waitSeconds: 1 }),
  always({ code: 500, exitCode: 6, message: 'An internal error has occurred.' }),
  always({ code: 503, exitCode: 6, message: overloaded }),
  always({ code: 504, exitCode: 6, message: 'The deadline expired before the operation could complete.' }),
  always({ code: 529, exitCode: 6, message: 'Overloaded' }),
  {
    name: 'fault-quota',
    description: '429 with a wait of an hour: too long to be worth a retry',
    commands: everyCommand,
    exitCode: 5,
    before: () => fail({ code: 429, message: exhausted, waitSeconds: 3600 }),
  },
  times({ code: 429, count: 1, word: 'once', message: exhausted, waitSeconds: 1 }),
  times({ code: 503, count: 1, word: 'once', message: overloaded }),
  times({ code: 503, count: 2, word: 'twice', message: overloaded }),
  {
    name: 'fault-html-502',
    description: 'always 502 with an HTML page, as a proxy in front sends it',
    commands: everyCommand,
    exitCode: 6,
    reply: () => htmlPage(502, 'Bad Gateway'),
  },
  {
    name: 'fault-redirect',
    description: '307 to another host; a client must not follow with its key',
    commands: everyCommand,
    exitCode: 9,
    reply: () => ({ status: 307, headers: { location: 'https://example.invalid/' }, body: '' }),
  },
];

interface Failure {
  code: number;
  message: string;
  /** A hint how long to wait, in both spellings of wire.md 2 and 4. */
  waitSeconds?: number;
}

function always(failure: Failure & { exitCode: number }): Fault {
  const { code, exitCode } = failure;
  const description = `always ${code}${failure.waitSeconds === undefined ? '' : `, retry after ${failure.waitSeconds} s`}`;
  return { name: `fault-${code}`, description, commands: everyCommand, exitCode, before: () => fail(failure) };
}

function times({ count, word, ...failure }: Failure & { count: number; word: string }): Fault {
  return {
    name: `fault-${failure.code}-${word}`,
    description: `${failure.code} ${word}, then an answer to the same request`,
    commands: everyCommand,
    exitCode: 0,
    // It starts over after an answer, so that a script can be run again.
    before: (visit: Visit) => (visit.count % (count + 1) < count ? fail(failure) : undefined),
  };
}

function fail({ code, message, waitSeconds }: Failure): never {
  if (waitSeconds === undefined) throw new Problem(code, message);
  const retryInfo: JsonObject = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${waitSeconds}s` };
  const extra: ProblemDetails = { details: [retryInfo], headers: { 'retry-after': String(waitSeconds) } };
  throw new Problem(code, message, extra);
}

function htmlPage(status: number, title: string): Reply {
  const heading = `${status} ${title}`;
  const body = `<html>\r\n<head><title>${heading}</title></head>\r\n<body><center><h1>${heading}</h1></center></body>\r\n</html>\r\n`;
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}
