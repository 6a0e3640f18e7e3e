import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildProgram } from '../src/cli/cli.ts';
import { topics, topicSummaries } from '../src/cli/help/help.ts';
import { documentEntries } from '../src/cli/output/result-definition.ts';
import { exitCodes } from '../src/library/errors.ts';
import { formatNames } from '../src/library/formats/format.ts';
import { fieldEntries, getFieldFlag } from '../src/library/formats/request-fields.ts';
import { firstServiceNames, serviceNames, services } from '../src/library/vendors/services.ts';
import { code, readme, skill, tableRows, topicTexts, userTexts } from './helpers/readme.ts';
import { run } from './helpers/run.ts';

const hooks = {
  columns: 80,
  isColored: () => false,
  act: async () => undefined,
  out: () => undefined,
  err: () => undefined,
};

/** Every command with its words: `image gen`. */
async function commandWords(): Promise<string[]> {
  const program = await buildProgram([], hooks);
  const shown = program.commands.filter((command) => !command.name().startsWith('__'));
  const groups = shown.map(async (command) => {
    const inside = (await buildProgram([command.name()], hooks)).commands.find(
      (found) => found.name() === command.name(),
    );
    const names = inside?.commands.map((sub) => `${command.name()} ${sub.name()}`) ?? [];
    return names.length > 0 ? names : [command.name()];
  });
  return (await Promise.all(groups)).flat();
}

test('the README has a row for every command, and for no other', async () => {
  const rows = tableRows('Command').map(([name = '']) => code(name));
  const words = await commandWords();
  expect(rows.filter((name) => !name.startsWith('gateway-cli')).toSorted()).toEqual(words.toSorted());
});

test('every topic has its page, and the README links to it with the same summary', () => {
  expect([...topicTexts.keys()].toSorted()).toEqual(topics);
  for (const [topic, summary] of Object.entries(topicSummaries))
    expect(readme).toContain(`| [${topic}](src/cli/help/topics/${topic}.md) | ${summary} |`);
});

test('every flag that the README and the topics name is one of the program', async () => {
  // Beside its own, those of npm, docker and az.
  const known = new Set([
    '--help',
    '--version',
    '--full',
    '--provenance',
    '--global',
    '--silent',
    '--rm',
    '--resource',
    '--query',
  ]);
  for (const words of await commandWords()) {
    const program = await buildProgram(words.split(' '), hooks);
    let command = program.commands.find((found) => found.name() === words.split(' ')[0]);
    if (words.includes(' ')) command = command?.commands.find((found) => found.name() === words.split(' ')[1]);
    for (const option of command?.options ?? []) known.add(option.long ?? '');
  }
  const named = new Set([...userTexts.join('\n').matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map((match) => match[0]));
  expect([...named].filter((flag) => !known.has(flag))).toEqual([]);
});

test('the table of exit codes is the one of the program', () => {
  const rows = tableRows('Code').map(([number, name, meaning, billed]) => ({
    code: Number(number),
    name,
    meaning,
    billed,
  }));
  expect(rows).toEqual(Object.entries(exitCodes).map(([name, outcome]) => ({ name, ...outcome })));
});

test('the advice for an exit code is the same for all errors that are billed the same way, and for agents', () => {
  const advised = [topicTexts.get('exit-codes') ?? '', skill].map((text) =>
    tableRows('Exit code', [text]).flatMap(([codes = '']) => (/^[1-9]/.test(codes) ? [codes] : [])),
  );
  expect(advised[0]).toEqual(advised[1]);
  expect(advised[0]?.length).toBeGreaterThan(4);
  for (const codes of advised.flat()) {
    const billed = codes.split(', ').map((code) => {
      const classes = Object.values(exitCodes).filter((outcome) => String(outcome.code) === code);
      return classes.map((outcome) => outcome.billed).join();
    });
    expect(new Set(billed).size, codes).toBe(1);
  }
});

test('every variable of the settings table is read by the program, and none is missing', async () => {
  const { readdirSync, readFileSync } = await import('node:fs');
  const { join } = await import('node:path');
  const src = join(import.meta.dirname, '../src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const text = files.map((name) => readFileSync(join(src, name), 'utf8')).join('\n');
  const used = new Set([...text.matchAll(/'(GATEWAY_[A-Z_]+)'/g)].map((match) => match[1] as string));
  const named = tableRows('Variable').map(([name = '']) => code(name));
  expect([...used].filter((name) => !userTexts.some((text) => text.includes(name)))).toEqual([]);
  expect(named.filter((name) => !used.has(name))).toEqual([]);
});

test('every model of a vendor that users read of is one that the table of services names', async () => {
  const { readdirSync, readFileSync } = await import('node:fs');
  const { join } = await import('node:path');
  const src = join(import.meta.dirname, '../src');
  // What is known of the families of models is no text for users.
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.(?:ts|md)$/.test(name) && !/^library\/vendors\/(?!services)/.test(name),
  );
  const texts = [readme, ...files.map((name) => readFileSync(join(src, name), 'utf8'))];
  // Without the author that OpenRouter puts before a name.
  const names = Object.values(services).flatMap(({ models }) => Object.values(models));
  const known = new Set(names.map((name) => name.replace(/^.*\//, '')));
  const named = texts.flatMap(
    (text) => text.match(/\b(?:claude|gemini|gemma|gpt|imagen)-[\w.-]*(?:\d|latest)[\w.-]*/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('the topic output has a row for each key of the result document', () => {
  const rows = tableRows('Key', [topicTexts.get('output') ?? '']);
  const named = rows.flatMap(([keys = '']) => [...keys.matchAll(/`(\w+)(?:\[\])?`/g)].map(([, key]) => key));
  const known = new Set(named);
  expect(Object.keys(documentEntries).filter((key) => !known.has(key))).toEqual(['schema']);
});

test('the topic fields says of each flag that a format lacks which formats have it', () => {
  const rows = tableRows('Flag', [topicTexts.get('fields') ?? '']);
  for (const [name, field] of fieldEntries.filter(([, { lackedBy }]) => lackedBy !== undefined)) {
    const [, ...cells] = rows.find(([flags = '']) => flags.includes(`\`${getFieldFlag(field)}\``)) ?? [];
    const has = formatNames.map((format) => !field.lackedBy?.includes(format));
    expect({ name, has: cells.map((cell) => cell !== 'no') }).toEqual({ name, has });
  }
});

test('help names every command', async () => {
  const { stdout } = await run(['--help']);
  for (const words of await commandWords()) expect(stdout).toContain(words.split(' ')[0]);
});

test('the amount in the topic costs is what its example prints', async () => {
  const topic = topicTexts.get('costs') ?? '';
  const prices = /text --offline "hello" --prices '(.+)' --json/.exec(topic)?.[1] ?? '';
  const { stdout } = await run(['text', '--offline', 'hello', '--prices', prices, '--json']);
  const { cost } = JSON.parse(stdout) as { cost: { amount: string } };
  expect(topic).toContain(`\`"cost": {"amount": "${cost.amount}", "currency": "USD"}\``);
});

/** What else names the services: the files of the action, and the words that registries and clients show. */
const otherTexts = [
  'package.json',
  'src/cli/cli.ts',
  ...['README.md', 'action.yml'].map((name) => `.github/actions/gateway-cli/${name}`),
];

test('the topic services has a row for each service: its base URL, and the variables of its key and its address', () => {
  const topic = readFileSync(join(import.meta.dirname, '../src/cli/help/topics/services.md'), 'utf8');
  const rows = topic.split('\n').filter((line) => line.startsWith('| `'));
  for (const name of serviceNames) {
    const { baseUrl, template, keyVariables, addressVariables } = services[name];
    const blanks = Object.values(template?.variables ?? {}).flat();
    const row = rows.find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';
    const words = [baseUrl ?? template?.url ?? 'yours', ...keyVariables, ...addressVariables, ...blanks];
    expect({ name, missing: words.filter((word) => !row.includes(word)) }).toEqual({ name, missing: [] });
  }
});

test('no list of the services in help, README, skill or action lacks one of them', () => {
  const titles = firstServiceNames.flatMap((name) =>
    name === 'gateway' ? [] : [services[name].title.replace(/^Google /, '')],
  );
  const texts = [
    ...userTexts,
    ...otherTexts.map((path) => readFileSync(join(import.meta.dirname, '..', path), 'utf8')),
  ];
  const listed = [firstServiceNames, titles].flatMap((names) =>
    texts
      .flatMap((text) => text.split('\n'))
      .map((line) => ({ line, missing: names.filter((name) => !new RegExp(`\\b${name}\\b`).test(line)) }))
      .filter(({ missing }) => missing.length === 1),
  );
  expect(listed).toEqual([]);
});
