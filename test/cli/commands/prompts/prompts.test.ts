import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { eventStream, messageEvents, test, textReply } from '../../../helpers/with-server.ts';
import { person } from '../chat/person.ts';

/** A folder of prompts beside the config file, which the tests' runs expect in the current folder. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'prompts'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, 'prompts', name), text);
  return cwd;
}

const pirate = 'messages:\n  - role: system\n    content: Talk like a pirate.\n';
const slogan = `${pirate}  - role: user\n    content: A slogan for {{city}}\n`;
const files = { 'reviewer.md': 'Name bugs, {{tone}}.\n', 'pirate.prompt.yml': pirate, 'slogan.prompt.yaml': slogan };
const content = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] });

test('-t takes a prompt by its name, and the words and the piped text follow it', async ({ server, cli }) => {
  server.reply({ body: textReply('none') });
  const cwd = folderWith(files);
  const argv = ['text', '-t', 'reviewer', 'in this diff', '--var', 'tone=shortly'];
  expect(await cli(argv, { cwd, stdin: '+ a' })).toMatchObject({ code: 0, stdout: 'none\n', stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject(content('Name bugs, shortly.\n\nin this diff\n\n+ a'));
});

test('-t takes the path of a file, and a prompt without words', async ({ server, cli }) => {
  server.reply({ body: textReply('none') });
  const cwd = folderWith(files);
  const argv = ['text', '--template', './prompts/reviewer.md', '--var', 'tone=shortly'];
  expect(await cli(argv, { cwd })).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.json()).toMatchObject(content('Name bugs, shortly.\n'));
});

test('-t with a .prompt.yml sends its system instruction and its prompt', async ({ server, cli }) => {
  for (const text of ['arr', 'ahoy']) server.reply({ body: textReply(text) });
  const cwd = folderWith(files);
  await cli(['text', '-t', 'slogan', '--var', 'city=Bern'], { cwd });
  await cli(['text', '-t', 'pirate', 'hello'], { cwd });
  const system = { systemInstruction: { parts: [{ text: 'Talk like a pirate.' }] } };
  expect(server.requests[0]?.json()).toMatchObject({ ...content('A slogan for Bern'), ...system });
  expect(server.requests[1]?.json()).toMatchObject({ ...content('hello'), ...system });
});

test('a .prompt.yml with only a system message begins a conversation with that role', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('arr')) });
  const ran = await cli(['chat', '--no-save', '-t', 'pirate'], { cwd: folderWith(files), ...person(['hi']).options });
  expect(ran.code).toBe(0);
  expect(server.requests[0]?.json()).toMatchObject({ system: 'Talk like a pirate.', messages: [{ content: 'hi' }] });
});

test.for([
  [['-t', 'reviewr', 'x'], 'did you mean: -t reviewer?'],
  [['-t', 'zzzzzz', 'x'], 'there are: pirate, reviewer, slogan'],
  [['-t', 'slogan', 'x'], 'ends with a prompt of its own'],
  [['-t', 'reviewer', '--prompt-file', 'x.md'], 'both name a prompt'],
] as const)('%j is refused before anything is sent', async ([flags, words], { server, cli }) => {
  const ran = await cli(['text', ...flags], { cwd: folderWith(files) });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(words);
  expect(server.requests).toEqual([]);
});

test('prompts list prints names and files, prompts show prints one', async ({ cli }) => {
  const cwd = folderWith({ ...files, 'notes.txt': 'no prompt' });
  const path = (name: string) => join(cwd, 'prompts', name);
  expect(await cli(['prompts', 'list'], { cwd })).toMatchObject({
    code: 0,
    stdout: `pirate    ${path('pirate.prompt.yml')}\nreviewer  ${path('reviewer.md')}\nslogan    ${path('slogan.prompt.yaml')}\n`,
    stderr: '',
  });
  expect(await cli(['prompts', 'show', 'pirate'], { cwd })).toMatchObject({ code: 0, stdout: pirate, stderr: '' });
  const listed = JSON.parse((await cli(['prompts', 'list', '--json'], { cwd })).stdout) as { prompts: unknown };
  expect(listed.prompts).toContainEqual({ name: 'reviewer', path: path('reviewer.md') });
  const unknown = await cli(['prompts', 'show', 'none'], { cwd: scratchFolder() });
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expect(unknown.stderr).toContain('write one: ');
});

test('without a prompt, prompts list says where to write one', async ({ cli }) => {
  const ran = await cli(['prompts', 'list'], { tty: { stderr: true }, columns: 300 });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).toContain(join('prompts', 'reviewer.md'));
});
