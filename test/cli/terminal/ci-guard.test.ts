import { expect, test } from 'vitest';
import { createCiGuard, githubErrorLine, isReadByCi } from '../../../src/cli/terminal/ci-guard.ts';

const hidden = '\u200b';

test.each([
  ['a command', '::error::x', `${hidden}::error::x`],
  ['one after blanks', 'a\n \t::stop-commands::x', `a\n \t${hidden}::stop-commands::x`],
  ['one after a lone carriage return', 'a\r::x', `a\r${hidden}::x`],
  ['one of the old form', 'text ##[error]x', `text ##${hidden}[error]x`],
  ['one of the old form with more hashes', '###[x', `###${hidden}[x`],
  ['colons within a line', 'a ::error::x', 'a ::error::x'],
  ['hashes without a bracket', '## a #[x] ##a[', '## a #[x] ##a['],
  ['hashes of two lines', '#\n#[x', '#\n#[x'],
  ['nothing of the kind', 'plain', 'plain'],
])('%s', (_name, text, safe) => {
  expect(createCiGuard()(text)).toBe(safe);
  const byCharacters = createCiGuard();
  expect(Array.from(text, (character) => byCharacters(character)).join('')).toBe(safe);
});

test.each([
  [{ GITHUB_ACTIONS: 'true' }, {}, true],
  [{ GITHUB_ACTIONS: 'true' }, { isFile: false }, true],
  [{ GITHUB_ACTIONS: 'true' }, { isFile: true }, false],
  [{ GITHUB_ACTIONS: 'false' }, {}, false],
  [{}, {}, false],
])('with %j and %j a runner reads along: %s', (env, output, expected) => {
  expect(isReadByCi(env, output)).toBe(expected);
});

test.each([
  ['a message', 'no model', 'gateway-cli', '::error title=gateway-cli::no model'],
  ['line breaks and percent signs', '50%\r\n::stop-commands::x', 't', '::error title=t::50%25%0D%0A::stop-commands::x'],
  ['a title with separators', 'm', 'a:b,c%\n', '::error title=a%3Ab%2Cc%25%0A::m'],
])('githubErrorLine escapes %s', (_name, message, title, expected) => {
  expect(githubErrorLine(message, title)).toBe(expected);
});
