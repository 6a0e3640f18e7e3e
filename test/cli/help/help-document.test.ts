import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSilent } from '../../../src/cli/cli.ts';
import { describeCommand } from '../../../src/cli/help/help-document.ts';
import { run } from '../../helpers/run.ts';

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
  ['config set', '--json', { type: 'boolean', group: 'Everywhere' }],
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

const dusk = join(import.meta.dirname, '../../fixtures/dusk.png');

/** Values for flags that have conflicts. */
const values: Readonly<Record<string, string>> = {
  '--base-url': 'http://127.0.0.1:9',
  '--data': dusk,
  '--field': 'text',
  '--output': 'out',
  '--prompt': 'hi',
  '--prompt-file': dusk,
  '--prompts': dusk,
  '--session': 'trip',
  '--shard': '1/2',
  '--system': 'short',
  '--system-file': dusk,
  '--template': dusk,
  '--var': 'a=b',
};

test.each([
  ['text', ['hi'], 20],
  ['image gen', ['hi'], 15],
  ['chat', ['hi'], 20],
  ['batch', ['-', '-o', 'out'], 6],
  ['costs report', [], 1],
] as const)('%s refuses every pair of flags that exclude each other', async (words, operands, count) => {
  const pairs = (await flagsOf(words)).flatMap(({ name, conflicts = [] }) =>
    conflicts.filter((other) => name < other).map((other) => [name, other]),
  );
  expect(pairs.length).toBeGreaterThanOrEqual(count);
  for (const pair of pairs) {
    const flags = pair.flatMap((name) => [name, ...(values[name] === undefined ? [] : [values[name]])]);
    const stream = pair.includes('--jsonl') && words === 'text' ? ['--stream'] : [];
    const prompt = pair.includes('--prompt') ? [] : operands;
    const offline = pair.includes('--base-url') || words === 'costs report' ? [] : ['--offline'];
    const argv = [...words.split(' '), ...prompt, ...flags, ...stream, ...offline];
    const { code, stderr } = await run(argv, words === 'batch' ? { stdin: '{"prompt":"hi"}' } : {});
    expect({ pair, code, stderr }).toEqual({
      pair,
      code: 2,
      stderr: expect.stringMatching(pairPattern(pair)) as string,
    });
  }
});

/** Both flags in a message, in either order; messages name `-o` so. */
function pairPattern(pair: readonly string[]): RegExp {
  const [one, other] = pair.map((name) => name.replace('--output', '(?:--output|-o)'));
  return new RegExp(`(?=[^]*${one})[^]*${other}`);
}
