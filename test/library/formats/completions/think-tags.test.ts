import { expect, test } from 'vitest';
import { createThinkTags, type TaggedPiece } from '../../../../src/library/formats/completions/think-tags.ts';
import { createClient } from '../../../../src/index.ts';
import { readReply } from '../../../../src/library/index.ts';
import { canaryKey, test as served } from '../../../helpers/with-server.ts';

// Thinking in tags at the head of an answer (deviation 79).

const join = (pieces: readonly TaggedPiece[], type: TaggedPiece['type']): string =>
  pieces.map((piece) => (piece.type === type ? piece.text : '')).join('');

const table: [text: string, isAnswered: boolean, thinking: string, answer: string][] = [
  ['<think>hm</think>Hi', true, 'hm', 'Hi'],
  ['<think>\nhm\n</think>\n\nHi\n', true, '\nhm\n', 'Hi\n'],
  ['\n <think>hm</think>\r\n\r\n Hi', true, 'hm', ' Hi'],
  ['<think></think>\n\nHi', true, '', 'Hi'],
  ['<think>a </thin b</think>Hi', true, 'a </thin b', 'Hi'],
  ['<think>a</think>x <think>b</think>', true, 'a', 'x <think>b</think>'],
  ['<think>a <think> b</think>Hi', true, 'a <think> b', 'Hi'],
  ['The tag <think>hm</think>', true, '', 'The tag <think>hm</think>'],
  ['<thinking>hm</thinking>Hi', true, '', '<thinking>hm</thinking>Hi'],
  ['<thi', true, '', '<thi'],
  ['  \n', true, '', '  \n'],
  [`${' '.repeat(100)}<think>hm</think>Hi`, true, '', `${' '.repeat(100)}<think>hm</think>Hi`],
  ['<think> is a tag</thi', false, ' is a tag</thi', ''],
  ['<think> is a tag</thi', true, ' is a tag</thi', '<think> is a tag</thi'],
  ['\n<think> is a tag', true, ' is a tag', '\n<think> is a tag'],
  ['<think>hm</think>\n\n', true, 'hm', ''],
  ['', true, '', ''],
];

test.each(table)('%j, whole: %s, is split alike wherever it is cut', (text, isAnswered, thinking, answer) => {
  const cuts = [[text], [...text], ...Array.from(text, (_, at) => [text.slice(0, at), text.slice(at)])];
  for (const pieces of cuts) {
    const tags = createThinkTags();
    const told = [...pieces.flatMap((piece) => tags.read(piece)), ...tags.end(isAnswered)];
    expect([join(told, 'thinking'), join(told, 'text')]).toEqual([thinking, answer]);
    expect(told.every((piece) => piece.text !== '')).toBe(true);
  }
});

const reply = (content: string, finish = 'stop'): object => ({
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
});
const stream = (pieces: readonly string[], finish: string | null = 'stop'): string => {
  const chunks = [...pieces.map((content) => ({ content })), {}].map((delta, at) => ({
    choices: [{ index: 0, delta, finish_reason: at === pieces.length ? finish : null }],
  }));
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
};
const sse = { 'content-type': 'text/event-stream' };
const completions = ['--format', 'completions'];

served.for([
  ['text', ['text', 'hi', ...completions], { body: reply('<think>hm</think>\n\nHi') }],
  [
    'text --stream',
    ['text', 'hi', '--stream', ...completions],
    { headers: sse, body: stream([...'<think>hm</think>\n\nHi']) },
  ],
  ['chat', ['chat', 'hi', ...completions], { headers: sse, body: stream(['<think>h', 'm</think>', '\n\nHi']) }],
] as const)(
  '%s prints what follows the thinking, and the document has both apart',
  async ([, argv, answer], { server, cli }) => {
    server.reply(answer);
    server.reply(answer);
    server.reply(answer);
    expect(await cli(argv)).toMatchObject({ code: 0, stdout: 'Hi\n', stderr: '' });
    const document = JSON.parse((await cli([...argv, '--json'])).stdout) as object;
    expect(document).toMatchObject({ text: 'Hi', complete: true });
    expect((await cli([...argv, '--keep-think'])).stdout).toBe('<think>hm</think>\n\nHi\n');
  },
);

served('chat shows it as thinking, and does not send it back', async ({ server, cli }) => {
  server.always({ headers: sse, body: stream(['<think>hm</think>', '\n\nHi']) });
  const ran = await cli(['chat', 'hi', '--thinking', '--session', './talk.jsonl', ...completions]);
  expect(ran).toMatchObject({ code: 0, stdout: 'Hi\n' });
  expect(ran.stderr).toContain('hm');
  await cli(['chat', 'more', '--session', './talk.jsonl', ...completions], { cwd: ran.cwd });
  expect(server.requests[1]?.json()).toMatchObject({
    messages: [{ content: 'hi' }, { role: 'assistant', content: 'Hi' }, { content: 'more' }],
  });
});

served('an answer whose tag is never closed is printed whole, unless a limit cut it', async ({ server, cli }) => {
  server.reply({ body: reply('<think> is a tag') });
  expect(await cli(['text', 'hi', ...completions])).toMatchObject({ code: 0, stdout: '<think> is a tag\n' });
  server.reply({ body: reply('<think>let me', 'length') });
  const cut = await cli(['text', 'hi', ...completions]);
  expect(cut).toMatchObject({ code: 10, stdout: '' });
  expect(cut.stderr).toContain('allow more with --max-tokens');
  server.reply({ headers: sse, body: stream(['<think>let me'], null).replace('data: [DONE]\n\n', '') });
  expect(await cli(['text', 'hi', '--stream', ...completions])).toMatchObject({ stdout: '' });
});

served('tags beside thinking in a field are words of the answer', async ({ server, cli }) => {
  const message = { role: 'assistant', reasoning_content: 'hm', content: '<think>x</think>Hi' };
  server.reply({ body: { choices: [{ index: 0, message, finish_reason: 'stop' }] } });
  expect(await cli(['text', 'hi', ...completions])).toMatchObject({ code: 0, stdout: '<think>x</think>Hi\n' });
});

served(
  'the library has it as thinking, in each candidate, or in the text where it is asked to leave it',
  async ({ server }) => {
    const two = ['<think>a</think>A', '<think>b</think>B'].map((content, index) => ({
      index,
      message: { role: 'assistant', content },
      finish_reason: 'stop',
    }));
    server.always({ body: { choices: two } });
    const client = createClient({ baseUrl: server.url, service: 'openai', apiKey: canaryKey });
    const request = { model: 'm', prompt: 'hi', candidates: 2 };
    const answer = await client.generate(request);
    expect(answer).toMatchObject({ text: 'A', thinking: 'a', candidates: [{ text: 'A' }, { text: 'B' }] });
    expect(await client.generate({ ...request, keepThink: true })).toMatchObject({ text: '<think>a</think>A' });
    await client.close();
    const body = Buffer.from(JSON.stringify({ choices: two }));
    const held = { status: 200, headers: {}, body };
    const read = await readReply(held, { format: 'completions', model: 'm', keepThink: true });
    expect(read.result.text).toBe('<think>a</think>A');
  },
);
