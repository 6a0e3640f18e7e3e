import type { Guard } from './guard.ts';

/** A guard that a test of test/faults/endless-replies.test.ts misses. */
const guard = (file: string, [find, replace]: [string, string], title: string): Guard => ({
  file: `src/${file}`,
  find,
  replace,
  test: 'test/faults/endless-replies.test.ts',
  title: `faults 2b: ${title}`,
});

/** The rows of 2b that are of too much. */
export const endless = {
  'huge body': [
    guard(
      'client/read-json.ts',
      ['const mostBytes = 256 * 1024 * 1024;', 'const mostBytes = Infinity;'],
      'huge body: a text without end',
    ),
    guard(
      'transport/attempts.ts',
      ['const errorBodyBytes = 1024 * 1024;', 'const errorBodyBytes = Infinity;'],
      'huge body: of an error',
    ),
  ],
  'decompression bomb': [
    guard('transport/exchange.ts', [", 'accept-encoding': 'identity', ", ', '], 'decompression bomb: truncated gzip'),
    guard(
      'transport/reply-head.ts',
      ["if (coding === '' || coding === 'identity') return", 'if (true) return'],
      'decompression bomb',
    ),
  ],
  'giant SSE line': [
    guard(
      'transport/sse.ts',
      ['maxEventBytes = 64 * mebibyte', 'maxEventBytes = Infinity'],
      'giant SSE line is exit 9',
    ),
    guard('transport/sse.ts', ['maxBufferSize: maxEventBytes,', ''], 'giant SSE line is exit 9'),
    guard(
      'transport/sse.ts',
      ["if (error.type === 'max-buffer-size-exceeded') fail(tooLarge);", ''],
      'giant SSE line is exit 9',
    ),
    {
      file: 'src/transport/sse.ts',
      find: 'if (data.length > maxEventBytes) fail(tooLarge);\n      else ',
      replace: '',
      test: 'test/transport/sse.test.ts',
      title: 'faults 2b: giant SSE line, endless stream: one event that lies whole in one chunk',
    },
  ],
  'endless stream': [
    guard(
      'client/deadline.ts',
      ['controller.abort(timeout);', ''],
      'endless stream: pings for ever end with the deadline',
    ),
    guard('transport/sse.ts', ['maxEvents = 10_000_000', 'maxEvents = Infinity'], 'endless stream: ten million events'),
    guard(
      'transport/sse.ts',
      ['if (count.events > maxEvents) fail', 'if (false) fail'],
      'endless stream: ten million events',
    ),
    guard('transport/sse.ts', ['maxBytes = 1024 * mebibyte', 'maxBytes = Infinity'], 'endless stream: 1 GiB'),
    guard('transport/sse.ts', ['if (count.bytes > maxBytes) fail', 'if (false) fail'], 'endless stream: 1 GiB'),
    {
      file: 'src/formats/messages/events.ts',
      find: 'if (state.length > mostCharacters) throw',
      replace: 'if (false) throw',
      test: 'test/formats/messages/stream-errors.test.ts',
      title: 'faults 2b: endless stream: the words of an answer have a bound',
    },
  ],
};
