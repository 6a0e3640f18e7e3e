import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tree } from '../src/cli/command-tree.ts';
import { topics } from '../src/cli/help/help.ts';
import { answerQuickly } from '../src/quick.ts';
import { createCiGuard } from '../src/terminal/output.ts';
import { run } from './helpers/run.ts';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8');

/** Words of every command and group. */
const commands = Object.entries(tree)
  .filter(([, { hidden }]) => !hidden)
  .flatMap(([name, { commands: inside = {} }]) => [[name], ...Object.keys(inside).map((word) => [name, word])]);

test.each([
  'help',
  ...commands.flatMap((words) => [`${words.join(' ')} --help`, `help ${words.join(' ')}`]),
  ...topics.map((topic) => `help ${topic}`),
])(
  '"%s" is answered from the facts of the build as the program answers it, and no CI reads a command in it',
  async (words) => {
    const argv = words.split(' ');
    const answer = answerQuickly(argv, read) ?? '';
    expect(answer).toBe((await run(argv)).stdout);
    expect(createCiGuard()(answer)).toBe(answer);
  },
);

test.each([
  'gateway-cli ',
  'gateway-cli te',
  'gateway-cli --pro',
  'gateway-cli image ',
  'gateway-cli image --j',
  'gateway-cli batch ',
  'gateway-cli batch --data rows.csv ',
  'gateway-cli text --',
  'gateway-cli text -f --fo',
  'gateway-cli text --auth=b',
  'gateway-cli image gen --aspect 16:',
  'gateway-cli chat -i a.png --im',
  'gateway-cli help ',
  'gateway-cli help s',
  'gateway-cli help image ',
  'gateway-cli help text --',
  'gateway-cli text --help',
  'gateway-cli text -- --m',
  'gateway-cli completion ',
])('a TAB after "%s" is answered from the facts of the build as the program answers it', async (line) => {
  for (const argv of [
    ['__complete', 'bash', line],
    ['__complete', 'powershell', line],
    ['__complete', 'zsh', '--', ...line.split(' ').slice(1)],
    ['__complete', 'fish', '--', ...line.split(' ').slice(1)],
  ])
    expect(answerQuickly(argv, read)).toBe((await run(argv)).stdout);
});

test.each([
  'help nosuch',
  'help help',
  'help image nosuch',
  'help text --verbose',
  'help ci --recipe github',
  'help __complete',
  'help ../help/ci',
  'text hi --help',
  'nosuch --help',
  '-- --help',
  '__complete fish -- text -m ',
  '__complete fish -- text --profile=',
  '__complete fish -- chat --session ',
  '__complete fish -- text --template ',
  '__complete fish -- config set ',
  '__complete fish -- config set allowHttp ',
  '__complete fish -- config use ',
  '__complete fish -- sessions show ',
])('"%s" is left to the program', (words) => {
  expect(answerQuickly(words.split(' '), read)).toBeUndefined();
});
