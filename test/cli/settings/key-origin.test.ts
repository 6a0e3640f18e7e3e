import { join, resolve as resolvePath } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resolvePartialSettings } from '../../../src/cli/settings/resolve.ts';
import type { PartialSettings } from '../../../src/cli/settings/types.ts';
import { inputOf, load, path } from './start.ts';

const secrets = { apiKey: 'sk-canary', headers: { 'x-team': 'docs' }, allowHttp: true };

interface Place {
  baseUrl?: string | undefined;
  apiKeyFile?: string;
  env?: Record<string, string>;
  service?: string;
}

function survey(profile: object, { env = {}, ...flags }: Place): PartialSettings {
  return resolvePartialSettings(inputOf({ flags, env, config: load({ default: profile }) }));
}

describe('a profile keeps its key and headers', () => {
  test.each([
    ['its own base URL', 'https://a.example/v1', undefined, true],
    ['the same origin on another path', 'https://a.example/x', 'https://a.example/other', true],
    ['the default port spelled out', 'https://a.example', 'https://A.example:443', true],
    ['another host', 'https://a.example', 'https://b.example', false],
    ['a subdomain', 'https://a.example', 'https://x.a.example', false],
    ['another port', 'https://a.example', 'https://a.example:8443', false],
    ['another scheme', 'https://a.example', 'http://a.example', false],
    ['a host in the user part', 'https://a.example', 'https://a.example@b.example', false],
  ])('%s', (_name, own, other, expected) => {
    const fromEnv: Record<string, string> = other === undefined ? {} : { GATEWAY_BASE_URL: other };
    for (const place of [{ baseUrl: other }, { env: fromEnv }]) {
      const { key, headers, allowHttp } = survey({ baseUrl: own, ...secrets }, place);
      expect(key.kind === 'value').toBe(expected);
      expect(headers.length > 0).toBe(expected);
      expect(allowHttp).toBe(expected);
    }
  });

  test('and says which origin the key is for', () => {
    const { key } = survey({ baseUrl: 'https://u:p@a.example/x', ...secrets }, { baseUrl: 'https://v:q@b.example/y' });
    expect(key).toMatchObject({
      kind: 'missing',
      reason:
        'the key of profile default is for https://a.example only, and the base URL is at https://b.example (flag --base-url)',
      hint: 'set GATEWAY_API_KEY, or give --api-key-file <path> (- reads stdin), or choose the profile of that gateway with --profile',
    });
  });

  test('a profile without a base URL sends its key nowhere', () => {
    const { key, headers } = survey(secrets, { baseUrl: 'https://b.example' });
    expect(key).toMatchObject({
      kind: 'missing',
      reason: 'profile default has a key but no baseUrl, so its key goes nowhere',
      hint: 'gateway-cli config set baseUrl <url> --profile default',
    });
    expect(headers).toEqual([]);
  });
});

describe('the key comes from the strongest place', () => {
  const profile = { baseUrl: 'https://a.example', ...secrets };
  const env = { GATEWAY_API_KEY: 'sk-env', GATEWAY_API_KEY_FILE: '/run/key' };

  test.each([
    ['--api-key-file', { apiKeyFile: '-', env }, { kind: 'file', path: '-', origin: { from: 'flag --api-key-file' } }],
    ['GATEWAY_API_KEY', { env }, { kind: 'value', origin: { from: 'environment GATEWAY_API_KEY' } }],
    [
      'GATEWAY_API_KEY_FILE',
      { env: { ...env, GATEWAY_API_KEY: '' } },
      { kind: 'file', path: '/run/key', origin: { from: 'environment GATEWAY_API_KEY_FILE' } },
    ],
    ['the profile', { env: {} }, { kind: 'value', origin: { from: `profile default (${path})` } }],
  ])('%s', (_name, place, expected) => {
    expect(survey(profile, place).key).toMatchObject(expected);
  });

  test('a key of flag or environment goes to whatever base URL won', () => {
    expect(survey(profile, { baseUrl: 'https://b.example', env }).key).toMatchObject({ kind: 'value' });
    expect(survey(profile, { baseUrl: 'https://b.example', apiKeyFile: 'k' }).key).toMatchObject({ kind: 'file' });
  });

  test.each([
    ['a path beside the config file', 'keys/work', resolvePath('/etc/gateway/keys/work')],
    ['an absolute path', resolvePath('/run/key'), resolvePath('/run/key')],
    ['a path in the home folder', '~/key', join('/home/u', 'key')],
  ])('a key file of a profile is %s', (_name, apiKeyFile, expected) => {
    const { key } = survey({ baseUrl: 'https://a.example', apiKeyFile }, { env: { HOME: '/home/u' } });
    expect(key).toMatchObject({ kind: 'file', path: expected });
  });

  test.each([
    ['without a home folder it is beside the config file', '~/key', {}, '/etc/gateway/~/key'],
    ['on Windows that folder has another name', '~\\key', { USERPROFILE: '/users/u' }, '/users/u/key'],
    ['elsewhere in a path it is a name', 'a~/key', { HOME: '/home/u' }, '/etc/gateway/a~/key'],
    ['of another user it is a name like any other', '~u/key', { HOME: '/home/u' }, '/etc/gateway/~u/key'],
  ])('a path that begins with ~: %s', (_name, apiKeyFile, env, expected) => {
    const { key } = survey({ baseUrl: 'https://a.example', apiKeyFile }, { env });
    expect(key).toMatchObject({ kind: 'file', path: resolvePath(expected) });
  });

  test.each([[' pass  show\tkey '], [['pass', 'show', 'key']]])('a key command of a profile: %j', (apiKeyCommand) => {
    const { key } = survey({ baseUrl: 'https://a.example', apiKeyCommand }, {});
    expect(key).toMatchObject({
      kind: 'command',
      argv: ['pass', 'show', 'key'],
      origin: { from: `profile default (${path})` },
    });
  });
});

describe('the key of a service that was named', () => {
  const both = { GATEWAY_API_KEY: 'sk-env', GEMINI_API_KEY: 'sk-gemini' };
  const own = { kind: 'value', origin: { from: 'environment GEMINI_API_KEY' } };
  const loose = { kind: 'value', origin: { from: 'environment GATEWAY_API_KEY' } };

  test.each([
    ['at its own host', { service: 'gemini', env: both }, own],
    ['by a variable', { env: { ...both, GATEWAY_SERVICE: 'gemini' } }, own],
    ['on this machine', { service: 'gemini', baseUrl: 'http://127.0.0.1:9', env: both }, own],
    [
      'beside a key file of the environment',
      { service: 'gemini', env: { ...both, GATEWAY_API_KEY: '', GATEWAY_API_KEY_FILE: 'k' } },
      own,
    ],
    ['at another host', { service: 'gemini', baseUrl: 'https://b.example', env: both }, loose],
    ['without a variable of its own', { service: 'gemini', env: { GATEWAY_API_KEY: 'sk-env' } }, loose],
    [
      'beside --api-key-file',
      { service: 'gemini', apiKeyFile: 'k', env: both },
      { kind: 'file', origin: { from: 'flag --api-key-file' } },
    ],
  ])('%s', (_name, place, expected) => {
    expect(survey({}, place).key).toMatchObject(expected);
  });
});
