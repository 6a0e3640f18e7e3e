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

const commands = ['help', 'model', 'system', 'image', 'attach', 'new', 'save', 'exit'];

test.for<[line: string, hits: string[], part: string]>([
  ['/m', ['/model '], '/m'],
  ['/', commands.map((name) => `/${name} `), '/'],
  ['hello /im', [], 'hello /im'],
])('Tab completes %j', async ([line, hits, part]) => {
  expect(await completeSlash(line)).toEqual({ hits, part });
});

test.for([20, 24, 40, 80])('/help names every command, whole words in %i columns', async (columns, { cli }) => {
  const ran = await cli(['chat', '--quiet'], { ...person(['/help']).options, columns });
  const lines = ran.stderr.split('\n');
  expect(lines.flatMap((line) => /^ {2}\/(\w+)/.exec(line)?.[1] ?? [])).toEqual(commands);
  const words = lines.join(' ').replaceAll(/\s+/g, ' ');
  expect(words).toContain('keep it as a session of that name, or in <file.jsonl>');
  expect(words).toContain('Tab completes commands. Ctrl-C stops the answer.');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
});
