import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tree } from '../../../src/cli/command-tree.ts';
import { firstServiceNames, services } from '../../../src/library/vendors/services.ts';
import { run } from '../../helpers/run.ts';

const commands = Object.entries(tree)
  .filter(([, entry]) => !entry.hidden)
  .flatMap(([name, { commands: inside = {} }]) => [[name], ...Object.keys(inside).map((word) => [name, word])]);

/** The words of a text, without the backslash of a command that goes on. */
const wordsIn = (text: string): string[] => text.split(/\s+/).filter((word) => !['', '\\', '#'].includes(word));

const helpOf = async (argv: readonly string[], columns: number): Promise<string> => {
  const { code, stdout } = await run([...argv, '--help'], { columns });
  expect(code).toBe(0);
  return stdout;
};

/** One argument of an example, which no break could leave right. */
const argument = /^ {4}(?:'[^']*'|\S+)(?: \\)?$/;

const shapes = [[], ...commands].flatMap((words) => [words, [...words, '--verbose']]);

test.each(shapes.map((argv) => [argv.join(' '), argv] as const))(
  'the help of "%s" fits terminals of 40, 80 and 200 columns with every word whole',
  async (_, argv) => {
    const wide = await helpOf(argv, 200);
    for (const columns of [40, 80, 200]) {
      const text = await helpOf(argv, columns);
      expect(text.split('\n').filter((line) => line.length > columns && !argument.test(line))).toEqual([]);
      expect(wordsIn(text).toSorted()).toEqual(wordsIn(wide).toSorted());
    }
  },
);

test('flags and their texts are in two columns, also in a narrow terminal', async () => {
  const lines = (await helpOf(['chat'], 40)).split('\n');
  const at = lines.findIndex((line) => line.startsWith('  -f, --force'));
  expect(lines.slice(at, at + 2)).toEqual(['  -f, --force     overwrite existing', '                  files']);
});

test('flags that few need appear with --verbose, and the end of the help says so', async () => {
  const brief = await helpOf(['text'], 80);
  expect(brief).not.toContain('--cacert');
  expect(brief).toMatch(/\n\d+ more flags, such as --[a-z-]+: gateway-cli text --help --verbose\n$/);
  const full = await helpOf(['text', '--verbose'], 80);
  expect(full).toContain('--cacert');
  expect(full).not.toContain('more flags');
});

test('the plain help names the flags that hints and topics name', async () => {
  expect(await helpOf(['text'], 80)).toContain('--vars');
  expect(await helpOf(['batch'], 80)).toContain('\n  --accept-changes ');
});

test('the end of the main help names a flag that it left out', async () => {
  const [, left = ''] = /\d+ more flags, such as (--[a-z-]+):/.exec(await helpOf([], 80)) ?? [];
  expect((await helpOf([], 80)).split(left)).toHaveLength(2);
  expect(await helpOf(['--verbose'], 80)).toContain(`\n  ${left} `);
});

test('the main help says how to connect: each service with its variable, a gateway, and without an account', async () => {
  const text = await helpOf([], 200);
  for (const { name, baseUrl, keyVariables } of firstServiceNames.map((each) => services[each]))
    if (baseUrl !== undefined) expect(text).toMatch(new RegExp(`${keyVariables[0] ?? `--service ${name}`}\\b`));
  expect(text).toContain('gateway-cli help services');
  expect(text).toContain('gateway-cli config init');
  expect(text).toMatch(/No account +add --offline/);
});

test('headings are bold on a terminal, and plain in a pipe', async () => {
  const bold = (text: string) => `\u001B[1m${text}\u001B[22m`;
  for (const [argv, headings] of [
    [['--help'], ['Examples:', 'Usage:', 'Ask a model:', 'Everywhere:']],
    [
      ['text', '--help'],
      ['Examples:', 'Usage:', 'Flags:', 'Request:', 'Connection:', 'Output:'],
    ],
  ] as const) {
    const [screen, pipe] = await Promise.all([run(argv, { tty: { stdout: true } }), run(argv)]);
    for (const heading of headings) expect(screen.stdout).toContain(bold(heading));
    expect(pipe.stdout).not.toContain('\u001B');
  }
});

test('an example that is too long for its line can be copied all the same', async () => {
  const text = await helpOf(['image', 'gen'], 40);
  expect(text).toContain('  gateway-cli image gen \\\n    "a lighthouse at dusk" --aspect \\\n    3:2 -o dusk.png\n');
});

test('a group without its command wraps its help too', async () => {
  const { code, stderr } = await run(['sessions'], { columns: 40 });
  expect(code).toBe(2);
  expect(stderr.split('\n').filter((line) => line.length > 40)).toEqual([]);
});

describe('help --recipe', () => {
  test.each(['ci', 'batch'])('prints each file that the topic %s names', async (topic) => {
    const { stdout } = await run(['help', topic, '--json']);
    const { text } = JSON.parse(stdout) as { text: string };
    const named = [...text.matchAll(/\[`(\w+)`\]\((recipes\/[\w.-]+)\)/g)];
    expect(named.length).toBeGreaterThan(2);
    for (const [, name = '', file = ''] of named) {
      const ran = await run(['help', topic, '--recipe', name]);
      expect(ran).toMatchObject({ code: 0, stderr: '' });
      expect(ran.stdout).toBe(readFileSync(join(import.meta.dirname, '../../../src/cli/help/topics', file), 'utf8'));
    }
  });

  test.each([
    ['ci', 'githbu', 'did you mean: gateway-cli help ci --recipe github?'],
    ['ci', 'none', 'it has: github, gitlab, recordings'],
    ['chat', 'github', 'the topic chat has no recipes'],
  ])('of %s refuses %s', async (topic, recipe, hint) => {
    const ran = await run(['help', topic, '--recipe', recipe]);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(hint);
  });
});

test.each([
  ['proxy', 'gateway-cli text --proxy <url>', 'gateway-cli help settings'],
  ['docker', 'gateway-cli help ci'],
  ['excel', 'gateway-cli batch export --bom', 'gateway-cli help batch'],
  ['mask', 'gateway-cli image edit --mask <path|url|->', 'gateway-cli help images'],
  ['log', 'gateway-cli help output'],
  ['price', 'gateway-cli text --prices <json|path>', 'gateway-cli help costs'],
  ['vim', 'gateway-cli help recipes'],
  ['dry-run', 'gateway-cli text --dry-run'],
])('help %s says where the help has the word', async (word, ...places) => {
  const { code, stdout, stderr } = await run(['help', word], { columns: 300 });
  expect([code, stderr]).toEqual([0, '']);
  const typed = stdout.split('\n').map((line) => line.trim().split('  ', 1)[0]);
  for (const place of places) expect(typed).toContain(place);
});

test('help with a word that stands nowhere names the topics', async () => {
  const { code, stdout, stderr } = await run(['help', 'quetzalcoatl']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('topics: agents, batch,');
});
