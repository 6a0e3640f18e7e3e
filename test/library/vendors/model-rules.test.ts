import { expect, test } from 'vitest';
import {
  chooseDefault,
  endsWithin,
  findSuccessor,
  isEnding,
  type ModelFacts,
  readEndHeaders,
  servesUse,
} from '../../../src/library/vendors/model-rules.ts';
import type { ServiceName, Use } from '../../../src/library/vendors/services.ts';

const now = Date.parse('2026-11-26T12:00:00Z');
const ids = (...names: string[]): ModelFacts[] => names.map((id) => ({ id }));

/** The names that a service listed at a time, and the one that its rule takes. */
const rows: [service: ServiceName, use: Use, list: ModelFacts[], chosen: string | undefined][] = [
  ['openai', 'text', ids('gpt-6.2-sol', 'gpt-5-mini', 'gpt-6-luna', 'gpt-6.1-terra', 'gpt-image-2'), 'gpt-6-luna'],
  ['openai', 'chat', ids('gpt-5.4-mini', 'gpt-5-mini', 'gpt-5.4-nano', 'gpt-5.4-mini-2026-03-17'), 'gpt-5.4-mini'],
  ['openai', 'text', ids('gpt-4.1-mini', 'gpt-4o-mini', 'gpt-4.1', 'o4-mini'), 'gpt-4.1-mini'],
  ['openai', 'text', ids('gpt-7-mini', 'gpt-7-luna'), 'gpt-7-luna'],
  ['openai', 'image', ids('gpt-image-2.6-sunburst', 'gpt-image-2', 'gpt-image-2.6-flare'), 'gpt-image-2.6-flare'],
  ['openai', 'edit', ids('gpt-image-1', 'gpt-image-1.5', 'gpt-image-1-mini', 'chatgpt-image-latest'), 'gpt-image-1.5'],
  ['openai', 'text', ids('a-new-scheme', 'gpt-image-2'), undefined],
  ['gemini', 'text', ids('gemini-3.8-flash', 'gemini-3.5-flash-lite', 'gemini-4-hydrogen'), 'gemini-3.8-flash'],
  ['gemini', 'text', ids('gemini-2.5-flash', 'gemini-3-flash-preview', 'gemini-2.5-pro'), 'gemini-2.5-flash'],
  ['gemini', 'image', ids('gemini-3-pro-image', 'gemini-nano-banana-2.1'), 'gemini-nano-banana-2.1'],
  ['gemini', 'image', ids('gemini-2.5-flash-image', 'gemini-3.1-flash-image-preview'), 'gemini-2.5-flash-image'],
  ['anthropic', 'text', ids('claude-sonnet-5', 'claude-sonnet-5-5', 'claude-opus-5-5'), 'claude-sonnet-5-5'],
  ['anthropic', 'text', ids('claude-sonnet-4-5', 'claude-sonnet-4-20250514'), 'claude-sonnet-4-5'],
  ['openrouter', 'text', ids('openrouter/auto', '~google/gemini-flash-latest'), '~google/gemini-flash-latest'],
  ['ollama', 'text', ids('llama3.2:latest'), 'llama3.2:latest'],
  ['ollama', 'text', ids('llama3.2:latest', 'gemma3:4b'), undefined],
  ['gateway', 'text', ids('gpt-6-luna'), undefined],
];

test.each(rows)('%s has a default for %s in its list', (service, use, list, chosen) => {
  expect(chooseDefault({ service, use }, list, now)).toBe(chosen);
  expect(chooseDefault({ service, use }, list.toReversed(), now)).toBe(chosen);
});

test('the model that is gone and one that ends within 60 days are not chosen', () => {
  const [service, use] = ['openai', 'text'] as const;
  const list = [
    { id: 'gpt-6-luna' },
    { id: 'gpt-5.4-mini', endsOn: '2027-01-20' },
    { id: 'gpt-5-mini', endsOn: '2027-02-01' },
  ];
  expect(chooseDefault({ service, use, gone: 'gpt-6-luna' }, list, now)).toBe('gpt-5-mini');
});

test('a default is replaced by the newest model of its line that stays, whatever it is called', () => {
  const list: ModelFacts[] = [
    { id: 'claude-opus-9', line: 'opus', createdAt: '2026-11-02', lifecycle: 'active' },
    { id: 'claude-sonnet-5-5', line: 'sonnet', createdAt: '2026-11-01', lifecycle: 'deprecated' },
    { id: 'claude-sonnet-9', line: 'sonnet', createdAt: '2026-08-01', lifecycle: 'active' },
    { id: 'claude-y', line: 'sonnet', createdAt: '2026-10-01', lifecycle: 'active' },
  ];
  expect(chooseDefault({ service: 'anthropic', use: 'chat' }, list, now)).toBe('claude-y');
});

test("on a server of one's own the only model in memory comes before the newest", () => {
  const list: ModelFacts[] = [
    { id: 'old', createdAt: '2026-01-01', isLoaded: true },
    { id: 'new', createdAt: '2026-11-01' },
  ];
  expect(chooseDefault({ service: 'ollama', use: 'text' }, list, now)).toBe('old');
  const both = list.map((model) => ({ ...model, isLoaded: true }));
  expect(chooseDefault({ service: 'ollama', use: 'text' }, both, now)).toBe('new');
});

test('a model ends by its day, and without one by the word of the service', () => {
  expect(isEnding({ endsOn: '2027-01-25' }, now)).toBe(true);
  expect(isEnding({ endsOn: '2027-01-26' }, now)).toBe(false);
  expect(isEnding({ endsOn: '2027-01-26', lifecycle: 'deprecated' }, now)).toBe(true);
  expect(endsWithin(60, { endsOn: '2027-01-26', lifecycle: 'deprecated' }, now)).toBe(false);
  expect(isEnding({ lifecycle: 'DEPRECATED' }, now)).toBe(true);
  expect(isEnding({ lifecycle: 'active' }, now)).toBe(false);
});

test('what a list does not say of its uses, a name does', () => {
  expect(servesUse({ id: 'x', outputs: ['image'] }, 'text')).toBe(false);
  expect(servesUse({ id: 'x', outputs: ['text', 'image'] }, 'edit')).toBe(true);
  expect(['gpt-6-luna', 'gpt-image-2', 'whisper-1'].filter((id) => servesUse({ id }, 'chat'))).toEqual(['gpt-6-luna']);
});

test.each([
  ['Please use `gpt-x-2` instead', 'gpt-x-2'],
  ['Please update your code to use models/gemini-9-flash.', 'gemini-9-flash'],
  ['We recommend that you migrate to claude-x-5-5, which is better', 'claude-x-5-5'],
  ['use ~google/gemini-flash-latest', '~google/gemini-flash-latest'],
  ['You can use a different model', undefined],
  ['use the newest one', undefined],
])('%s: the successor is %s', (message, successor) => {
  expect(findSuccessor(message)).toBe(successor);
});

test.each([
  [{ deprecation: '@1764115200' }, { lifecycle: 'deprecated' }],
  [{ deprecation: 'false' }, undefined],
  [{ sunset: 'soon' }, undefined],
  [
    {
      sunset: 'Fri, 11 Dec 2026 00:00:00 GMT',
      link: '<https://x/docs>; rel="deprecation", </v1/models/y>; rel=successor-version',
    },
    { endsOn: '2026-12-11', successor: 'y' },
  ],
])('the headers %j say of the end: %j', (headers, end) => {
  expect(readEndHeaders(headers)).toEqual(end);
});
