import { connectGuards } from './connecting.ts';
import { type Guard, guards } from './guard.ts';

const program = (title: string) => ({ test: 'test/faults/transport.test.ts', title: `faults 2a: ${title}` });
const transport = (name: string, title: string) => ({
  test: `test/transport/${name}.test.ts`,
  title: `faults 2a: ${title}`,
});

const fault = 'src/transport/fault.ts';
const exchange = 'src/transport/exchange.ts';
const deadline = 'src/client/deadline.ts';

const exchangeGuards: Record<string, readonly Guard[]> = {
  'connect hangs': [
    {
      file: 'src/transport/transport.ts',
      find: 'const defaultConnectTimeoutMs = 10_000;',
      replace: 'const defaultConnectTimeoutMs = 2 ** 31 - 1;',
      ...transport('faults-connect', 'connect hangs: ten seconds'),
    },
    {
      file: deadline,
      find: "if (phase === 'unsent')",
      replace: 'if (false)',
      test: 'test/faults/connect.test.ts',
      title: 'faults 2a: connect hangs',
    },
  ],
  'headers never come': [
    {
      file: deadline,
      find: 'controller.abort(timeout);',
      replace: '',
      ...transport('faults-time', 'headers never come: the deadline'),
    },
    { file: deadline, find: "if (phase === 'sent')", replace: 'if (false)', ...program('headers never come') },
    { file: exchange, find: 'headersTimeout: 0,', replace: '', ...transport('exchange-rules', 'headers never come') },
  ],
  'slow-loris body': [
    {
      file: exchange,
      find: "options.signal.addEventListener('abort', this.#onAbort, { once: true });",
      replace: '',
      ...transport('faults-time', 'slow-loris body: bytes that drip'),
    },
    {
      file: 'src/transport/transport.ts',
      find: 'const defaultIdleTimeoutMs = 120_000;',
      replace: 'const defaultIdleTimeoutMs = 2 ** 31 - 1;',
      ...transport('faults-time', 'slow-loris body: a silence'),
    },
    { file: exchange, find: 'bodyTimeout: 0,', replace: '', ...transport('exchange-rules', 'headers never come') },
  ],
  'RST or FIN mid-body': [
    { file: fault, find: "if (phase === 'body')", replace: 'if (false)', ...program('RST or FIN mid-body') },
    {
      file: exchange,
      find: 'else this.#queue.end(error, { atOnce });',
      replace: 'else this.#queue.end();',
      ...transport('faults-reply', 'RST or FIN mid-body'),
    },
  ],
  'clean early close': [
    {
      file: 'src/client/messages.ts',
      find: 'if (message.complete) return { result, error: options.store.failure() };',
      replace: 'if (true) return { result, error: options.store.failure() };',
      ...program('clean early close: a stream'),
    },
    {
      file: 'src/client/content.ts',
      find: 'if (isEnded(value)) return { value };',
      replace: 'if (true) return { value };',
      ...program('clean early close: a content stream'),
    },
    {
      file: 'src/client/read-json.ts',
      find: 'return { value: JSON.parse(closed) as unknown, cut: error };',
      replace: 'return { value: JSON.parse(closed) as unknown, cut: undefined };',
      ...program('clean early close: a JSON body'),
    },
  ],
  'keep-alive race': [
    { file: exchange, find: "this.#phase = 'waiting';", replace: '', ...program('keep-alive race') },
    {
      file: 'src/transport/retry.ts',
      find: "if (outcome.kind === 'final') return false;",
      replace: "if (outcome.kind === 'final') return true;",
      ...program('keep-alive race'),
    },
    {
      file: 'src/transport/attempts.ts',
      find: "error.class === 'not-sent' ? { kind: 'not-sent', retryable } : { kind: 'final' }",
      replace: "{ kind: 'final' }",
      test: 'test/faults/connect.test.ts',
      title: 'faults 2a: CONNECT fails',
    },
  ],
  'early 413': [
    {
      file: 'src/transport/read-body.ts',
      find: '} catch {',
      replace: '} catch (error) { throw error;',
      ...program('early 413 whose connection breaks'),
    },
  ],
  malformed: [
    {
      file: fault,
      find: "error.name === 'HTTPParserError'",
      replace: 'false',
      ...program('malformed head: a malformed status line'),
    },
    {
      file: fault,
      find: "code === 'UND_ERR_HEADERS_OVERFLOW' || ",
      replace: '',
      ...program('malformed head: a head of 70 KB'),
    },
    {
      file: fault,
      find: " || (phase === 'waiting' && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')",
      replace: '',
      ...transport('faults-reply', 'malformed status line, 16 KB+ headers, CL plus TE: two Content-Lengths'),
    },
  ],
  // Version 7 of undici offers HTTP/1.1 alone unless it is told otherwise.
  'HTTP/2': [
    {
      file: 'src/transport/connector.ts',
      find: 'timeout: connectTimeoutMs,',
      replace: 'timeout: connectTimeoutMs, allowH2: true,',
      ...program('HTTP/2'),
    },
  ],
  'clock skew': [
    {
      file: 'src/transport/retry-hint.ts',
      find: "httpDate(headers['date']) ?? now",
      replace: 'now',
      ...program('clock skew'),
    },
  ],
};

guards('2a', { ...connectGuards, ...exchangeGuards });
