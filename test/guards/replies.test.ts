import { endless } from './replies-endless.ts';
import { counts, pictures } from './replies-pictures.ts';
import { type Guard, guards } from './guard.ts';

const faults = 'test/faults/replies.test.ts';

/** A guard that a test of test/faults/replies.test.ts misses. */
const guard = (file: string, [find, replace]: [string, string], title: string): Guard => ({
  file: `src/${file}`,
  find,
  replace,
  test: faults,
  title: `faults 2b: ${title}`,
});

guards('2b', {
  ...endless,
  'last event lacks the blank line': [
    guard(
      'transport/sse.ts',
      ['const rest = cut(`${decode()}\\n\\n`, 0);', 'const rest = cut(decode(), 0);'],
      'last event lacks the blank line: it is a delta',
    ),
    guard(
      'client/messages.ts',
      ["if ('unterminated' in event && ", 'if (false && '],
      'last event lacks the blank line: it is cut in its middle',
    ),
    guard(
      'client/messages.ts',
      ['if (message.complete) return', 'if (true) return'],
      'last event lacks the blank line: it is a delta',
    ),
    guard(
      'formats/messages/events.ts',
      ['return state.ended || state.stopReason !== undefined;', 'return state.ended;'],
      'last event lacks the blank line: it is the stop reason',
    ),
  ],
  'UTF-8 split, BOM': [
    {
      file: 'src/transport/sse.ts',
      find: 'decoder.decode(chunk, { stream: true })',
      replace: 'decoder.decode(chunk)',
      // Bytes that a server writes one by one may be joined on their way.
      test: 'test/transport/sse.test.ts',
      title: 'faults 2b: UTF-8 split, BOM: at every byte offset',
    },
    guard(
      'transport/sse.ts',
      ['new TextDecoder()', "new TextDecoder('utf-8', { ignoreBOM: true })"],
      'UTF-8 split, BOM in front of a delta',
    ),
  ],
  'event: error after 200': [
    guard(
      'formats/messages/events.ts',
      ['if (!state.ended) throwError(state, type, payload);', ''],
      'event: error after 200: overloaded',
    ),
    guard(
      'formats/messages/events.ts',
      ['if (!isError || (!error && type', 'if (type !== "error" || !isError || (!error && type'],
      'event: error after 200: an error without a type',
    ),
    guard(
      'client/read-json.ts',
      ['if (findErrorInReply(value)) throw', 'if (false) throw'],
      'event: error after 200: a whole body',
    ),
    guard(
      'client/content.ts',
      ['if (!(error instanceof GatewayError) || value.length === 0) throw error;', 'throw error;'],
      'event: error after 200: in the content format',
    ),
    guard(
      'commands/payload.ts',
      ["if (last !== '' && last !== '\\n') await", 'if (false) await'],
      'event: error after 200',
    ),
  ],
  'JSON broken': [
    guard(
      'client/read-json.ts',
      ['closeCutJson(text);', "closeCutJson(text) ?? '{}';"],
      'JSON broken: HTML of a captive portal',
    ),
    guard(
      'formats/quote.ts',
      ['characters.length <= limit ? line', 'true ? line'],
      'JSON broken: at most 200 characters are quoted',
    ),
    guard(
      'terminal/error-text.ts',
      ['escapeLine(error.message)', 'error.message'],
      'JSON broken: HTML of a captive portal',
    ),
    guard(
      'formats/messages/events.ts',
      [
        'throw badStream(`an event of the stream is no JSON',
        'return {}; throw badStream(`an event of the stream is no JSON',
      ],
      'JSON broken: of an event too',
    ),
  ],
  'deep JSON': [
    guard(
      'transport/json-scan-nesting.ts',
      ['this.#frames.length >= this.#maxDepth', 'false'],
      'deep JSON inside a reply',
    ),
  ],
  ...pictures,
  blocked: [
    guard(
      'client/verdict.ts',
      ['if (wanted.images > 0 && result.images.length === 0) return', 'if (false) return'],
      'blocked: words instead of a picture',
    ),
    guard('client/verdict.ts', ['if (isEmpty(result)) return', 'if (false) return'], 'blocked: SAFETY'),
    guard('client/verdict.ts', ['if (refusals.has(', 'if (false && refusals.has('], 'blocked: a refusal'),
    guard('client/verdict.ts', ['if (block) facts.push(', 'if (false) facts.push('], 'blocked: SAFETY'),
    guard('client/verdict.ts', ['if (finishReason) facts.push(', 'if (false) facts.push('], 'blocked: RECITATION'),
  ],
  MAX_TOKENS: [
    guard(
      'client/verdict.ts',
      ['if (wanted.requireComplete && ', 'if (false && '],
      'MAX_TOKENS with --require-complete',
    ),
    guard('commands/settle.ts', ['if (isCutByLimit(result))', 'if (false)'], 'MAX_TOKENS is a warning'),
  ],
  ...counts,
  'error body holds our key': [
    guard(
      'commands/session.ts',
      ['context.ui.redactWith(createRedactor(secrets));', ''],
      'error body holds our key: it is hidden, and escapes too (-v)',
    ),
    guard(
      'run.ts',
      ['run.redact(JSON.stringify(document))', 'JSON.stringify(document)'],
      'error body holds our key: it is hidden, and escapes too (--json)',
    ),
    guard(
      'run.ts',
      ['escapeForTerminal(run.redact(error.stack))', 'error.stack'],
      'error body holds our key: it is hidden, and escapes too (--debug)',
    ),
    guard(
      'terminal/error-text.ts',
      ['escapeLine(error.message)', 'error.message'],
      'error body holds our key: it is hidden, and escapes too (-v)',
    ),
  ],
});
