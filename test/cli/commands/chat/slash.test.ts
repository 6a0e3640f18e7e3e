import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { completeSlash } from '../../../../src/cli/commands/chat/slash.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { eventStream, messageEvents, test } from '../../../helpers/with-server.ts';
import { person } from './person.ts';

test('a slash in front makes a command, and everything else that is not empty a prompt', async ({ server, cli }) => {
  vi.stubEnv('XDG_STATE_HOME', scratchFolder());
  server.always({ body: eventStream(...messageEvents('ok')) });
  const prompts = ['', ' \n ', 'hello', 'a\n/exit', ' /etc is a folder'];
  const commands = ['/model  some model ', '/constructor', '/mdel x', '/system be\nterse'];
  const ran = await cli(['chat'], person([...prompts, ...commands, 'bye', '/quit', 'never']).options);
  const sent = server.requests.map((request) => request.json() as { messages: { content: string }[] });
  const asked = sent.map(({ messages }) => messages.at(-1)?.content);
  expect(asked).toEqual(['hello', 'a\n/exit', '/etc is a folder', 'bye']);
  expect(sent.at(-1)).toMatchObject({ model: 'some model', system: 'be\nterse' });
  for (const name of ['constructor', 'mdel']) expect(ran.stderr).toContain(`there is no /${name};`);
});

const cwd = scratchFolder();
for (const folder of ['photos', '~photos']) mkdirSync(join(cwd, folder));
for (const name of ['photo.jpg', 'photos/a b.png', '~photos/b.png', '.hidden', 'bad\u001b[31m.png'])
  writeFileSync(join(cwd, name), '');

const commands = ['help', 'model', 'system', 'image', 'attach', 'new', 'save', 'retry', 'exit'];

test.for<[line: string, hits: string[], part: string]>([
  ['/m', ['/model '], '/m'],
  ['/', commands.map((name) => `/${name} `), '/'],
  ['/image ph', ['photo.jpg', 'photos/'], 'ph'],
  ['/image photos/', ['photos/a b.png'], 'photos/'],
  ['/image ~photos/', ['~photos/b.png'], '~photos/'],
  ['/image ', ['photo.jpg', 'photos/', '~photos/'], ''],
  ['/attach ph', ['photo.jpg', 'photos/'], 'ph'],
  ['/image .h', ['.hidden'], '.h'],
  ['/image none/', [], 'none/'],
  ['hello /im', [], 'hello /im'],
])('Tab completes %j', async ([line, hits, part]) => {
  expect(await completeSlash(line, cwd)).toEqual({ hits, part });
});

test('a path below ~ is a path in the home folder', async () => {
  vi.stubEnv('HOME', cwd);
  const hits = ['~/photos/a b.png'];
  expect(await completeSlash('/image ~/photos/', '/elsewhere')).toEqual({ hits, part: '~/photos/' });
});

test.for([20, 24, 40, 80])('/help names every command, whole words in %i columns', async (columns, { cli }) => {
  const ran = await cli(['chat', '--quiet'], { ...person(['/help']).options, columns });
  const lines = ran.stderr.split('\n');
  expect(lines.flatMap((line) => /^ {2}\/(\w+)/.exec(line)?.[1] ?? [])).toEqual(commands);
  const words = lines.join(' ').replaceAll(/\s+/g, ' ');
  expect(words).toContain('keep it as a session of that name, or in <file.jsonl>; <file.md>: write Markdown');
  expect(words).toContain('Tab completes commands and paths. Ctrl-C stops the answer.');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
});
