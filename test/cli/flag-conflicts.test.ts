import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSilent } from '../../src/cli/cli.ts';
import { describeCommand } from '../../src/cli/help/help-document.ts';
import { run } from '../helpers/run.ts';

/** Flags that exclude each other, whatever their values. */
const conflicts: Readonly<Record<string, readonly string[]>> = {
  '--csv': ['--json'],
  '--curl': ['--field', '--json', '--jsonl', '--raw'],
  '--continue': ['--no-save', '--raw', '--session'],
  '--dry-run': ['--curl', '--field', '--jsonl', '--raw'],
  '--field': ['--json', '--jsonl', '--raw'],
  '--json': ['--jsonl'],
  '--no-vars': ['--var'],
  '--offline': ['--base-url'],
  '--prompt': ['--prompt-file'],
  '--prompt-file': ['--template'],
  '--raw': ['--code', '--json', '--jsonl', '--output', '--preview', '--sidecar', '--strict'],
  '--session': ['--no-save', '--raw'],
  '--system': ['--system-file'],
};

/** The same of `batch`, where `--template` is for the rows of `--data`. */
const conflictsOfRows = { '--stream': ['--data', '--estimate', '--prompts', '--shard', '--template'] };

const dusk = join(import.meta.dirname, '../fixtures/dusk.png');

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
  const table = words === 'batch' ? { ...conflicts, ...conflictsOfRows } : conflicts;
  const names = new Set(await listFlags(words));
  const pairs = Object.entries(table)
    .flatMap(([one, others]) => others.map((other) => [one, other]))
    .filter((pair) => pair.every((name) => names.has(name)));
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

/** The long names of the flags that help shows of a command. */
async function listFlags(words: string): Promise<string[]> {
  const names = words.split(' ');
  const program = await openSilent(names);
  const command = names.reduce((at, name) => at.commands.find((sub) => sub.name() === name) ?? at, program);
  return describeCommand(command).flags.map(({ name }) => name);
}

/** Both flags in a message, in either order; messages name `-o` so. */
function pairPattern(pair: readonly string[]): RegExp {
  const [one, other] = pair.map((name) => name.replace('--output', '(?:--output|-o)'));
  return new RegExp(`(?=[^]*${one})[^]*${other}`);
}
