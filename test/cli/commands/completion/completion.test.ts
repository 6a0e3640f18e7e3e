import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { splitShellLine } from '../../../../src/library/shell-word.ts';
import { run } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

const cwd = scratchFolder();
const file = join(cwd, 'config.json');
const models = { text: 'work-text', image: 'work-image' };
writeFileSync(
  file,
  JSON.stringify({ profile: 'work', profiles: { work: { models }, home: { models: { text: 'h' } } } }),
  {
    mode: 0o600,
  },
);

async function candidates(words: readonly string[], shell = 'fish'): Promise<string[]> {
  const { code, stdout, stderr } = await run(['__complete', shell, '--', ...words], { env: { GATEWAY_CONFIG: file } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '');
}

test.each([
  ['a command', ['te'], ['text', ':none']],
  ['a command or a topic for help', ['help', 's'], ['sessions', 'serve', 'services', 'settings', ':none']],
  ['a flag for help', ['help', 'text', '--j'], ['--json', ':none']],
  ['the command of a group', ['image', ''], ['gen', 'edit', ':none']],
  ['a flag', ['image', 'gen', '--asp'], ['--aspect', ':none']],
  ['a flag after the prompt', ['text', 'hi', '--top'], ['--top-p', '--top-k', ':none']],
  ['a flag that repeats', ['chat', '-i', 'a.png', '--ima'], ['--image', ':none']],
  ['no flag twice', ['image', 'gen', '--aspect', '1:1', '--asp'], [':none']],
  ['a flag of the program', ['--prof'], ['--profile', ':none']],
  ['the value of a flag', ['image', 'gen', '--aspect', '16'], ['16:9', ':none']],
  ['the value after =', ['text', '--auth=be'], ['--auth=bearer', ':none']],
  ['the value of a short flag', ['text', '-m', 'work-'], ['work-text', 'work-image', ':none']],
  ['the models of a named profile', ['text', '--profile', 'home', '-m', ''], ['h', ':none']],
  ['a current model of a service', ['chat', '--service', 'anthropic', '-m', 'claude'], ['claude-sonnet-5-5', ':none']],
  ['the local models', ['text', '--offline', '-m', 'local-t'], ['local-text', ':none']],
  ['a profile', ['text', '--profile', ''], ['work', 'home', ':none']],
  ['a profile for use', ['config', 'use', 'w'], ['work', ':none']],
  ['a use', ['config', 'use', 'work', '--for', 'te'], ['text', ':none']],
  ['a key', ['config', 'get', 'models.i'], ['models.image', ':none']],
  ['the value of a key', ['config', 'set', 'allowHttp', ''], ['true', 'false', ':none']],
  ['a shell', ['completion', 'f'], ['fish', ':none']],
  ['files', ['text', '--prompt-file', ''], [':files']],
  [
    'the commands and the files of a batch',
    ['batch', ''],
    ['run', 'again', 'retry', 'redo', 'choose', 'status', 'cancel', 'export', 'gallery', ':files'],
  ],
  ['what is sent again', ['batch', 'retry', 'out', ''], ['failed', 'unknown', 'incomplete', ':none']],
  ['a flag of the default command', ['batch', 'jobs.jsonl', '--conc'], ['--concurrency', ':none']],
  ['a value of the default command', ['batch', '--auth', 'b'], ['bearer', ':none']],
  ['files after =', ['text', '--output='], [':files']],
  ['nothing for a prompt', ['text', ''], [':none']],
  ['nothing after --', ['text', '--', '--asp'], [':none']],
  ['nothing for a secret flag', ['text', '--api-key', ''], [':none']],
  ['nothing for a free value', ['text', '--system', ''], [':none']],
])('%s', async (_, words, expected) => {
  expect(await candidates(words)).toEqual(expected);
});

test('every command that help names is offered, and no hidden one', async () => {
  const found = await candidates(['']);
  const { stdout } = await run(['--help']);
  const named = [
    ...stdout.slice(stdout.indexOf('Ask a model:'), stdout.indexOf('Everywhere:')).matchAll(/^ {2}([a-z]+) /gm),
  ].map(([, name]) => name);
  expect(found.slice(0, -1)).toEqual(named);
});

test('bash is given what follows the last = or : of the word, zsh what follows --flag=', async () => {
  const line = async (text: string): Promise<string> => (await run(['__complete', 'bash', text])).stdout;
  expect(await line('gateway-cli image gen --aspect 16:')).toBe('9\n:none\n');
  expect(await line('gateway-cli image gen --aspect=16:')).toBe('9\n:none\n');
  expect(await line('gateway-cli text --auth=b')).toBe('bearer\n:none\n');
  expect(await line(`gateway-cli text "it's one" --auth b`)).toBe('bearer\n:none\n');
  expect(await candidates(['text', '--auth=b'], 'zsh')).toEqual(['bearer', ':none']);
});

test.each([
  ['a b', ['a', 'b'], false],
  ['a ', ['a'], true],
  ['', [], true],
  ["a 'b c' d", ['a', 'b c', 'd'], false],
  [String.raw`a "b \" c" d\ e`, ['a', 'b " c', 'd e'], false],
  ["a 'open", ['a', 'open'], false],
  ["a ''", ['a', ''], false],
])('splits %j as a shell does', (line, words, isComplete) => {
  expect(splitShellLine(line)).toMatchObject({ words, isComplete });
});

test('a broken config completes the rest', async () => {
  const broken = join(cwd, 'broken.json');
  writeFileSync(broken, '{');
  const ran = await run(['__complete', 'fish', '--', 'text', '-m', ''], {
    env: { GATEWAY_CONFIG: broken, GATEWAY_MODEL: 'from-env' },
  });
  expect(ran).toMatchObject({ code: 0, stdout: ':none\n', stderr: '' });
});

test('prints each script, as JSON too, and refuses another shell', async () => {
  for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
    const { code, stdout, stderr } = await run(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`__complete ${shell}`);
    expect(JSON.parse((await run(['completion', shell, '--json'])).stdout)).toMatchObject({ shell, script: stdout });
  }
  const refused = await run(['completion', 'csh']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('bash, zsh, fish, powershell');
});
