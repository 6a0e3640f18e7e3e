import type { Reason } from './reasons.ts';

/** Whether something happened, as far as the client can know. */
export type Certainty = 'no' | 'yes' | 'unknown';

interface ExitCode {
  code: number;
  billed: Certainty;
  meaning: string;
}

/** Declarations have the names of the rows alone, not the words in them. */
const nameExitCodes = <Name extends string>(rows: Readonly<Record<Name, Readonly<ExitCode>>>) => rows;

/** The one table of exit codes. Codes never change meaning. */
export const exitCodes = nameExitCodes({
  ok: { code: 0, billed: 'yes', meaning: 'the gateway ended the reply and every requested output is written' },
  internal: { code: 1, billed: 'unknown', meaning: 'internal error (a bug)' },
  usage: {
    code: 2,
    billed: 'no',
    meaning: 'usage, input, settings, unsafe URL or unwritable output, found before sending',
  },
  auth: { code: 3, billed: 'no', meaning: 'no key, 401, 403, or a key that is not valid' },
  rejected: { code: 4, billed: 'no', meaning: 'rejected by the gateway: other 4xx' },
  quota: { code: 5, billed: 'no', meaning: 'rate limit or quota: 429, 402, after retries' },
  gateway: { code: 6, billed: 'unknown', meaning: 'gateway failing: 5xx, 529, 408, after retries' },
  'not-sent': { code: 7, billed: 'no', meaning: 'not sent: DNS, refused, TLS, proxy, connect timeout' },
  'no-reply': { code: 8, billed: 'unknown', meaning: 'sent, but no answer began: timeout or connection lost' },
  'bad-reply': {
    code: 9,
    billed: 'yes',
    meaning: 'bad reply: protocol, redirect, too large, not JSON, bad SSE, bad Base64, empty',
  },
  'no-result': { code: 10, billed: 'yes', meaning: 'answered, but blocked, refused or without what was asked for' },
  incomplete: {
    code: 11,
    billed: 'yes',
    meaning: 'incomplete: cut, fewer images, or a demanded check not met; what came is kept',
  },
  'not-written': { code: 12, billed: 'yes', meaning: 'output not written; the reply is kept in a recovery file' },
  'batch-failed': {
    code: 13,
    billed: 'unknown',
    meaning: 'batch finished with failures, or a limit of costs or tokens stopped it',
  },
  'over-budget': { code: 13, billed: 'unknown', meaning: 'the next request could pass a limit of costs' },
  'batch-locked': {
    code: 14,
    billed: 'no',
    meaning: 'another run works in the folder, or its journal or service do not match',
  },
  'batch-edited': { code: 14, billed: 'no', meaning: 'jobs were edited since they were sent, or during the run' },
  hangup: { code: 129, billed: 'unknown', meaning: 'ended by HUP' },
  interrupted: { code: 130, billed: 'unknown', meaning: 'ended by INT (Ctrl-C)' },
  quit: { code: 131, billed: 'unknown', meaning: 'ended by QUIT' },
  closed: { code: 141, billed: 'unknown', meaning: 'stdout was closed by its reader' },
  terminated: { code: 143, billed: 'unknown', meaning: 'ended by TERM' },
});

/** The kind of a failure, as messages and the JSON document name it. */
export type ErrorClass = Exclude<keyof typeof exitCodes, 'ok'>;

/** Classes of errors that end a command from outside: a signal, or the reader of stdout. */
export const endSignals: ReadonlySet<unknown> = new Set<ErrorClass>([
  'hangup',
  'interrupted',
  'quit',
  'closed',
  'terminated',
]);

/** The facts of a failure beside its class and message. */
export interface ErrorDetails {
  /** The next step for the user, if there is no reason. An error that leaves the library has the hint of its reason, too, unless the words are flags or commands. */
  hint?: string | undefined;
  /** The reason of the failure, which decides the hint: `chooseHint` in `reasons.ts`. */
  reason?: Reason | undefined;
  /**
   * The value in the hint: minutes of `timeout`, seconds of `retry-time`, the number of `retries` that were made, the form of
   * `auth`, the names of `header-names` and `key-header`, the service of `key`.
   */
  value?: number | string | undefined;
  /** The source of the wrong value: a flag, a variable or a profile. */
  source?: string | undefined;
  /** All that the words of a refusal mean (`vendors/refusals.ts`). A correction looks here for its own. @internal */
  says?: readonly { means: string; value?: string | undefined }[] | undefined;
  /** The flags that select the gateway, for a command in a hint. */
  flags?: string | undefined;
  /** HTTP status of the reply. */
  status?: number | undefined;
  /** The gateway's id of the request. */
  requestId?: string | undefined;
  /** Whether the same command can succeed later. */
  retryable?: boolean | undefined;
  /** Time that the gateway asks to wait, in ms. */
  retryAfterMs?: number | undefined;
  /** Whether the request left this machine. */
  sent?: Certainty | undefined;
  /** Whether its last attempt may have been billed. Default: by its class. */
  billed?: Certainty | undefined;
  /** An attempt before the last may have been billed. */
  isDoubtful?: true | undefined;
  /** Method and URL of the request: `POST https://host/path`, never with a key. */
  request?: string | undefined;
  /** Number of requests that were sent, retries included. */
  attempts?: number | undefined;
  /** The body of a reply that could not be decoded, as it came. */
  unread?: Uint8Array | undefined;
  cause?: unknown;
}

/** A reason, and the value in its hint. */
export type Advice = Pick<ErrorDetails, 'reason' | 'value' | 'source'>;

/** The symbol is the same in each copy of the package: the copies for `import` and for `require` have classes of their own. */
const mark = Symbol.for('gateway-cli/GatewayError');

/** Every ordinary failure of the program; any other exception is a bug (exit 1). */
export class GatewayError extends Error {
  /** The name in stack traces: the bundle shortens the name of the class. */
  static override readonly name = 'GatewayError';
  override readonly name = 'GatewayError';
  readonly class: ErrorClass;
  readonly details: Omit<ErrorDetails, 'cause'>;

  constructor(errorClass: ErrorClass, message: string, details: ErrorDetails = {}) {
    const { cause, ...rest } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.class = errorClass;
    this.details = rest;
  }

  get [mark](): true {
    return true;
  }

  /** The process exit code of this class. */
  get exitCode(): number {
    return exitCodes[this.class].code;
  }

  /** Whether the request may have been billed, by any of its attempts: people and programs are told this. */
  get billed(): Certainty {
    const last = this.lastBilled;
    return last === 'no' && this.details.isDoubtful ? 'unknown' : last;
  }

  /**
   * Whether its last attempt may have been billed: the cost of one attempt, and the corrections that its refusal asks for, depend
   * on that alone.
   */
  get lastBilled(): Certainty {
    return this.details.billed ?? exitCodes[this.class].billed;
  }

  /**
   * This failure after an earlier one of the same request: if the earlier attempt was sent or may have been billed, this failure
   * says so, too.
   */
  after(failed: GatewayError | undefined): GatewayError {
    if (failed === undefined) return this;
    const isSent = failed.details.sent === 'yes';
    return this.withDetails({ ...(failed.billed !== 'no' && { isDoubtful: true }), ...(isSent && { sent: 'yes' }) });
  }

  /** Adds details; known details win, and a known hint or reason wins over both. */
  withDefaults(details: ErrorDetails): GatewayError {
    const known = Object.fromEntries(Object.entries(this.details).filter(([, value]) => value !== undefined));
    const { hint: _hint, reason: _reason, ...facts } = details;
    const isAdvised = 'hint' in known || 'reason' in known;
    return this.withDetails({ ...(isAdvised ? facts : details), ...known });
  }

  /** Replaces details; a hint also replaces the reason. */
  withDetails(details: Omit<ErrorDetails, 'cause'>): GatewayError {
    const known = details.hint === undefined ? this.details : { ...this.details, ...withoutAdvice };
    const error = new GatewayError(this.class, this.message, { ...known, ...details, cause: this.cause });
    if (this.stack !== undefined) error.stack = this.stack;
    return error;
  }
}

const withoutAdvice = { reason: undefined, value: undefined, source: undefined };

/**
 * Whether an exception is a GatewayError, of one of these classes if any are given. True for an error of another copy of the
 * package, too, where `instanceof` is false.
 */
export function isGatewayError<Class extends ErrorClass = ErrorClass>(
  error: unknown,
  ...classes: readonly Class[]
): error is GatewayError & { readonly class: Class } {
  if (typeof error !== 'object' || error === null || !(mark in error)) return false;
  return classes.length === 0 || classes.some((name) => name === (error as GatewayError).class);
}

/** A failed attempt that is repeated after a wait. */
export interface RetryNotice {
  /** Number of the attempt that failed, from 1. */
  attempt: number;
  /** Number of retries that the policy allows. */
  retries: number;
  waitMs: number;
  error: GatewayError;
}

/** A mistake in flags, input or settings, found before anything was sent (exit 2). */
export function usageError(message: string, hint?: string, cause?: unknown): GatewayError {
  return new GatewayError('usage', message, { hint, cause, sent: 'no', retryable: false });
}

/** A usage error whose hint is in the table of advice. */
export function settingError(message: string, advice: Advice & Pick<ErrorDetails, 'cause'>): GatewayError {
  return new GatewayError('usage', message, { ...advice, sent: 'no', retryable: false });
}

/** The name of a request in errors: `POST https://host/path`, without its query. */
export function describeRequest({ method = 'POST', url }: { method?: string | undefined; url: URL }): string {
  return `${method} ${url.origin}${url.pathname}`;
}

/** The error of a reply that came, and cannot be read or does not fit its format. The parts before the fault are kept. */
export function badReply(message: string, details: ErrorDetails = {}): GatewayError {
  return new GatewayError('bad-reply', message, { sent: 'yes', retryable: false, ...details });
}

/** The error of a request that costs nothing, whatever its class says. The hint replaces a missing hint, or a hint about costs. */
export function withoutCost(error: unknown, hint: string): unknown {
  if (!(error instanceof GatewayError) || !['no-reply', 'incomplete', 'bad-reply'].includes(error.class)) return error;
  const { reason } = error.details;
  return error.withDetails({ billed: 'no', ...((reason === undefined || aboutCosts.has(reason)) && { hint }) });
}

const aboutCosts = new Set<Reason>(['maybe-billed', 'maybe-billed-memory', 'recorded-loss']);

/** Whether an error is a bug and not an ordinary failure. */
export function isBug(error: unknown): boolean {
  return !(error instanceof GatewayError) || error.class === 'internal';
}

/** Whether further requests fail for now: the quota is spent, or the gateway asks for a longer wait than allowed. */
export function isQuotaSpent({ class: name, details }: GatewayError): boolean {
  return name === 'quota' && (details.reason === 'quota-spent' || details.reason === 'retry-time');
}

/** Codes with which the system refuses something: never a bug. */
const refusals = new Set(['EACCES', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'ENOSPC', 'EPERM', 'EROFS', 'ESTALE']);

/** The error for a bug (exit 1), or for a refusal of the system that nobody expected; a GatewayError stays as it is. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = getErrorCode(error) ?? '';
  const unsure = { sent: 'unknown', billed: 'unknown', cause: error } as const;
  const bug =
    code === 'EMFILE'
      ? new GatewayError('not-written', 'too many files are open', { reason: 'open-files', ...unsure })
      : refusals.has(code)
        ? new GatewayError('not-written', `a file cannot be read or written: ${getErrorMessage(error)}`, unsure)
        : new GatewayError('internal', getErrorMessage(error), {
            hint: 'this is a bug; run it again with --debug and report it',
            cause: error,
          });
  if (error instanceof Error && error.stack !== undefined) bug.stack = error.stack;
  return bug;
}

/** The message of anything thrown; that of an AggregateError, which can be empty, is made of its parts. */
export function getErrorMessage(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(getErrorMessage).join('; ');
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}

/** The code of a Node or undici error (`ECONNREFUSED`, `UND_ERR_SOCKET`), or of its causes. */
export function getErrorCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at instanceof AggregateError && at.errors.length > 0) return getErrorCode(at.errors[0]);
  }
  return undefined;
}

/** Foreign text for an error message: one line, at most `limit` characters. Not escaped: the terminal does that. */
export function quoteForeign(text: string, limit = 200): string {
  const words = text.slice(0, limit * 8).split(/\s/);
  const characters = Array.from(words.filter((word) => word !== '').join(' '));
  return characters.length <= limit ? characters.join('') : `${characters.slice(0, limit - 1).join('')}…`;
}
