import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { checkConfig } from '../../../src/cli/settings/parse.ts';
import { type Kind, type SettingDefinition, settings } from '../../../src/cli/settings/table.ts';

const file = join(import.meta.dirname, '../../../dist/config.schema.json');
const fits = new Ajv({ strictTuples: false }).compile(JSON.parse(readFileSync(file, 'utf8')) as object);

function isTaken(value: unknown): boolean {
  try {
    checkConfig(value, 'config.json');
    return true;
  } catch {
    return false;
  }
}

/** Values of each kind of setting that the config file takes, and others that it refuses. */
const samples: { [kind in Exclude<Kind, 'choice'>]: { right: unknown[]; wrong: unknown[] } } = {
  budget: {
    right: ['team:20', 'team:0.50/day', '/var/budgets/team.jsonl:1.00/month', 'C:\\b.jsonl:1'],
    wrong: ['team', 'team:', ':5', 'team:0', 'team:0.00', 'team:1/week', 'team:-1', 'team:1,5', 5],
  },
  command: {
    right: ['pass show key', ['pass'], ['a', '']],
    wrong: ['', 'a | b', '"a b"', [], [1], ['']],
  },
  count: { right: [1, 4096], wrong: [0, -1, 1.5, '1', null] },
  duration: { right: [1, 0.5, '90', '1.5m', '.5s', ' 2s '], wrong: [0, -1, '', 'soon', '3d', true, 1e9] },
  headerName: { right: ['x-goog-api-key', 'anthropic-version'], wrong: ['a b', '', 'HOST', 1] },
  headers: {
    right: [{}, { 'X-Team': 'docs', cookie: 'a=b' }],
    wrong: [
      { 'a b': 'c' },
      { HOST: 'c' },
      { 'Content-Type': 'c' },
      { a: '' },
      { a: 'b\nc' },
      { a: 'é' },
      { a: 1 },
      { constructor: 'c' },
    ],
  },
  path: { right: ['~/key'], wrong: ['', 5] },
  prices: {
    right: [
      {},
      { 'gemini-*': { input: '0.30', output: 2.5, cached: 0, cacheWrite: '1', thinking: '2.50', image: '0.039' } },
      { m: { currency: 'EUR' } },
      { m: { input: '1', batch: '0.5', flex: { input: '0.5', output: 1 }, from: '2026-12-01', until: '2027-02-28' } },
      {
        m: [
          { input: '1', until: '2026-11-30' },
          { input: '2', from: '2026-12-01' },
        ],
      },
    ],
    wrong: [
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
      { m: { batch: { inptu: '1' } } },
      { m: { flex: 'half' } },
      { m: { from: '1.12.2026' } },
      { m: [{ inptu: '1' }] },
      { 'a b': {} },
      { '': {} },
    ],
  },
  proxy: {
    right: ['http://proxy.example:3128', 'HTTPS://p'],
    wrong: ['', 'proxy.example:3128', 'socks5://p', 'http://user:secret@p', 1],
  },
  switch: { right: [true, false], wrong: ['true', 'yes', 0, 1, null] },
  text: { right: ['k'], wrong: ['', ' ', 1, null, ['k']] },
  url: {
    right: ['https://gateway.example', 'http://127.0.0.1:8080/v1/proxy', 'HTTPS://x'],
    wrong: ['', 'gateway.example', 'ftp://x', 1, null],
  },
};

/** The profile key of every setting with values for it, in the members of one that holds an object. */
function tableOf(which: 'right' | 'wrong'): [string, unknown][] {
  return Object.values<SettingDefinition>(settings).flatMap(({ key, kind, values = [], fields, takesNames }) => {
    if (key === undefined) return [];
    const choices = which === 'right' ? [...values] : ['', 'Gemini', 'openrooter', 1];
    const some = kind === 'choice' ? choices : samples[kind][which];
    if (fields === undefined) return some.map((value): [string, unknown] => [key, value]);
    const named = which === 'right' ? [] : [{ video: some[0] }, ...(takesNames ? [] : [{ video: 'v' }])];
    const whole = which === 'right' ? [{}, ...(takesNames ? [{ video: 'v' }] : [])] : [...named, [], 'text'];
    const members = Object.keys(fields).flatMap((field) => some.map((value) => ({ [field]: value })));
    return [...whole, ...members].map((value): [string, unknown] => [key, value]);
  });
}

describe.each([
  ['takes', tableOf('right'), true],
  ['refuses', tableOf('wrong'), false],
] as const)('the schema and the checker agree: each %s', (_name, table, expected) => {
  test.each(table)('%s: %j', (key, value) => {
    const config = { profiles: { work: { [key]: value } } };
    expect(isTaken(config)).toBe(expected);
    expect(fits(config)).toBe(expected);
  });
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

test('the schema has the keys of the table', () => {
  const schema = JSON.parse(readFileSync(file, 'utf8')) as {
    properties: { profiles: { additionalProperties: { properties: object } } };
  };
  const keys = Object.values<SettingDefinition>(settings).flatMap(({ key }) => key ?? []);
  const { properties } = schema.properties.profiles.additionalProperties;
  expect(Object.keys(properties).toSorted()).toEqual(keys.toSorted());
});
