import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { createClient, isResponseError, type StreamDelta } from '../../../src/index.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { canaryKey, eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';

const usage = (prompt: number, output: number): object => ({
  usageMetadata: { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output },
});

/** A piece of an answer of the content format. */
function piece(text: string, { reason, token, index = 0, ...more }: PieceOptions = {}): object {
  const content = { role: 'model', parts: [{ text }] };
  return { candidates: [{ content, finishReason: reason, continuationToken: token, index }], ...more };
}
interface PieceOptions {
  reason?: string;
  token?: string;
  index?: number;
  usageMetadata?: object;
}

const half = (token = 'dG9rZW4=', text = 'half an ans') =>
  piece(text, { reason: 'CONTINUATION', token, ...usage(3, 4) });
const halves = (): object[] => (half() as { candidates: object[] }).candidates;
const rest = piece('wer', { reason: 'STOP', ...usage(7, 2) });
const sse = (...pieces: readonly object[]): string => pieces.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');

const search = [
  { type: 'thinking', thinking: 'hm', signature: 'sig' },
  { type: 'text', text: 'I look. ' },
  { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 's1',
    content: [
      { type: 'web_search_result', url: 'https://a.test/', title: 'A', page_age: null, encrypted_content: 'Zm9v' },
    ],
  },
];
const message = (content: readonly object[], reason: string, [input, output]: [number, number]): object => ({
  type: 'message',
  id: 'msg',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: reason,
  usage: { input_tokens: input, output_tokens: output },
});
const paused = message(search, 'pause_turn', [3, 4]);
const ended = message([{ type: 'text', text: 'Found.' }], 'end_turn', [7, 2]);

/** A message as a stream: each block whole where it begins. */
const streamed = (...given: readonly [content: readonly object[], reason: string]): string => {
  const [start = {}, ...others] = messageEvents();
  const blocks = given[0].flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: block },
    { type: 'content_block_stop', index },
  ]);
  return eventStream(start, ...blocks, ...others.slice(-2)).replace('"end_turn"', JSON.stringify(given[1]));
};

describe('an answer of the content format that ends with CONTINUATION', () => {
  test.for([
    ['whole', [], half(), rest],
    ['streamed', ['--stream'], sse(half()), sse(rest)],
    ['asked for whole, answered as a stream', [], sse(half()), sse(rest)],
  ] as const)(
    'goes on by itself, %s: one answer, all usage, and the number of requests',
    async ([, flags, one, two], { server, cli }) => {
      server.reply({ body: one });
      server.reply({ body: two });
      const ran = await cli(['text', 'x', ...flags, '--set', 'labels.a=b']);
      expect(ran).toMatchObject({ code: 0, stdout: 'half an answer\n', stderr: '' });
      const [first, second] = server.requests.map((request) => request.json() as object);
      expect(second).toEqual({ ...first, continuationToken: 'dG9rZW4=' });
      expect(server.requests[1]?.path).toBe(server.requests[0]?.path);
    },
  );

  test('the document shows one answer with the sum of the usage and of the cost', async ({ server, cli }) => {
    server.reply({ body: half('a') });
    server.reply({ body: half('b', 'wer that g') });
    server.reply({ body: rest });
    const prices = JSON.stringify({ m: { input: '1000000', output: '1000000' } });
    const { stdout, code } = await cli(['text', 'x', '--json', '--prices', prices]);
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      {
        complete: true,
        text: 'half an answer that gwer',
        stopReason: 'STOP',
        candidates: [{ index: 0, text: 'half an answer that gwer', finishReason: 'STOP' }],
        usage: { inputTokens: 13, outputTokens: 10, totalTokens: 23 },
        cost: { amount: '23' },
        requests: 3,
        attempts: 3,
      },
    ]);
    expect(
      server.requests.map((request) => (request.json() as { continuationToken?: string }).continuationToken),
    ).toEqual([undefined, 'a', 'b']);
  });

  test('--max-turns bounds the requests: exit 11, what came is printed, and the hint allows more', async ({
    server,
    cli,
  }) => {
    for (const token of ['a', 'b']) server.reply({ body: half(token) });
    const ran = await cli(['text', 'x', '--max-turns', '2']);
    expect(ran).toMatchObject({ code: 11, stdout: 'half an anshalf an ans\n' });
    expect(ran.stderr).toBe(
      'gateway-cli: incomplete: the answer is not finished after 2 requests: it ended with CONTINUATION\n' +
        '  what came is kept; allow more requests for one answer: --max-turns 4\n',
    );
  });

  test.for([
    ['without a token', half(''), 'after 1 request'],
    ['of several candidates', { candidates: [...halves(), { finishReason: 'STOP', index: 1 }] }, 'after 1 request'],
  ] as const)('%s cannot go on: exit 11 with what came', async ([, body, told], { server, cli }) => {
    server.reply({ body });
    const ran = await cli(['text', 'x']);
    expect([ran.code, ran.stdout]).toEqual([11, 'half an ans\n']);
    expect(ran.stderr).toContain(told);
    expect(ran.stderr).toContain('no further request could go on with it');
  });

  test('the same token twice is not sent again', async ({ server, cli }) => {
    server.reply({ body: half() });
    server.reply({ body: half() });
    expect((await cli(['text', 'x'])).code).toBe(11);
    expect(server.requests).toHaveLength(2);
  });

  test.for([
    ['refused', { status: 400, body: { error: { code: 400, message: 'bad token' } } }, 'bad token'],
    ['cut', { body: sse(piece('wer')) }, 'the stream ended without a finish reason'],
    ['answered with something else', { body: 'hello' }, 'the rest of the answer did not come'],
  ] as const)('a next request that is %s ends it: exit 11 with what came', async ([, reply, told], { server, cli }) => {
    server.reply({ body: half() });
    server.reply(reply);
    const ran = await cli(['text', 'x', '--json', '--retries', '0']);
    expect(ran.code).toBe(11);
    const document = JSON.parse(ran.stdout) as { text: string; error: { message: string } };
    expect(document).toMatchObject({ complete: false, error: { class: 'incomplete', billed: 'yes', sent: 'yes' } });
    expect(document.text).toMatch(/^half an ans/);
    expect(document.error.message).toContain(told);
  });

  test('a busy service is asked again for the rest alone', async ({ server, cli }) => {
    server.reply({ body: half() });
    server.reply({ status: 429, headers: { 'retry-after': '0' }, body: { error: { code: 429, message: 'slow' } } });
    server.reply({ body: rest });
    const { stdout } = await cli(['text', 'x', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ text: 'half an answer', requests: 2, attempts: 3 });
  });

  test('a budget can stop before the next request: exit 11, and what came is kept and paid', async ({
    server,
    cli,
  }) => {
    server.reply({ body: half() });
    const state = scratchFolder();
    const prices = JSON.stringify({ m: { input: '10', output: '1000000' } });
    const flags = ['--prices', prices, '--max-tokens', '6', '--budget', `${join(state, 'b.jsonl')}:8`];
    const ran = await cli(['text', 'x', ...flags]);
    expect([ran.code, ran.stdout]).toEqual([11, 'half an ans\n']);
    expect(ran.stderr).toContain('the rest of the answer did not come: the next request could pass the budget');
    expect(server.requests).toHaveLength(1);
    const lines = readFileSync(join(state, 'b.jsonl'), 'utf8');
    expect(lines).toContain('"4.00003"');
  });

  test('a stream that breaks off right behind a saved place goes on from there', async ({ server, cli }) => {
    server.reply({ body: sse(piece('half an '), piece('ans', { token: 'saved' })) });
    server.reply({ body: sse(rest) });
    const ran = await cli(['text', 'x', '--stream']);
    expect(ran).toMatchObject({ code: 0, stdout: 'half an answer\n', stderr: '' });
    expect(server.requests[1]?.json()).toMatchObject({ continuationToken: 'saved' });
  });

  test('a stream that breaks off after a saved place is cut: what follows it would come twice', async ({
    server,
    cli,
  }) => {
    server.reply({ body: sse(piece('half an ', { token: 'saved' }), piece('ans')) });
    const ran = await cli(['text', 'x', '--stream']);
    expect([ran.code, ran.stdout, server.requests.length]).toEqual([11, 'half an ans\n', 1]);
  });

  test('a saved place in the middle of an answer that ends well means nothing', async ({ server, cli }) => {
    server.reply({ body: sse(piece('half an ans', { token: 'saved' }), rest) });
    expect(await cli(['text', 'x', '--stream'])).toMatchObject({ code: 0, stdout: 'half an answer\n' });
  });

  test('an answer that the service stops later is exit 10, and its beginning is printed', async ({ server, cli }) => {
    server.reply({ body: half() });
    server.reply({ body: { promptFeedback: { blockReason: 'SAFETY' } } });
    const ran = await cli(['text', 'x']);
    expect([ran.code, ran.stdout]).toEqual([10, 'half an ans\n']);
    expect(ran.stderr).toContain('SAFETY');
  });

  test('on a terminal, a word that was cut in the middle is one word', async ({ server, cli }) => {
    server.reply({ body: sse(half('a', '**half an ans')) });
    server.reply({ body: sse(piece('wer**', { reason: 'STOP' })) });
    const ran = await cli(['text', 'x', '--stream'], { tty: { stdout: true } });
    expect(ran.stdout).toContain('half an answer');
    expect(ran.stdout).not.toContain('**');
  });

  test('--schema is held against the whole answer', async ({ server, cli }) => {
    server.reply({ body: half('a', '{"born":18') });
    server.reply({ body: piece('15}', { reason: 'STOP' }) });
    expect(await cli(['text', 'x', '--schema', '{"type":"object"}'])).toMatchObject({
      code: 0,
      stdout: '{"born":1815}\n',
    });
  });

  test('--jsonl prints the events of one answer', async ({ server, cli }) => {
    server.reply({ body: sse(half()) });
    server.reply({ body: sse(rest) });
    const { stdout } = await cli(['text', 'x', '--stream', '--jsonl']);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(events.filter(({ type }) => ['start', 'stop', 'end', 'result'].includes(type))).toMatchObject([
      { type: 'start' },
      { type: 'stop', stopReason: 'STOP' },
      { type: 'end' },
      { type: 'result', complete: true, usage: { totalTokens: 16 } },
    ]);
    expect(events.filter(({ type }) => type === 'text')).toMatchObject([{ block: 0 }, { block: 1 }]);
  });

  test('a chat goes on too, and its session keeps one turn', async ({ server, cli }) => {
    vi.stubEnv('XDG_STATE_HOME', scratchFolder());
    const cwd = scratchFolder();
    server.reply({ body: sse(half()) });
    server.reply({ body: sse(rest) });
    const argv = ['chat', 'x', '--format', 'content', '--session', './s.jsonl'];
    expect(await cli(argv, { cwd })).toMatchObject({ code: 0, stdout: 'half an answer\n' });
    const lines = readFileSync(join(cwd, 's.jsonl'), 'utf8').trim().split('\n');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ content: [{ type: 'text', text: 'half an answer' }] });
    expect(lines).toHaveLength(2);
  });
});

describe('an answer of the messages format that ends with pause_turn', () => {
  test.for([
    ['whole', ['--no-stream'], paused, ended],
    ['streamed', [], streamed(search, 'pause_turn'), streamed([{ type: 'text', text: 'Found.' }], 'end_turn')],
  ] as const)(
    'goes on with all that came as one turn of the assistant, %s',
    async ([, flags, one, two], { server, cli }) => {
      server.reply({ body: one });
      server.reply({ body: two });
      const tools = '[{"type":"web_search_20250305","name":"web_search"}]';
      const ran = await cli(['chat', 'x', ...flags, '--no-save', '--set', `tools=${tools}`]);
      expect(ran).toMatchObject({ code: 0, stdout: 'I look. Found.\n', stderr: '' });
      const [first, second] = server.requests.map((request) => request.json() as { messages: object[] });
      expect(second).toEqual({
        ...first,
        messages: [...(first?.messages ?? []), { role: 'assistant', content: search }],
      });
    },
  );

  test('goes on as often as it pauses, with everything that came, and adds up what it used', async ({
    server,
    cli,
  }) => {
    server.reply({ body: paused });
    server.reply({ body: paused });
    server.reply({ body: ended });
    const { stdout } = await cli(['chat', 'x', '--no-stream', '--no-save', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      complete: true,
      text: 'I look. I look. Found.',
      usage: { inputTokens: 13, outputTokens: 10 },
      requests: 3,
    });
    const last = server.requests[2]?.json() as { messages: { content: object[] }[] };
    expect(last.messages).toHaveLength(2);
    expect(last.messages[1]?.content).toEqual([...search, ...search]);
  });

  test('counts against --max-turns together with the requests for tools', async ({ server, cli }) => {
    server.reply({ body: paused });
    server.reply({ body: paused });
    const ran = await cli(['chat', 'x', '--no-stream', '--no-save', '--max-turns', '2']);
    expect([ran.code, ran.stdout]).toEqual([11, 'I look. I look. \n']);
    expect(ran.stderr).toContain('--max-turns 4');
  });

  test('--max-cost of a chat can stop before the next request', async ({ server, cli }) => {
    server.reply({ body: paused });
    const cwd = scratchFolder();
    const prices = JSON.stringify({ m: { input: '1', output: '1000000' } });
    writeFileSync(join(cwd, 'tools.json'), '[{"name":"f"}]');
    const tools = ['--tools', 'tools.json', '--tool-exec', 'f=/bin/ls'];
    const ran = await cli(
      ['chat', 'x', '--no-stream', '--no-save', ...tools, '--prices', prices, '--max-tokens', '6', '--max-cost', '8'],
      { cwd },
    );
    expect([ran.code, ran.stdout]).toEqual([11, 'I look. \n']);
    expect(ran.stderr).toContain('could pass --max-cost 8');
  });
});

describe('batches', () => {
  const jobs = '{"id":"a","prompt":"x"}\n';

  test('a job goes on by itself, and its result is one answer', async ({ server, cli }) => {
    server.reply({ body: half() });
    server.reply({ body: rest });
    const ran = await cli(['batch', '-', '-o', 'out'], { stdin: jobs });
    expect(ran.code, ran.stderr).toBe(0);
    const [line = ''] = readFileSync(join(ran.cwd, 'out/results.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(line)).toMatchObject({
      ok: true,
      complete: true,
      text: 'half an answer',
      usage: { totalTokens: 16 },
      requests: 2,
      attempts: 2,
    });
  });

  test('a job that --max-turns or --max-cost stops is incomplete, and keeps what came', async ({ server, cli }) => {
    server.reply({ body: half() });
    const ran = await cli(['batch', '-', '-o', 'out', '--max-turns', '1'], { stdin: jobs });
    expect(ran.code).toBe(13);
    const prices = JSON.stringify({ m: { input: '1', output: '1000000' } });
    server.reply({ body: half() });
    const paid = ['--prices', prices, '--max-cost', '8', '--defaults', '{"maxTokens":6}'];
    const other = await cli(['batch', '-', '-o', 'out', ...paid], { stdin: jobs });
    expect(other.code).toBe(13);
    for (const { cwd } of [ran, other]) {
      const [line = ''] = readFileSync(join(cwd, 'out/results.jsonl'), 'utf8').split('\n');
      expect(JSON.parse(line)).toMatchObject({ ok: false, text: 'half an ans', error: { class: 'incomplete' } });
    }
    const [line = ''] = readFileSync(join(other.cwd, 'out/results.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(line)).toMatchObject({ cost: { amount: '4.000003' } });
  });
});

describe('the library', () => {
  const ask = { model: 'm', prompt: 'x' };

  test('goes on by itself, whole and streamed', async ({ server }) => {
    const client = createClient({ baseUrl: server.url, apiKey: canaryKey });
    server.reply({ body: half() });
    server.reply({ body: rest });
    expect(await client.generate(ask)).toMatchObject({ text: 'half an answer', requests: 2, attempts: 2 });
    server.reply({ body: sse(half()) });
    server.reply({ body: sse(rest) });
    const stream = client.stream(ask);
    const deltas: StreamDelta[] = [];
    for await (const delta of stream) deltas.push(delta);
    expect(deltas.map(({ type }) => type)).toEqual(
      'start block-start text block-stop block-start text block-stop stop end'.split(' '),
    );
    expect(stream.received()).toMatchObject({ text: 'half an answer', attempts: 2, billed: 'yes' });
    await client.close();
  });

  test('rejects with what came where maxTurns is reached', async ({ server }) => {
    const client = createClient({ baseUrl: server.url, apiKey: canaryKey });
    server.reply({ body: half() });
    const error = await client.generate(ask, { maxTurns: 1 }).catch((thrown: unknown) => thrown);
    if (!isResponseError(error)) throw error;
    expect(error).toMatchObject({ class: 'incomplete', reply: { text: 'half an ans', complete: false } });
    await client.close();
  });

  test('an abort between two requests rejects with its reason', async ({ server }) => {
    const client = createClient({ baseUrl: server.url, apiKey: canaryKey });
    const stop = new AbortController();
    server.reply({ body: half() });
    server.reply(() => {
      stop.abort(new Error('enough'));
      return { body: rest };
    });
    await expect(client.generate(ask, { signal: stop.signal })).rejects.toThrow('enough');
    await client.close();
  });
});

test('an ordinary answer has no number of requests', async ({ server, cli }) => {
  server.reply({ body: textReply('hi') });
  expect(JSON.parse((await cli(['text', 'x', '--json'])).stdout)).not.toHaveProperty('requests');
});

describe('an answer of the responses format that is incomplete', () => {
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
  const said = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'half an', annotations: [] }],
  };
  const incomplete = (reason: string, output: readonly object[] = [thought, said]): object => ({
    object: 'response',
    status: 'incomplete',
    incomplete_details: { reason },
    output,
  });

  test.for([
    ['max_output_tokens', 'cut by the token limit (max_output_tokens); allow more with --max-tokens <n>\n'],
    ['max_messages', 'cut by the service (max_messages); ask it to go on\n'],
  ] as const)(
    'because of %s is what came, with a warning: no request goes on with it',
    async ([reason, words], { server, cli }) => {
      server.reply({ body: incomplete(reason) });
      const ran = await cli(['text', 'x', '--format', 'responses', '--max-tokens', '16']);
      expect(ran).toMatchObject({ code: 0, stdout: 'half an\n' });
      expect(ran.stderr).toContain(words);
      server.reply({ body: incomplete(reason) });
      expect(await cli(['text', 'x', '--format', 'responses', '--require-complete'])).toMatchObject({ code: 11 });
      expect(server.requests).toHaveLength(2);
    },
  );

  test('because thinking alone used up the limit is no answer, and the hint is to allow more', async ({
    server,
    cli,
  }) => {
    server.reply({ body: incomplete('max_output_tokens', [thought]) });
    const ran = await cli(['text', 'x', '--format', 'responses', '--max-tokens', '16', '--effort', 'high']);
    expect(ran).toMatchObject({ code: 10, stdout: '' });
    expect(ran.stderr).toContain('allow more with --max-tokens <n>');
  });

  test('because a filter stopped it is no result', async ({ server, cli }) => {
    server.reply({ body: incomplete('content_filter') });
    expect(await cli(['text', 'x', '--format', 'responses'])).toMatchObject({ code: 10, stdout: 'half an\n' });
  });

  test('goes on with the next turn of its chat, which has the thinking and what came', async ({ server, cli }) => {
    const cwd = scratchFolder();
    const chat = ['chat', '--format', 'responses', '--no-stream', '--session', 's.jsonl'];
    server.reply({ body: incomplete('max_output_tokens') });
    server.reply({ body: { ...incomplete('', [said]), status: 'completed', incomplete_details: null } });
    expect(await cli([...chat, 'x'], { cwd })).toMatchObject({ code: 0 });
    expect(await cli([...chat, 'go on'], { cwd })).toMatchObject({ code: 0, stdout: 'half an\n' });
    const question = { role: 'user' };
    expect(server.requests[1]?.json()).toMatchObject({ input: [question, thought, said, question] });
  });
});
