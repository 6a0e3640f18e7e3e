import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test, textReply } from '../../helpers/with-server.ts';

const folder = scratchFolder();
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return name;
};

test('--var fills words, system instruction and turns; stdin and values are sent as they are', async ({
  server,
  cli,
}) => {
  server.reply({ body: textReply('ok') });
  file('system.txt', 'be {{ tone }}\n');
  file('turns.json', '[{"role":"user","parts":[{"text":"in {{city}}"}]}]');
  file('note.txt', 'of {{tone}}\n');
  const words = ['text', 'a note {{note}} on {{city}}', '--system-file', 'system.txt', '--contents', 'turns.json'];
  const vars = [
    '--var',
    'note=@note.txt',
    '--var',
    'tone=@@kind',
    '--vars',
    '{"city":"Oslo","n":1}',
    '--var',
    'city=Rome',
  ];
  const ran = await cli([...words, ...vars], { cwd: folder, stdin: '{{city}}' });
  expect(ran).toMatchObject({ code: 0, stdout: 'ok\n', stderr: '' });
  expect(server.requests[0]?.json()).toEqual({
    contents: [
      { role: 'user', parts: [{ text: 'in Rome' }] },
      { role: 'user', parts: [{ text: 'a note of {{tone}}\n on Rome\n\n{{city}}' }] },
    ],
    systemInstruction: { parts: [{ text: 'be @kind\n' }] },
  });
});

test('fills the messages and the prompt file of chat', async ({ cli }) => {
  file('messages.json', '[{"role":"user","content":"in {{city}}"},{"role":"assistant","content":"yes"}]');
  file('prompt.md', 'and {{city}}?');
  const argv = ['chat', '--messages', 'messages.json', '--prompt-file', 'prompt.md', '--var', 'city=Rome', '--dry-run'];
  const { code, stdout } = await cli(argv, { cwd: folder });
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('in Rome') });
  expect(stdout).toContain('and Rome?');
});

test.for([
  [['image', 'gen', 'a {{thing}}'], '{{thing}} has no value: the prompt', '--var thing=…'],
  [['text', 'x', '--system', '{{tone}}'], '{{tone}} has no value: --system', '--no-vars'],
  [['text', 'x', '--var', 'city'], "--var takes name=value or name=@file, not 'city'", '--var city=Rome'],
  [['text', 'x', '--var', 'a=@none.txt'], "--var a 'none.txt'", 'none.txt'],
  [['text', 'x', '--vars', '["a"]'], '--vars takes a JSON object', `--vars '{"city":"Rome"}'`],
  [['text', 'x', '--vars', '{"a":'], '--vars is not JSON', 'double quotes'],
  [['text', 'x', '--no-vars', '--var', 'a=1'], '--var and --no-vars are both given', 'keep one'],
] as const)('%j is a mistake that says what to type', async ([argv, message, hint], { cli }) => {
  const ran = await cli(argv, { cwd: folder });
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
  expect(ran.stderr).toContain(hint);
});

test('sends braces unchanged with --no-vars', async ({ server, cli }) => {
  server.reply({ body: textReply('ok') });
  expect(await cli(['text', 'explain {{city}}', '--no-vars'])).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.text()).toContain('explain {{city}}');
});

test('warns of a --var that fills no blank, with the nearest blank', async ({ server, cli }) => {
  server.reply({ body: textReply('ok') });
  const ran = await cli(['text', '{{city}}', '--var', 'citty=Oslo', '--vars', '{"city":"Rome","other":1}']);
  expect(ran).toMatchObject({ code: 0, stdout: 'ok\n' });
  expect(ran.stderr).toBe("gateway-cli: warning: --var 'citty' fills no blank; the nearest blank is {{city}}\n");
});

test('fills what is written between the braces by exactly that name, whatever it is', async ({ server, cli }) => {
  server.reply({ body: textReply('ok') });
  const vars = ['--var', '1st=one', '--vars', '{"Größe (cm)":180,"a | b":"c"}'];
  const ran = await cli(['text', '{{1st}} {{Größe (cm)}} {{ a | b }} {{#if x}} ${{ 1st }}', ...vars]);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.text()).toContain('one 180 c {{#if x}} ${{ 1st }}');
});

test('does not fill what a session said before', async ({ server, cli }) => {
  const answer = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn',
  };
  server.reply({ body: answer });
  server.reply({ body: answer });
  const argv = ['chat', '--no-stream', '--session', './talk.json'];
  await cli([...argv, 'explain {{a}}', '--no-vars'], { cwd: folder });
  const ran = await cli([...argv, 'and {{b}}', '--var', 'b={{c}}'], { cwd: folder });
  expect(ran).toMatchObject({ code: 0, stdout: 'ok\n', stderr: '' });
  expect(server.requests[1]?.text()).toMatch(/explain \{\{a\}\}.*and \{\{c\}\}/);
});
