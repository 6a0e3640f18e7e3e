import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { checkConfig } from '../../src/settings/parse.ts';

const file = join(import.meta.dirname, '../../dist/config.schema.json');
const fits = new Ajv({ strictTuples: false }).compile(JSON.parse(readFileSync(file, 'utf8')) as object);

function isTaken(value: unknown): boolean {
  try {
    checkConfig(value, 'config.json');
    return true;
  } catch {
    return false;
  }
}

const right: Record<string, unknown[]> = {
  service: ['gateway', 'gemini', 'anthropic'],
  baseUrl: ['https://gateway.example', 'http://127.0.0.1:8080/v1/proxy', 'HTTPS://x'],
  apiKey: ['k'],
  apiKeyFile: ['~/key'],
  apiKeyCommand: ['pass show key', ['pass'], ['a', '']],
  models: [{}, { text: 'a', image: 'b', edit: 'c', chat: 'd' }],
  prices: [
    {},
    { 'gemini-*': { input: '0.30', output: 2.5, cached: 0, cacheWrite: '1', thinking: '2.50', image: '0.039' } },
    { m: { currency: 'EUR' } },
  ],
  auth: [{}, { text: 'auto', image: 'api-key', messages: 'bearer' }],
  headerNames: [{}, { apiKey: 'x-goog-api-key' }, { version: 'anthropic-version' }],
  headers: [{}, { 'X-Team': 'docs', cookie: 'a=b' }],
  maxTokens: [1, 4096],
  timeout: [1, 0.5, '90', '1.5m', '.5s', ' 2s '],
  allowHttp: [true, false],
  proxy: ['http://proxy.example:3128', 'HTTPS://p'],
  systemCa: [true, false],
  preview: [true],
  markdown: [true, false],
};

const wrong: Record<string, unknown[]> = {
  service: ['', 'Gemini', 'openai', 1],
  baseUrl: ['', 'gateway.example', 'ftp://x', 1, null],
  apiKey: ['', ' ', 1, null, ['k']],
  apiKeyFile: ['', 5],
  apiKeyCommand: ['', 'a | b', '"a b"', [], [1], ['']],
  models: [{ video: 'v' }, { text: '' }, [], 'text'],
  auth: [{ text: 'basic' }, { chat: 'auto' }, 'bearer'],
  headerNames: [{ apiKey: 'a b' }, { apiKey: '' }, { key: 'x' }],
  headers: [
    { 'a b': 'c' },
    { HOST: 'c' },
    { 'Content-Type': 'c' },
    { a: '' },
    { a: 'b\nc' },
    { a: 'é' },
    { a: 1 },
    { constructor: 'c' },
  ],
  maxTokens: [0, -1, 1.5, '1', null],
  timeout: [0, -1, '', 'soon', '3d', true, 1e9],
  prices: [
    [],
    { m: '0.30' },
    { m: { inptu: '1' } },
    { m: { input: '-1' } },
    { m: { input: '1e3' } },
    { m: { input: '1,5' } },
    { m: { input: '.5' } },
    { m: { input: -1 } },
    { m: { input: null } },
    { m: { currency: 'usd' } },
    { 'a b': {} },
    { '': {} },
  ],
  allowHttp: ['true', 1, null],
  proxy: ['', 'proxy.example:3128', 'socks5://p', 'http://user:secret@p', 1],
  systemCa: ['yes'],
  preview: [0],
  markdown: ['no'],
};

describe.each([
  ['takes', right, true],
  ['refuses', wrong, false],
])('the schema and the checker agree: each %s', (_name, table, expected) => {
  test.each(Object.entries(table).flatMap(([key, values]) => values.map((value) => [key, value] as const)))(
    '%s: %j',
    (key, value) => {
      const config = { profiles: { work: { [key]: value } } };
      expect(isTaken(config)).toBe(expected);
      expect(fits(config)).toBe(expected);
    },
  );
});

test.each([
  ['no profiles', {}, true],
  ['a default profile', { profile: 'a', profiles: { a: {} } }, true],
  ['a profile for each use', { profile: { text: 'a', image: 'a', edit: 'a', chat: 'a' }, profiles: { a: {} } }, true],
  ['a profile for another use', { profile: { video: 'a' }, profiles: { a: {} } }, false],
  ['a list of names', { profile: ['a'], profiles: { a: {} } }, false],
  ['a link to the schema', { $schema: 'x' }, true],
  ['another key', { colour: 'red' }, false],
  ['two keys in a profile', { profiles: { a: { apiKey: 'a', apiKeyFile: 'b' } } }, false],
  ['a file and a command', { profiles: { a: { apiKeyFile: 'a', apiKeyCommand: 'b' } } }, false],
  ['a profile called constructor', { profiles: { constructor: {} } }, false],
  ['a profile with a blank', { profiles: { 'a b': {} } }, false],
  ['another key in a profile', { profiles: { a: { base_url: 'x' } } }, false],
  ['a list of profiles', { profiles: [] }, false],
  ['a list', [], false],
])('the schema and the checker agree on %s', (_name, config, expected) => {
  expect(isTaken(config)).toBe(expected);
  expect(fits(config)).toBe(expected);
});

test('the schema knows the keys that these tables know', () => {
  const schema = JSON.parse(readFileSync(file, 'utf8')) as {
    properties: { profiles: { additionalProperties: { properties: object } } };
  };
  expect(Object.keys(schema.properties.profiles.additionalProperties.properties)).toEqual(Object.keys(right));
});
