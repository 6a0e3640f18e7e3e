import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  Secret,
  createMasker,
  createRedaction,
  createRedactor,
  hiddenHeaderNames,
  isCredential,
  listCredentials,
  redactHeaders,
} from '../../../src/cli/settings/redact.ts';

const key = 'sk-canary/+1234?x';

test('only reveal shows a Secret', () => {
  const secret = new Secret(key);
  const shown = [
    `${secret}`,
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }, { depth: 9, showHidden: true }),
  ];
  for (const text of shown) expect(text).toContain('(redacted)');
  for (const text of [...shown, JSON.stringify(Object.entries(secret)), inspect(secret)])
    expect(text).not.toContain('canary');
  expect(secret.reveal()).toBe(key);
});

describe('createRedactor', () => {
  const redact = (text: string) => createRedactor([new Secret(key), new Secret('an"other\\one')])(text);

  test.each([
    ['as it is', `key ${key}.`, 'key (redacted).'],
    ['twice', `${key}${key}`, '(redacted)(redacted)'],
    ['URL-encoded', `?key=${encodeURIComponent(key)}&`, '?key=(redacted)&'],
    ['in Base64', Buffer.from(key).toString('base64'), '(redacted)'],
    ['in base64url', Buffer.from(key).toString('base64url'), '(redacted)'],
    ['JSON-escaped', JSON.stringify({ k: 'an"other\\one' }), '{"k":"(redacted)"}'],
    ['with blanks around it in the text', ` ${key}\n`, ' (redacted)\n'],
    ['not at all', 'nothing here', 'nothing here'],
  ])('hides a secret %s', (_name, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  test.each([0, 1, 2, 3, 4, 5])('hides a secret inside longer Base64, %d bytes in', (lead) => {
    const whole = Buffer.from(`${'u'.repeat(lead)}${key}:rest`).toString('base64');
    const shown = redact(whole);
    expect(shown).toContain('(redacted)');
    expect(Buffer.from(shown.replace('(redacted)', ''), 'base64').toString('latin1')).not.toContain('canary');
    expect(shown.length).toBeLessThan(whole.length);
  });

  test('takes the characters of a secret as they are, not as a pattern', () => {
    const odd = createRedactor([new Secret('a.c*[x]$^(1)|\\')]);
    expect(odd('a.c*[x]$^(1)|\\ abc')).toBe('(redacted) abc');
  });

  test('hides the longer one of two secrets with the same beginning', () => {
    const both = createRedactor([new Secret('secret'), new Secret('secret-two')]);
    expect(both('secret-two secret')).toBe('(redacted) (redacted)');
  });

  test('a key of one plain word is hidden inside other words from 16 characters on', () => {
    const [long, short] = ['abcdefghijklmnop', 'abcdefghijklmno'];
    expect(createRedactor([new Secret(long)])(`x${long}x`)).toBe('x(redacted)x');
    expect(createRedactor([new Secret(short)])(`x${short}x ${short}`)).toBe(`x${short}x (redacted)`);
  });

  test('a key that is no plain word is hidden inside other words from 8 characters on', () => {
    expect(createRedactor([new Secret('s3cretab')])('xs3cretabx')).toBe('x(redacted)x');
    expect(createRedactor([new Secret('s3creta')])('xs3cretax s3creta')).toBe('xs3cretax (redacted)');
  });

  test('leaves a secret of two characters, and hides one of three', () => {
    expect(createRedactor([new Secret('ab'), new Secret('xyz')])('ab xyz')).toBe('ab (redacted)');
  });

  test('hides a secret whose Base64 has + and /, in both alphabets', () => {
    const odd = 'sk-~~~>>>???~~~';
    const plain = Buffer.from(odd).toString('base64');
    expect(plain).toMatch(/[+/]/);
    const told = createRedactor([new Secret(odd)])(`${plain} ${Buffer.from(odd).toString('base64url')}`);
    expect(told).toBe('(redacted) (redacted)');
  });

  test('hides short secrets only as whole words, and the shortest never', () => {
    const short = createRedactor([new Secret('abc'), new Secret('1'), new Secret('')]);
    expect(short('abc abcd xabc "abc" 1 HTTP/1.1')).toBe('(redacted) abcd xabc "(redacted)" 1 HTTP/1.1');
  });

  test('the characters of a short secret are no pattern, either', () => {
    const odd = createRedactor([new Secret('a.c'), new Secret('(x]')]);
    expect(odd('abc a.c (x] x')).toBe('abc (redacted) (redacted) x');
  });

  test('hides a secret that was given with blanks around it', () => {
    expect(createRedactor([new Secret(` ${key}\r\n`)])(`the key ${key} is`)).toBe('the key (redacted) is');
  });

  test('changes nothing where there are no secrets', () => {
    expect(createRedactor([])('any text, undefined')).toBe('any text, undefined');
  });

  test('takes a long text in its stride', () => {
    const text = 'sk-canar'.repeat(500_000);
    expect(redact(text)).toBe(text);
  });
});

describe('createMasker', () => {
  test('hides a secret by as many stars, and knows the length of its longest spelling', () => {
    const { hide, reach } = createMasker([new Secret(key)]);
    expect(hide(`${key}:abc`)).toBe(`${'*'.repeat(key.length)}:abc`);
    expect(reach).toBeGreaterThanOrEqual(encodeURIComponent(key).length);
  });

  test.each(['abc', 's3cret', 'swordfish', 'unit-test', '1234567890'])(
    'leaves %s, which a reply may hold by chance',
    (value) => {
      const { hide, reach } = createMasker([new Secret(value)]);
      expect([hide(`{"${value}":"${value}"}`), reach]).toEqual([`{"${value}":"${value}"}`, 0]);
    },
  );

  test('changes nothing where there are no secrets', () => {
    const { hide, reach } = createMasker([]);
    expect([hide('any text, undefined'), reach]).toEqual(['any text, undefined', 0]);
  });
});

describe('createRedaction', () => {
  test('cleans every string and name of a value, and leaves numbers and structure', () => {
    const { clean } = createRedaction([new Secret(key), new Secret('true'), new Secret('text')]);
    const value = { text: [`a ${key}`, 1, true, null, { [key]: 'text' }], none: undefined };
    expect(clean(value)).toEqual({ text: ['a (redacted)', 1, true, null, { '(redacted)': 'text' }], none: undefined });
  });

  test('hides what follows the scheme of a header, too', () => {
    const { redact, clean } = createRedaction([new Secret(`Bearer ${key}`)]);
    expect([redact(`no ${key}`), clean([`no ${key}`])]).toEqual(['no (redacted)', ['no (redacted)']]);
  });

  test('a short secret is hidden in messages if it is not part of a longer name', () => {
    const { redact } = createRedaction([new Secret('test')]);
    const text = 'test, "test": Bearer test. unit-test test-2 test.js a/test test_x';
    expect(redact(text)).toBe('(redacted), "(redacted)": Bearer (redacted). unit-test test-2 test.js a/test test_x');
  });
});

test('redactHeaders hides by name, by value and by names that are given', () => {
  const redact = createRedactor([new Secret('sk-canary')]);
  const headers = {
    authorization: 'Bearer sk-other',
    'x-goog-api-key': 'sk-other',
    'X-Odd': 'sk-other',
    'x-note': 'uses sk-canary',
    'content-type': 'application/json',
    'x-ratelimit-remaining-tokens': '5',
  };
  expect(redactHeaders(headers, redact, ['x-odd'])).toEqual({
    authorization: 'Bearer (redacted)',
    'x-goog-api-key': '(redacted)',
    'X-Odd': '(redacted)',
    'x-note': 'uses (redacted)',
    'content-type': 'application/json',
    'x-ratelimit-remaining-tokens': '5',
  });
});

test('names of members are redacted too, and no member is lost', () => {
  const key = 'sk-canary-7f3a9c51';
  const { clean } = createRedaction([new Secret(key)]);
  const shown = clean({ [key]: 1, a: [{ [`x${key}`]: 2 }], '(redacted)': 3 });
  expect(JSON.stringify(shown)).not.toContain('canary');
  expect(shown).toEqual({ '(redacted)': 1, a: [{ 'x(redacted)': 2 }], '(redacted) 2': 3 });
  const both = createRedaction([new Secret(key), new Secret('sk-other-7f3a9c51')]);
  expect(both.clean({ [key]: 1, 'sk-other-7f3a9c51': 2, '(redacted)': 3 })).toEqual({
    '(redacted)': 1,
    '(redacted) 2': 2,
    '(redacted) 3': 3,
  });
});

test.each([
  ['authorization', 'x', true],
  ['x-corp-token', 'x', true],
  ['idempotency-key', 'x', false],
  ['x-team', 'docs', false],
  ['x-team', 'abcdefgh12345678', true],
  ['x-team', 'abcdefgh1234567', false],
  ['x-team', 'abcdefghijklmnopqr', false],
  ['x-team', '123456789012345678', false],
  ['x-team', 'abcdefghijklmnopqr abcdefgh12345678', true],
])('whether a header is a credential, by its name or by a long run of letters and digits: %s: %s', (...row) => {
  const [name, value, expected] = row;
  expect(isCredential(name, value)).toBe(expected);
});

test('of headers of a file all are hidden, and those that are credentials are searched for beside the key', () => {
  const header = (name: string, value: string | Secret) => ({ name, value });
  const [token, team, key] = ['t0ken-of-corp', 'docs', 'sk-canary'].map((value) => new Secret(value)) as [
    Secret,
    Secret,
    Secret,
  ];
  const headers = [header('x-corp-token', token), header('x-team', team), header('x-plain-token', 'in the clear')];
  expect(listCredentials({ headers })).toEqual([{ name: 'header x-corp-token', secret: token }]);
  expect(listCredentials({ headers }, key).map(({ name, secret }) => [name, secret.reveal()])).toEqual([
    ['the key', 'sk-canary'],
    ['header x-corp-token', 't0ken-of-corp'],
  ]);
  const apiKey = 'x-own-key';
  const names = (more: object) =>
    hiddenHeaderNames({ headers, headerNames: more } as Parameters<typeof hiddenHeaderNames>[0]);
  expect(names({})).toEqual(['x-corp-token', 'x-team']);
  expect(names({ apiKey })).toEqual(['x-corp-token', 'x-team', 'x-own-key']);
});
