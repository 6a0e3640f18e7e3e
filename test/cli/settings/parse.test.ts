import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { parseConfig } from '../../../src/cli/settings/parse.ts';
import { requireProfileName } from '../../../src/cli/settings/profile-name.ts';

const path = '/home/u/.config/gateway-cli/config.json';

function failureOf(source: string): GatewayError {
  try {
    parseConfig(source, path);
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error('parsed');
}

const inWork = (profile: string) => `{"profiles": {"work": ${profile}}}`;

describe('parseConfig', () => {
  test.each([
    ['nothing', ''],
    ['blanks', ' \n'],
    ['an empty object', '{}'],
    ['a byte order mark', '\uFEFF{}'],
  ])('takes %s for no profiles', (_name, source) => {
    expect(parseConfig(source, path)).toEqual({ profiles: {} });
  });

  test('reads every key of a profile', () => {
    const work = {
      baseUrl: 'https://gateway.example/proxy',
      apiKeyCommand: ['pass', 'show', 'gateway'],
      models: { text: 't', image: 'i', edit: 'e', chat: 'c' },
      auth: { text: 'bearer', image: 'api-key', messages: 'auto' },
      headerNames: { apiKey: 'x-goog-api-key', version: 'anthropic-version' },
      headers: { 'X-Team': 'docs', Authorization: 'Basic abc' },
      maxTokens: 100,
      timeout: '90s',
      allowHttp: true,
      preview: false,
    };
    const source = JSON.stringify({ $schema: './x.json', profile: 'work', profiles: { work } });
    expect(parseConfig(source, path)).toEqual({ $schema: './x.json', profile: 'work', profiles: { work } });
  });

  test('keeps the order of the file', () => {
    const source = '{"profiles":{"b":{"timeout":5,"baseUrl":"http://x"},"a":{}},"profile":"a"}';
    expect(JSON.stringify(parseConfig(source, path))).toBe(source);
  });

  test.each([
    ['an unknown key', inWork('{"base_url": "https://x"}'), 'profiles.work.base_url is unknown; did you mean baseUrl?'],
    ['a far-off key', inWork('{"zzzzzzzz": 1}'), 'profiles.work.zzzzzzzz is unknown; known are service, baseUrl'],
    ['an unknown key at the top', '{"profilez": {}}', 'profilez is unknown; did you mean profile'],
    ['a list', '[]', 'the document must be an object, not a list'],
    ['a word', '"x"', 'the document must be an object, not a string'],
    ['null for a profile', inWork('null'), 'profiles.work must be an object, not null'],
    ['a bad timeout', inWork('{"timeout": "soon"}'), 'profiles.work.timeout is not a duration: "soon"'],
    ['no timeout', inWork('{"timeout": 0}'), 'profiles.work.timeout takes a duration above 0'],
    ['a timeout of another kind', inWork('{"timeout": true}'), 'profiles.work.timeout must be seconds'],
    ['an empty key', inWork('{"apiKey": " "}'), 'profiles.work.apiKey must not be empty'],
    ['a number as key', inWork('{"apiKey": 5}'), 'profiles.work.apiKey must be a string, not a number'],
    [
      'two keys',
      inWork('{"apiKey": "k", "apiKeyFile": "f"}'),
      'profiles.work.apiKeyFile cannot be combined with apiKey',
    ],
    [
      'a shell command',
      inWork('{"apiKeyCommand": "pass show | head -1"}'),
      'profiles.work.apiKeyCommand is run without a shell',
    ],
    ['an empty command', inWork('{"apiKeyCommand": []}'), 'profiles.work.apiKeyCommand must be a list'],
    ['a number in a command', inWork('{"apiKeyCommand": ["a", 1]}'), 'profiles.work.apiKeyCommand[1] must be a string'],
    [
      'a mistyped use of a model',
      inWork('{"models": {"imgae": "v"}}'),
      'profiles.work.models.imgae is unknown; did you mean image?',
    ],
    ['a model that is no text', inWork('{"models": {"fast": 1}}'), 'profiles.work.models.fast must be a string'],
    ['another use', inWork('{"auth": {"video": "auto"}}'), 'profiles.work.auth.video is unknown'],
    [
      'another form',
      inWork('{"auth": {"text": "basic"}}'),
      'profiles.work.auth.text must be one of auto, api-key, bearer',
    ],
    ['no URL', inWork('{"baseUrl": "localhost:8080"}'), 'profiles.work.baseUrl must be a URL that begins with'],
    ['another scheme', inWork('{"baseUrl": "ftp://x"}'), 'profiles.work.baseUrl must be a URL that begins with'],
    ['no header name', inWork('{"headers": {"a b": "c"}}'), 'profiles.work.headers."a b" is not a header name'],
    ['a hop header', inWork('{"headers": {"Host": "c"}}'), 'profiles.work.headers.Host is set by the connection'],
    [
      'a header over two lines',
      inWork('{"headers": {"a": "b\\nc"}}'),
      'profiles.work.headers.a has a character at position 2',
    ],
    ['half a token', inWork('{"maxTokens": 0.5}'), 'profiles.work.maxTokens must be a whole number from 1 on'],
    [
      'a word for a switch',
      inWork('{"allowHttp": "yes"}'),
      'profiles.work.allowHttp must be true or false, not a string',
    ],
    ['a profile without a name', '{"profiles": {"": {}}}', 'profiles."" cannot name a profile'],
    [
      'a default that is not there',
      '{"profile": "x", "profiles": {"a": {}, "b": {}}}',
      'profile names a profile that does not exist; there are: a, b',
    ],
    [
      'a use without its profile',
      '{"profile": {"chat": "x"}, "profiles": {"a": {}}}',
      'profile.chat names a profile that does not exist; there are: a',
    ],
    ['a mistyped use', '{"profile": {"imgae": "a"}}', 'profile.imgae is unknown; did you mean image?'],
    ['a number for a use', '{"profile": {"text": 5}}', 'profile.text must be a string, not a number'],
    ['a list of profiles', '{"profile": ["a"]}', 'profile must be the name of a profile, or a map'],
  ])('refuses %s and says where', (_name, source, message) => {
    const error = failureOf(source);
    expect(error.class).toBe('usage');
    expect(error.message).toContain(`${path}: ${message}`);
  });

  test.each([
    ['__proto__ at the top', '{"__proto__": {"polluted": 1}}'],
    ['__proto__ as a profile', '{"profiles": {"__proto__": {"polluted": 1}}}'],
    ['__proto__ in a profile', inWork('{"__proto__": {"polluted": 1}}')],
    ['constructor in a profile', inWork('{"constructor": {"prototype": {"polluted": 1}}}')],
  ])('%s is refused, and touches no prototype', (_name, source) => {
    expect(failureOf(source).message).toMatch(/__proto__|constructor/);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test.each([
    ['a profile', '{"profiles": {"constructor": {}}}'],
    ['a header', inWork('{"headers": {"__proto__": "x"}}')],
  ])('%s cannot have a name that every object knows', (_name, source) => {
    expect(failureOf(source).message).toContain('cannot hold the names __proto__, constructor, prototype');
  });

  test('never quotes a value, which may be a key', () => {
    for (const source of [
      inWork('{"apiKey": ["sk-canary"]}'),
      inWork('{"apiKey": "sk-canary" "b": 1}'),
      '{"a": sk-canary}',
    ]) {
      expect(failureOf(source).message).not.toContain('canary');
    }
  });
});

test.each(['work', 'a', '9lives', 'my.profile_2-b'])('%s may name a profile', (name) => {
  expect(requireProfileName(name)).toBe(name);
});

test.each(['', '-x', '__proto__', 'constructor', 'a b', 'a/b', 'x'.repeat(65), 'a\n'])(
  '%j may not name a profile',
  (name) => {
    expect(() => requireProfileName(name)).toThrow('cannot name a profile');
  },
);
