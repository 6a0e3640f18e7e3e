import { describe, expect, test } from 'vitest';
import { GatewayError, usageError } from '../../src/errors.ts';
import { formatError } from '../../src/terminal/error-text.ts';
import { githubErrorLine } from '../../src/terminal/output.ts';

describe('formatError', () => {
  test.each([
    ['a message', usageError('no model is set'), 'gateway-cli: usage: no model is set'],
    [
      'a hint',
      usageError('no model is set', 'set GATEWAY_MODEL'),
      'gateway-cli: usage: no model is set\n  set GATEWAY_MODEL',
    ],
    ['a hint of two lines', usageError('no', 'one\n\ntwo\n'), 'gateway-cli: usage: no\n  one\n  two'],
    [
      'the request',
      new GatewayError('not-sent', 'refused', { request: 'POST https://x/v1/messages', hint: 'try' }),
      'gateway-cli: not-sent: refused (POST https://x/v1/messages)\n  try',
    ],
    [
      'what the server said, harmless and on one line',
      new GatewayError('rejected', 'no\ngateway-cli: ok\u001b[2J', { hint: '\u001b]0;x\u0007' }),
      'gateway-cli: rejected: no gateway-cli: ok^[[2J\n  ^[]0;x^G',
    ],
  ])('prints %s', (_name, error, expected) => {
    expect(formatError(error, (text) => text)).toBe(expected);
  });
});

test.each([
  ['a message', 'no model', 'gateway-cli', '::error title=gateway-cli::no model'],
  ['line breaks and percent signs', '50%\r\n::stop-commands::x', 't', '::error title=t::50%25%0D%0A::stop-commands::x'],
  ['a title with separators', 'm', 'a:b,c%\n', '::error title=a%3Ab%2Cc%25%0A::m'],
])('githubErrorLine escapes %s', (_name, message, title, expected) => {
  expect(githubErrorLine(message, title)).toBe(expected);
});
