import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { openSilent } from '../../../src/cli/cli.ts';
import { type Tree, tree } from '../../../src/cli/command-tree.ts';
import { describeCommand } from '../../../src/cli/help/help-document.ts';
import { readShipped } from '../../../src/cli/shipped.ts';
import { test } from '../../batch/lane/with-lane.ts';
import { run, type RunOptions } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

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

/** Every document has these. */
const common = new Set(['schema', 'ok', 'exitCode', 'warnings[]', 'error']);

const rare = new Set([
  // What only some services list.
  ...'endsOn lifecycle successor line inputs[] outputs[] prices.input prices.output prices.cached efforts[] thinkingOff isLoaded'
    .split(' ')
    .map((key) => `models[].${key}`),
  'running',
  'removed',
  'waiting',
  'tooLong[]',
  'checks[].profile',
  'settings[].uses[]',
  'sessions[].error',
]);

/** `budgets[].left`, of every value that is neither an object nor a list. */
function pathsIn(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, `${at}[]`));
  if (typeof value !== 'object' || value === null) return [at];
  return Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, at === '' ? name : `${at}.${name}`));
}

/** Whether a path is that of a key, or below it. */
function isAt(path: string, key: string): boolean {
  const pattern = key.replaceAll(/[.[\]]/g, String.raw`\$&`).replaceAll('*', String.raw`[^.]+(?:\.[^.]+)*?`);
  return new RegExp(String.raw`^${pattern}(?:$|[.[])`).test(path);
}

async function documentsOf(words: string): Promise<ReturnType<typeof describeCommand>['documents']> {
  return (await describe(words)).documents;
}

const price = ['--prices', '{"*":{"input":"1","output":"2"}}'];
const budget = ['--budget', 'team:1/day', '--max-tokens', '50'];

test('help --json names the keys of every document that a command prints, and no other', async ({ open }) => {
  for (const name of ['XDG_STATE_HOME', 'XDG_CACHE_HOME']) vi.stubEnv(name, scratchFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const cwd = scratchFolder();
  const env = { GATEWAY_CONFIG: join(cwd, 'config.json') };
  const lines = (...jobs: object[]) => jobs.map((job) => `${JSON.stringify(job)}\n`).join('');
  writeFileSync(join(cwd, 'jobs.jsonl'), lines({ prompt: 'a', maxTokens: 5 }, { prompt: 'b', model: 'fault-500' }));
  writeFileSync(join(cwd, 'one.jsonl'), lines({ prompt: 'a', maxTokens: 5 }));
  writeFileSync(join(cwd, 'two.jsonl'), lines({ prompt: 'a', maxTokens: 5 }, { prompt: 'b', maxTokens: 5 }));
  const lane = await open('messages');
  lane.folder.jobs({ id: 'a', prompt: 'a', maxTokens: 5 });
  await lane.batch(['--no-wait']);
  const atService = { cwd: lane.folder.cwd, env: lane.env };
  const batch = ['jobs.jsonl', '--offline', ...price];
  const shard = ['--shard', '1/1', '--retries', '0'];
  const runs: [command: string, words: string[], options?: RunOptions][] = [
    ['text', ['hi', '--offline', '--dry-run']],
    ['text', ['hi', '--offline', '--record', 'kept', ...budget, ...price]],
    ['chat', ['hi', '--offline', '--session', 'trip', '--system', 'short']],
    ['models', ['--offline']],
    ['sessions list', []],
    ['sessions show', ['trip']],
    ['sessions export', ['trip']],
    ['sessions rm', ['trip']],
    ['recordings list', ['kept']],
    ['recordings show', ['kept', 'generateContent']],
    ['recordings prune', ['kept', '--max-age', '0s']],
    ['config set', ['models.text', 'm', '--profile', 'work']],
    ['config use', ['work']],
    ['config get', ['models.text']],
    ['config list', []],
    ['config path', []],
    ['config unset', ['models.text']],
    ['batch run', [...batch, '-o', 'out', ...shard]],
    ...['1', '2'].map((index): [string, string[]] => [
      'batch run',
      [...batch, '-o', `shard-${index}`, '--shard', `${index}/2`],
    ]),
    ['batch run', [...batch, '-o', 'plan', '--dry-run']],
    ['batch run', ['one.jsonl', '--offline', ...price, '--estimate']],
    ['batch run', ['two.jsonl', '--offline', ...price, '-o', 'sample', '--limit', '1']],
    ['batch run', ['two.jsonl', '--offline', ...price, '-o', 'sample', '--estimate']],
    ['batch status', ['out']],
    ['batch status', ['shard-1', 'shard-2']],
    ['batch export', ['out', '-o', 'table.csv']],
    ['batch gallery', ['out']],
    ['batch status', ['out'], atService],
    ['batch cancel', ['out'], atService],
    ['costs show', []],
    ...['day', 'model', 'tag', 'service', 'lane'].map((by): [string, string[]] => [
      'costs report',
      ['--by', by, '--since', '7d'],
    ]),
    ['doctor', []],
    ['doctor', ['--files']],
    ['completion', ['bash']],
    ['mcp', ['--print-config', 'codex']],
  ];
  const known = new Map<string, Set<string>>();
  const shown = new Map<string, Set<string>>();
  for (const [command, words, options] of runs) {
    const ran = await run([...command.split(' '), ...words, '--json'], options ?? { cwd, env });
    const { schema, error: _, ...document } = JSON.parse(ran.stdout) as { schema: string; error?: object };
    expect({ command, document }).toMatchObject({ document: { ok: ran.code === 0, exitCode: ran.code } });
    const described = (await documentsOf(command)).find((one) => one.schema === schema);
    expect({ command, schema, described }).toMatchObject({ described: { schema } });
    if (described?.keys === undefined) continue;
    const paths = pathsIn(document).filter((path) => !common.has(path));
    const unknown = paths.filter((path) => !described.keys?.some((key) => isAt(path, key)));
    expect({ command, unknown }).toEqual({ command, unknown: [] });
    const seen = shown.get(schema) ?? new Set();
    for (const key of described.keys) if (paths.some((path) => isAt(path, key))) seen.add(key);
    shown.set(schema, seen);
    known.set(schema, new Set([...(known.get(schema) ?? []), ...described.keys]));
  }
  const never = [...known].flatMap(([schema, keys]) =>
    [...keys].filter((key) => !common.has(key) && !shown.get(schema)?.has(key)),
  );
  // Rare states, which the tests of their commands show.
  expect(never.filter((key) => !rare.has(key) && !rare.has(key.replace(/\..*/, '')))).toEqual([]);
});

test('help --json names the documents of every command', async () => {
  const names = (entries: Tree, before = ''): string[] =>
    Object.entries(entries).flatMap(([name, { commands, hidden }]) =>
      hidden ? [] : commands ? names(commands, `${before}${name} `) : [before + name],
    );
  for (const name of names(tree)) {
    const count = (await documentsOf(name)).length;
    expect({ name, has: count > 0 }).toEqual({ name, has: true });
  }
});

test('a command that prints no result names the keys of its failures', async () => {
  const { properties } = JSON.parse(await readShipped('dist/result.schema.json')) as {
    properties: { error: { properties: object } };
  };
  const keys = Object.keys(properties.error.properties).map((key) => `error.${key}`);
  for (const words of ['batch export', 'models', 'costs show']) {
    const [own, failed] = await documentsOf(words);
    expect(own?.keys?.slice(0, 4)).toEqual(['ok', 'exitCode', 'warnings[]', 'error']);
    expect(failed?.schema).toBe('gateway-cli/result@1');
    expect(failed?.keys?.slice(-keys.length)).toEqual(keys);
  }
  expect((await documentsOf('text')).some(({ when }) => when !== undefined)).toBe(false);
});
