import { describe, expect, test } from 'vitest';
import { chooseHint } from '../../../src/library/reasons.ts';
import { type FailedReply, readFailedReply } from '../../../src/library/formats/failure.ts';
import { byAuthUse } from '../../../src/library/formats/format.ts';
import { type ServiceName, services } from '../../../src/library/vendors/services.ts';
import { getKeyHeader } from '../../../src/library/client/endpoint.ts';

/** What decides how a key is sent; the hints change it. */
interface Start {
  use: 'text' | 'image' | 'messages';
  service?: ServiceName;
  auth?: 'auto' | 'api-key' | 'bearer';
  headerNames?: string;
}

/** A reply by its status and its body: a message, or the error of one of the two vendors. */
type Said = [status: number, body: string];

const google = (status: number, name: string, message: string, reason?: string): Said => [
  status,
  JSON.stringify({ error: { code: status, message, status: name, details: reason === undefined ? [] : [{ reason }] } }),
];
const anthropic = (status: number, type: string, message: string): Said => [
  status,
  JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' }),
];
const relay = (status: number, message: string): Said => [status, JSON.stringify({ error: { message } })];

const unregistered = google(
  403,
  'PERMISSION_DENIED',
  "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
);
const oauth = google(
  401,
  'UNAUTHENTICATED',
  'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.',
  'ACCESS_TOKEN_TYPE_UNSUPPORTED',
);
const tokenOnly = google(
  401,
  'UNAUTHENTICATED',
  'API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that assert a principal.',
  'CREDENTIALS_MISSING',
);
const keyNotValid = relay(400, 'API key not valid. Please pass a valid API key.');
const keyExpired = google(400, 'INVALID_ARGUMENT', 'API key expired. Please renew the API key.', 'API_KEY_INVALID');
const leaked = google(403, 'PERMISSION_DENIED', 'Your API key was reported as leaked. Please use another API key.');
const disabled = google(
  403,
  'PERMISSION_DENIED',
  'Generative Language API has not been used in project 1 before or it is disabled.',
  'SERVICE_DISABLED',
);
const location = google(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.');
const keyRequired = anthropic(401, 'authentication_error', 'x-api-key header is required');
const keyInvalid = anthropic(401, 'authentication_error', 'invalid x-api-key');
const badBearer = anthropic(401, 'authentication_error', 'Invalid bearer token');
const noOauth = anthropic(401, 'authentication_error', 'OAuth authentication is currently not supported.');
const versionRequired = anthropic(400, 'invalid_request_error', 'anthropic-version: header is required');
const notAllowed = anthropic(403, 'forbidden', 'Request not allowed');
const badToken = relay(401, '无效的令牌');
const noKey = relay(401, 'No API key found in request');
const noAuthorization = relay(401, 'Missing Authorization header');
const badAuthorization = relay(400, 'Missing or invalid Authorization header.');
const either = relay(401, 'No API key provided. Please provide either Authorization header or x-goog-api-key header');
const cloudflare: Said = [403, '<html><head><title>Attention Required! | Cloudflare</title></head></html>'];
const noRoute: Said = [403, '{"message":"Missing Authentication Token"}'];
const openai = relay(
  401,
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
);
const noBearer = relay(401, 'Missing bearer authentication in header');
const litellm = relay(401, 'Authentication Error, No api key passed in.');
const fastapi: Said = [403, '{"detail":"Not authenticated"}'];
const azure: Said = [401, '{"statusCode":401,"message":"Access denied due to missing subscription key."}'];
const mute = relay(401, 'Unauthorized');
const unverified = relay(403, 'Your organization must be verified to use the model `gpt-image-2.6-flare`.');
const missingScopes = relay(
  401,
  'You have insufficient permissions for this operation. Missing scopes: model.request.',
);
const country = relay(403, 'Country, region, or territory not supported');

const everything = [
  [unregistered, oauth, tokenOnly, keyNotValid, keyExpired, leaked, disabled, location],
  [keyRequired, keyInvalid, badBearer, noOauth, versionRequired, notAllowed],
  [cloudflare, noRoute, openai, noBearer, litellm, fastapi, azure],
  [badToken, noKey, noAuthorization, badAuthorization, either, mute, relay(401, 'x-goog-api-key header is missing')],
].flat();

function namesOf({ service = 'gateway', headerNames = '' }: Start): { apiKey: string; version: string } {
  const own = services[service].headerNames;
  if (headerNames === 'vendors') return services.gemini.headerNames;
  const [apiKey, version] = headerNames.split(',');
  return { apiKey: apiKey || own.apiKey, version: version || own.version };
}

function refuse(start: Start, [status, body]: Said): ReturnType<typeof readFailedReply> {
  const { use, service = 'gateway', auth = 'auto' } = start;
  const names = namesOf(start);
  const form = auth === 'auto' ? services[service].auth : auth;
  const { name: header } = getKeyHeader({ auth: byAuthUse(() => form), headerNames: names }, use);
  const format: FailedReply['format'] = use === 'messages' ? 'messages' : 'content';
  return readFailedReply({
    status,
    headers: {},
    body,
    format,
    sentKey: { service, form, header, version: names.version },
  });
}

const flag = (hint: string, name: string): string | undefined => new RegExp(`--${name} (\\S+)`).exec(hint)?.[1];

/** What a user has who types what the hint says; undefined where it names nothing of this kind. */
function follow(start: Start, said: Said): Start | undefined {
  const hint = chooseHint(refuse(start, said)) ?? '';
  const auth = flag(hint, 'auth') as Start['auth'];
  const headerNames = flag(hint, 'header-names');
  if (auth === undefined && headerNames === undefined) return undefined;
  return { ...start, ...(auth && { auth }), ...(headerNames && { headerNames }) };
}

describe('the hint after a refusal of the key', () => {
  test.each<[string, Start, Said, string]>([
    ['Gemini gets no key that it knows', { use: 'text' }, unregistered, '--header-names vendors'],
    ['Gemini gets the key as bearer', { use: 'image' }, oauth, '--auth api-key --header-names vendors'],
    ['Gemini gets what is no key', { use: 'text', headerNames: 'vendors' }, oauth, 'check the key'],
    ['only access tokens are taken', { use: 'text' }, tokenOnly, '--auth bearer'],
    ['the key is not valid', { use: 'text' }, keyNotValid, 'check the key (GATEWAY_API_KEY)'],
    ['the key has expired', { use: 'text' }, keyExpired, 'check the key (GATEWAY_API_KEY)'],
    ['the key has leaked', { use: 'text' }, leaked, 'check the key (GATEWAY_API_KEY)'],
    ['the API is not enabled', { use: 'text' }, disabled, "in the vendor's console"],
    ['the place is not served', { use: 'text' }, location, 'no setting fixes this'],
    ['Anthropic gets no key', { use: 'messages', auth: 'bearer' }, keyRequired, '--auth api-key'],
    ['Anthropic gets a wrong key', { use: 'messages' }, keyInvalid, 'check the key (GATEWAY_API_KEY)'],
    ['Anthropic gets a key as bearer', { use: 'messages', auth: 'bearer' }, badBearer, '--auth api-key'],
    ['Anthropic takes no bearer', { use: 'messages', auth: 'bearer' }, noOauth, '--auth api-key'],
    ['Anthropic gets no version', { use: 'messages' }, versionRequired, '--header-names vendors'],
    ['Anthropic does not serve the network', { use: 'messages' }, notAllowed, 'no setting fixes this'],
    ['a relay gets a wrong key', { use: 'image' }, badToken, 'check the key (GATEWAY_API_KEY)'],
    ['a relay wants a bearer token', { use: 'text' }, noAuthorization, '--auth bearer'],
    ['a relay wants a bearer token, and says 400', { use: 'messages' }, badAuthorization, '--auth bearer'],
    ['a relay takes two headers', { use: 'text' }, either, '--header-names vendors'],
    ['a relay wants x-api-key', { use: 'text' }, keyRequired, '--header-names x-api-key,'],
    ['a relay finds no key', { use: 'text' }, noKey, '--header-names vendors'],
    [
      'a relay finds no key, with the names of the vendors',
      { use: 'text', headerNames: 'vendors' },
      noKey,
      '--auth bearer',
    ],
    ['a relay finds no key in the form that was chosen', { use: 'text', auth: 'bearer' }, noKey, 'doctor --live'],
    ['a guard stands before the gateway', { use: 'text' }, cloudflare, 'no setting fixes this'],
    ['a path is not there', { use: 'text' }, noRoute, 'check --model and --base-url'],
    ['a relay explains bearer tokens', { use: 'text' }, openai, '--auth bearer'],
    ['a relay misses a bearer token', { use: 'messages' }, noBearer, '--auth bearer'],
    ['LiteLLM finds no key', { use: 'messages' }, litellm, '--auth bearer'],
    ['FastAPI finds no key', { use: 'text', headerNames: 'vendors' }, fastapi, '--auth bearer'],
    ['Azure finds no key', { use: 'text' }, azure, '--header-names vendors'],
    ['nothing is said', { use: 'image' }, mute, 'doctor --live'],
    [
      'a named service gets a bearer token',
      { use: 'text', service: 'gemini', auth: 'bearer' },
      oauth,
      '--auth api-key',
    ],
    [
      'a named service gets another header',
      { use: 'text', service: 'gemini', headerNames: 'x-a,' },
      unregistered,
      '--header-names vendors',
    ],
    [
      'a named service says nothing',
      { use: 'text', service: 'gemini' },
      mute,
      'https://aistudio.google.com/apikey\ncheck the key (GATEWAY_API_KEY)',
    ],
    ['OpenAI says nothing', { use: 'text', service: 'openai' }, mute, 'api-keys\ncheck the key (GATEWAY_API_KEY)'],
    ['OpenAI gets another header', { use: 'text', service: 'openai', auth: 'api-key' }, mute, '--auth bearer'],
    ['OpenAI does not know the organization', { use: 'image', service: 'openai' }, unverified, "the vendor's console"],
    ['OpenAI restricts the key', { use: 'text', service: 'openai' }, missingScopes, "in the vendor's console"],
    ['OpenAI does not serve the place', { use: 'text', service: 'openai' }, country, 'from this place'],
  ])('when %s, names the one setting that mends it', (_, start, said, expected) => {
    const failure = refuse(start, said);
    expect(chooseHint(failure)).toContain(expected);
    expect(chooseHint(failure, 'library') ?? '').not.toMatch(/(?:^|\s)--?[a-z]/);
  });

  test.each([
    [3, keyNotValid],
    [3, keyExpired],
    [3, badAuthorization],
    [4, versionRequired],
    [4, location],
    [4, relay(400, 'Invalid token at position 3')],
    [4, relay(400, 'tools.0.input_schema.properties.authorization: Field required')],
  ])('exits %i where a 400 says %s', (code, said) => {
    expect(refuse({ use: 'text' }, said).exitCode).toBe(code);
  });
});

const starts = (['text', 'image', 'messages'] as const).flatMap((use) =>
  (['gateway', 'gemini', 'anthropic'] as const).flatMap((service) =>
    (['auto', 'api-key', 'bearer'] as const).flatMap((auth) =>
      ['', 'vendors', 'x-api-key,', 'x-own,v-own'].map((headerNames): Start => ({ use, service, auth, headerNames })),
    ),
  ),
);

/** What a gateway says to the headers of a key and of a version; undefined: it takes them. */
type Gateway = (header: string, version: string) => Said | undefined;

const gateways: [string, readonly Start['use'][], Gateway][] = [
  [
    'Gemini',
    ['text', 'image'],
    (header) => (header === 'x-goog-api-key' ? undefined : header === 'authorization' ? oauth : unregistered),
  ],
  [
    'Anthropic',
    ['messages'],
    (header, version) => {
      if (header !== 'x-api-key') return header === 'authorization' ? badBearer : keyRequired;
      return version === 'anthropic-version' ? undefined : versionRequired;
    },
  ],
  [
    'a relay that takes bearer tokens',
    ['text', 'image', 'messages'],
    (header) => (header === 'authorization' ? undefined : noAuthorization),
  ],
  [
    'a relay that wants x-api-key',
    ['text', 'image', 'messages'],
    (header) => (header === 'x-api-key' ? undefined : keyRequired),
  ],
  ['an API gateway with a header of its own', ['text', 'image', 'messages'], () => noKey],
  ['a gateway that gives no reason', ['text', 'image', 'messages'], () => mute],
];

function sentBy(start: Start): [header: string, version: string] {
  const names = namesOf(start);
  const form = start.auth ?? 'auto';
  return [getKeyHeader({ auth: byAuthUse(() => form), headerNames: names }, start.use).name, names.version];
}

describe('a user who types what each hint says', () => {
  test('comes to an end from every start, whatever a gateway answers', () => {
    const ended = new Set<string>();
    const walk = (start: Start, before: readonly string[]): void => {
      const key = JSON.stringify(start);
      expect(before, 'hints that lead in a circle').not.toContain(key);
      if (ended.has(key)) return;
      for (const said of everything) {
        const next = follow(start, said);
        if (next) walk(next, [...before, key]);
      }
      ended.add(key);
    };
    for (const start of starts) walk(start, []);
  });

  test.each(gateways)(
    'never sends the same to %s twice, and ends at one that works or at an examination',
    (_, uses, answer) => {
      for (const start of starts) {
        if (start.service !== 'gateway' || !uses.includes(start.use)) continue;
        const sent: string[] = [];
        let at = start;
        for (let said = answer(...sentBy(at)); said !== undefined; said = answer(...sentBy(at))) {
          expect(sent, JSON.stringify(start)).not.toContain(String(sentBy(at)));
          sent.push(String(sentBy(at)));
          const next = follow(at, said);
          if (next === undefined)
            expect(chooseHint(refuse(at, said)), JSON.stringify(start)).toContain('gateway-cli doctor --live');
          if (next === undefined) break;
          at = next;
        }
        expect(sent.length, JSON.stringify(start)).toBeLessThanOrEqual(3);
      }
    },
  );

  test.each(gateways.slice(0, 4))('reaches %s in two steps where no form was chosen', (_, uses, answer) => {
    for (const use of uses) {
      const first: Start = { use };
      const said = answer(...sentBy(first));
      const second = said === undefined ? first : follow(first, said);
      const more = second && answer(...sentBy(second));
      const third = second && more ? follow(second, more) : second;
      expect(third && answer(...sentBy(third)), use).toBeUndefined();
      expect(third, use).toBeDefined();
    }
  });
});
