import { expect, test } from 'vitest';
import { openSilent } from '../../../src/cli/cli.ts';
import { describeCommand } from '../../../src/cli/help/help-document.ts';

async function describe(words: string): Promise<ReturnType<typeof describeCommand>> {
  const names = words.split(' ');
  const program = await openSilent(names);
  return describeCommand(names.reduce((at, name) => at.commands.find((sub) => sub.name() === name) ?? at, program));
}

async function flagsOf(words: string): Promise<ReturnType<typeof describeCommand>['flags']> {
  return (await describe(words)).flags;
}

test.each([
  ['text', '--max-tokens', { type: 'integer', value: '<n>', minimum: 1 }],
  ['text', '--retries', { type: 'integer', minimum: 0, maximum: 100, default: '2', advanced: true }],
  ['text', '--temperature', { type: 'number', value: '<x>' }],
  ['text', '--stream', { type: 'boolean', text: 'print the answer while it arrives' }],
  ['text', '--service', { values: expect.arrayContaining(['gemini', 'ollama']) as string[] }],
  ['image gen', '--aspect', { type: 'string', suggestions: expect.arrayContaining(['16:9']) as string[] }],
  ['image gen', '--output', { short: '-o', value: '<path|->' }],
  ['image edit', '--image', { repeatable: true, group: 'Flags' }],
  ['batch', '--concurrency', { minimum: 1, maximum: 512, default: '4' }],
  ['config set', '--json', { type: 'boolean', group: 'Output' }],
] as const)('%s describes %s as data', async (words, name, facts) => {
  const flag = (await flagsOf(words)).find((one) => one.name === name);
  expect(flag).toMatchObject({ name, ...facts });
});

test.each([
  ['recover', false],
  ['batch', false],
  ['batch status', true],
  ['text', false],
  ['config set', true],
] as const)('the first argument of %s is required: %s, in its usage too', async (words, required) => {
  const {
    usage,
    arguments: [first],
  } = await describe(words);
  expect(first?.required).toBe(required);
  expect(usage.replace(`gateway-cli ${words} `, '')[0]).toBe(required ? '<' : '[');
});

test('a flag that help never shows is not described', async () => {
  expect((await flagsOf('text')).map(({ name }) => name)).not.toContain('--api-key');
});
