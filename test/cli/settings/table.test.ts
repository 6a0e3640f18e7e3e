import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { getLongFlag, listVariables } from '../../../src/cli/settings/sources.ts';
import { type Kind, type SettingDefinition, settingNames, settings } from '../../../src/cli/settings/table.ts';
import { useNames } from '../../../src/library/vendors/services.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

test('the topic settings names every variable', () => {
  const topic = readFileSync(join(import.meta.dirname, '../../../src/cli/help/topics/settings.md'), 'utf8');
  const variables = settingNames.flatMap((name) => useNames.flatMap((use) => listVariables(name, use)));
  expect(variables).toContain('GATEWAY_MODEL');
  expect([...new Set(variables)].filter((name) => !topic.includes(`| \`${name}\` |`))).toEqual([]);
});

test('some command takes the flag of every setting', async () => {
  const helps = [['text'], ['chat'], ['image', 'gen']].map((command) => run([...command, '--help', '--verbose']));
  const help = (await Promise.all(helps)).map(({ stdout }) => stdout).join('');
  const flags = settingNames.map(getLongFlag).filter((flag) => flag !== '');
  expect(flags).toContain('--model');
  expect(flags.filter((flag) => !help.includes(`${flag} `))).toEqual([]);
});

/** What is typed for each kind, and what is in the file then. */
const words: { [kind in Exclude<Kind, 'choice'>]: [word: string, value: unknown] } = {
  budget: ['team:20/month', 'team:20/month'],
  command: ['["pass", "show"]', ['pass', 'show']],
  count: ['7', 7],
  duration: ['90s', '90s'],
  headerName: ['x-key', 'x-key'],
  headers: ['docs', 'docs'],
  path: ['key.txt', 'key.txt'],
  prices: ['{"input":"1"}', { input: '1' }],
  proxy: ['http://proxy.example:3128', 'http://proxy.example:3128'],
  switch: ['true', true],
  text: ['two words', 'two words'],
  url: ['https://gateway.example', 'https://gateway.example'],
};

const keys = settingNames.flatMap((name) => {
  const { key, kind, values, fields }: SettingDefinition = settings[name];
  const [word, value] = kind === 'choice' ? [values?.[0] ?? '', values?.[0]] : words[kind];
  const members = kind === 'headers' || kind === 'prices' ? ['X-Some.name'] : Object.keys(fields ?? {});
  const all = members.length === 0 ? [[key ?? '']] : members.map((member) => [key ?? '', member]);
  return key === undefined ? [] : all.map((steps) => ({ key: steps.join('.'), steps, word, value }));
});

test.each(keys)('config sets $key to $word, and removes it again', async ({ key, steps, word, value }) => {
  const cwd = scratchFolder();
  const file = join(cwd, 'config.json');
  const env = { GATEWAY_CONFIG: file };
  const profile = (): unknown =>
    (JSON.parse(readFileSync(file, 'utf8')) as { profiles: { default: unknown } }).profiles.default;
  const typed =
    key === 'apiKey'
      ? await run(['config', 'set', key, '-'], { cwd, env, stdin: word })
      : await run(['config', 'set', key, word], { cwd, env });
  expect(typed).toMatchObject({ code: 0, stdout: '' });
  expect(profile()).toEqual(steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value));
  expect(await run(['config', 'unset', key], { cwd, env })).toMatchObject({ code: 0, stdout: '' });
  expect(profile()).toEqual({});
});
