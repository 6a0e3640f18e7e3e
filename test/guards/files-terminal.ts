import type { Guard } from './guard.ts';
import { noticedBy } from './noticed.ts';

const terminal = 'faults/terminal';
const escaping = 'await stdout.write(stdout.isTTY ? escapeForTerminal(safe) : safe);';

/** The rows of 2c about terminal, stdin, stdout and signals. */
export const terminalGuards = {
  'escape injection': [
    ...noticedBy(
      terminal,
      'escape injection: text reaches',
      ['commands/payload.ts', escaping, 'await stdout.write(safe);'],
      ['terminal/escape.ts', String.raw`[\p{Cc}\p{Bidi_Control}]`, String.raw`[\p{Cc}]`],
      ['terminal/escape.ts', String.raw`\r(?!\n)|`, ''],
    ),
    ...noticedBy(terminal, 'escape injection: thinking', [
      'commands/ui.ts',
      'escapeForTerminal(guard(redact(text)))',
      'guard(redact(text))',
    ]),
    ...noticedBy(terminal, 'escape injection: an error', [
      'terminal/error-text.ts',
      '${escapeLine(error.message)}',
      '${error.message}',
    ]),
    ...noticedBy(terminal, 'escape injection: a request id', [
      'commands/ui.ts',
      'if (root.verbose) await line(escapeLine(redact(text)));',
      'if (root.verbose) await line(redact(text));',
    ]),
    ...noticedBy(terminal, 'escape injection: text in a pipe is exact', [
      'commands/payload.ts',
      escaping,
      'await stdout.write(escapeForTerminal(safe));',
    ]),
    ...noticedBy('terminal/raw', 'escape injection: --raw is exact on a terminal too', [
      'commands/raw.ts',
      'if (stdout.isTTY) await context.ui.warn',
      'if (false) await context.ui.warn',
    ]),
  ],
  'CI log commands': noticedBy(
    terminal,
    'CI log commands in model text',
    ['commands/payload.ts', 'guard ? guard(text) : text', 'text'],
    ['commands/ui.ts', 'isReadByCi(io.env, io.stderr) ? createCiGuard() : keep', 'keep'],
    ['terminal/ci-commands.ts', ' && output.isFile !== true', ''],
  ),
  'stdout closed': noticedBy(
    terminal,
    'stdout closed by its reader ends with 141',
    ['terminal/output.ts', 'if (readerGone.has(code))', 'if (false)'],
    ['terminal/lasting-output.ts', "error.class !== 'not-written'", 'false'],
    ['run.ts', "new Set<ErrorClass>(['closed', ", 'new Set<ErrorClass>(['],
  ),
  'stdout full': [
    ...noticedBy(
      'faults/recover',
      'stdout full: text is kept',
      ['terminal/lasting-output.ts', 'failure = error;', ''],
      ['run.ts', 'await keepLost(failure, thrown, context);', ''],
    ),
    ...noticedBy('faults/recover', 'stdout full: the JSON document is kept', [
      'run.ts',
      'return keepReply(failure, report, io);',
      'return failure;',
    ]),
    ...noticedBy('terminal/process-io', 'stdout full: a disk that takes a part only', [
      'terminal/output.ts',
      'isFile(place) ? fileWriter(place.fd) : streamWriter(place.stream)',
      'streamWriter(place.stream)',
    ]),
  ],
  'slow reader': noticedBy(
    terminal,
    'slow reader: the server is held back',
    ['transport/chunk-queue.ts', 'return this.#bytes < highWaterBytes;', 'return true;'],
    [
      'terminal/output.ts',
      'target.write(chunk, (error) => (error ? reject(error) : resolve()));',
      'target.write(chunk, (error) => void (error && reject(error))), resolve();',
    ],
  ),
  'SIGINT, SIGTERM, SIGHUP': [
    ...noticedBy('faults/signals', 'SIGINT, SIGTERM, SIGHUP: SIGINT waiting', [
      'program.ts',
      'if (received !== undefined) return dieBy(received);',
      '',
    ]),
    ...noticedBy(
      'faults/signals',
      'SIGINT, SIGTERM, SIGHUP: SIGTERM mid-write',
      ['program.ts', 'abort.abort(new GatewayError(classes[signal], `ended by ${signal}`));', ''],
      ['commands/image/output.ts', 'context.atEnd(() => store.discard());', ''],
    ),
    ...noticedBy('faults/signals', 'SIGINT, SIGTERM, SIGHUP: SIGHUP mid-stream', [
      'commands/chat/print.ts',
      'await payload.end();',
      '',
    ]),
    ...noticedBy('faults/signals', 'SIGINT where the reader of stdout is stuck: the first bounds', [
      'program.ts',
      'setTimeout(() => dieBy(signal), ending.patience.ms).unref();',
      '',
    ]),
    ...noticedBy('faults/signals', 'SIGINT where the reader of stdout is stuck: a second ends', [
      'program.ts',
      'if (received !== undefined) return dieBy(signal);',
      'if (received !== undefined) return;',
    ]),
  ],
  'stdin huge, binary, closed': [
    ...noticedBy(terminal, 'stdin huge, binary, closed: huge, beside no prompt', [
      'terminal/stdin-text.ts',
      'if (bytes > maxBytes) throw tooMuch(maxBytes);',
      '',
    ]),
    ...noticedBy(terminal, 'stdin huge, binary, closed: binary', [
      'terminal/decode-text.ts',
      'if (isUtf8(bytes)) return',
      'return',
    ]),
    ...noticedBy(terminal, 'stdin huge, binary, closed: closed', [
      'commands/prompt.ts',
      'if (!rules.optional) throw missingPrompt',
      'if (false) throw missingPrompt',
    ]),
  ],
  'stdin is a terminal': noticedBy(terminal, 'stdin is a terminal', [
    'terminal/stdin-text.ts',
    "kind === 'terminal' || ",
    '',
  ]),
  'unhandled rejection': noticedBy(
    terminal,
    'unhandled rejection of a promise',
    ['program.ts', "process.on('uncaughtException',", "process.on('nothing',"],
    ['program.ts', 'abort.abort(value);', ''],
    ['run.ts', 'run.redact(formatError(error))', 'formatError(error)'],
  ),
} satisfies Record<string, Guard[]>;
