import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { RunOptions } from '../../helpers/run.ts';
import { eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const text = '# Title\n\n- *one* two three four five six seven\n- `code`\n';
const shown = '# Title\n\n• one two three four\n  five six seven\n• `code`\n';
const terminal: RunOptions = { tty: { stdout: true, stderr: true }, columns: 24, env: { NO_COLOR: '1' } };
const streamed = { body: eventStream(...messageEvents(...(text.match(/[^]{1,7}/g) ?? []))) };

test.for([
  ['chat', ['chat'], streamed],
  ['chat --no-stream', ['chat', '--no-stream'], undefined],
  ['text', ['text'], undefined],
] as const)(
  '%s formats Markdown on a terminal, and gives a pipe the exact text',
  async ([, words, stream], { server, cli }) => {
    const message = { type: 'message', role: 'assistant', content: [{ type: 'text', text }], stop_reason: 'end_turn' };
    const reply = stream ?? { body: words[0] === 'text' ? textReply(text) : JSON.stringify(message) };
    server.reply(reply);
    server.reply(reply);
    const ran = await cli([...words, 'hi'], terminal);
    expect(ran).toMatchObject({ code: 0, stdout: shown, stderr: '' });
    expect(await cli([...words, 'hi'], { tty: { stderr: true } })).toMatchObject({ code: 0, stdout: text, stderr: '' });
  },
);

test('shows colours where they are allowed', async ({ server, cli }) => {
  server.reply({ body: eventStream(...messageEvents('**bold**')) });
  server.reply({ body: eventStream(...messageEvents('**bold**')) });
  expect((await cli(['chat', 'hi'], { tty: { stdout: true } })).stdout).toContain('\x1b[1mbold\x1b[22m');
  expect((await cli(['chat', 'hi', '--no-color'], { tty: { stdout: true } })).stdout).toBe('bold\n');
});

const cwd = scratchFolder();
writeFileSync(join(cwd, 'schema.json'), '{}');
const config = join(cwd, 'config.json');

test.for<[name: string, words: string[], env: Record<string, string>]>([
  ['--no-markdown', ['--no-markdown'], {}],
  ['a profile', ['--profile', 'plain'], { GATEWAY_CONFIG: config }],
  ['a dumb terminal', [], { TERM: 'dumb' }],
  ["GitHub's runner", [], { GITHUB_ACTIONS: 'true' }],
])('prints the text as it came with %s', async ([, words, env], { server, cli }) => {
  writeFileSync(config, JSON.stringify({ profiles: { plain: { baseUrl: server.url, markdown: false } } }));
  server.reply(streamed);
  const ran = await cli(['chat', 'hi', ...words], { ...terminal, env });
  expect(ran).toMatchObject({ code: 0, stdout: text });
});

test.for([
  ['--schema', 'schema.json'],
  ['--response-mime', 'application/json'],
])('prints data as it came: %s', async (words, { server, cli }) => {
  server.reply({ body: textReply('{"a": "*b*"}') });
  const ran = await cli(['text', 'hi', ...words], { ...terminal, cwd });
  expect(ran).toMatchObject({ code: 0, stdout: '{"a": "*b*"}\n' });
});

test('gives thinking and text lines of their own', async ({ server, cli }) => {
  const [start, ...rest] = messageEvents('*answer*');
  const thinking = { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hmm' } };
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } };
  const stop = { type: 'content_block_stop', index: 0 };
  const text = rest.map((event) => ('index' in (event as object) ? { ...(event as object), index: 1 } : event));
  server.reply({ body: eventStream(start as object, block, thinking, stop, ...(text as object[])) });
  const ran = await cli(['chat', 'hi', '--thinking'], terminal);
  expect(ran).toMatchObject({ code: 0, stdout: 'answer\n', stderr: 'hmm\n' });
});
