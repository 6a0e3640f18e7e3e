import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { formatNames as formats } from '../../../src/library/formats/format.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test } from '../../helpers/with-server.ts';
import { replies, streams } from './answers.ts';

const prompt = { role: 'user', content: 'hi' };
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
const message = { model: 'm', max_tokens: 4096, messages: [prompt] };
const completion = { model: 'm', messages: [prompt] };
const response = { model: 'm', input: [prompt], store: false, include: ['reasoning.encrypted_content'] };
const said = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: '{"a":1}', annotations: [] }],
};

for (const format of formats) {
  test(`a stream in the ${format} format is printed as it comes, and reported event by event`, async ({
    server,
    cli,
  }) => {
    const env = { GATEWAY_FORMAT: format };
    const reply = { headers: { 'content-type': 'text/event-stream' }, body: streams[format] };
    for (const argv of [
      ['chat', 'hi'],
      ['text', 'hi', '--stream'],
    ]) {
      server.reply(reply);
      expect(await cli(argv, { env })).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
    }
    server.reply(reply);
    const { stdout } = await cli(['chat', 'hi', '--jsonl'], { env });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(lines.map(({ type }) => type)).toEqual([
      'start',
      'block-start',
      'text',
      'text',
      'block-stop',
      'stop',
      'end',
      'result',
    ]);
    expect(lines.at(-1)).toMatchObject({ complete: true, usage: { inputTokens: 4, outputTokens: 2, totalTokens: 6 } });
  });
}

test.for([
  [
    'content',
    {
      contents: [...contents, { role: 'model', parts: [{ text: '{"a":1}', thoughtSignature: 'sig' }] }, ...contents],
    },
  ],
  [
    'messages',
    {
      ...message,
      messages: [
        prompt,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'text', text: '{"a":1}' },
          ],
        },
        prompt,
      ],
    },
  ],
  [
    'completions',
    {
      ...completion,
      messages: [prompt, { role: 'assistant', content: '{"a":1}', reasoning_content: 'hm' }, prompt],
    },
  ],
  [
    'responses',
    {
      ...response,
      input: [
        prompt,
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'sealed' },
        said,
        prompt,
      ],
    },
  ],
] as const)(
  'a session in the %s format goes on with what its service signed',
  async ([format, body], { server, cli }) => {
    const cwd = scratchFolder();
    for (let turn = 0; turn < 2; turn++) {
      server.reply({ body: replies[format] });
      const ran = await cli(['chat', 'hi', '--no-stream', '--session', './s.jsonl'], {
        cwd,
        env: { GATEWAY_FORMAT: format },
      });
      expect(ran).toMatchObject({ code: 0, stdout: '{"a":1}\n' });
    }
    expect(server.requests[1]?.json()).toStrictEqual(body);
    const lines = readFileSync(join(cwd, 's.jsonl'), 'utf8').trim().split('\n');
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ service: `${new URL(server.url).host}/${format}` });
  },
);

test('a session goes on in every other format, without what another service signed', async ({ server, cli }) => {
  const cwd = scratchFolder();
  for (const format of formats) {
    server.reply({ body: replies[format] });
    await cli(['chat', 'hi', '--no-stream', '--session', './s.jsonl'], { cwd, env: { GATEWAY_FORMAT: format } });
  }
  const answer = { role: 'assistant', content: [{ type: 'text', text: '{"a":1}' }] };
  expect(server.requests[1]?.json()).toStrictEqual({ ...message, messages: [prompt, answer, prompt] });
  const text = { role: 'assistant', content: '{"a":1}' };
  expect(server.requests[2]?.json()).toStrictEqual({ ...completion, messages: [prompt, text, prompt, text, prompt] });
  const input = [prompt, said, prompt, said, prompt, said, prompt];
  expect(server.requests[3]?.json()).toStrictEqual({ ...response, input });
  server.reply({ body: replies.content });
  await cli(['chat', 'hi', '--no-stream', '--session', './s.jsonl'], { cwd, env: { GATEWAY_FORMAT: 'content' } });
  const model = (part: object) => ({ role: 'model', parts: [part] });
  expect(server.requests.at(-1)?.json()).toStrictEqual({
    contents: [
      ...contents,
      model({ text: '{"a":1}', thoughtSignature: 'sig' }),
      ...contents,
      model({ text: '{"a":1}' }),
      ...contents,
      model({ text: '{"a":1}' }),
      ...contents,
      model({ text: '{"a":1}' }),
      ...contents,
    ],
  });
});
