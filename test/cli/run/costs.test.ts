import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { eventStream, imageReply, test, textReply } from '../../helpers/with-server.ts';

const prices = ['--prices', '{"m":{"input":"1","output":"10","image":"0.04"}}'];
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The cost in the JSON document. */
const costIn = (stdout: string): unknown => (JSON.parse(stdout) as { cost?: unknown }).cost;

test('text gives the cost of its tokens, in the document and with -v', async ({ server, cli }) => {
  server.reply({ body: textReply('a') });
  server.reply({ body: textReply('a') });
  expect(costIn((await cli(['text', 'hi', '--json', ...prices])).stdout)).toEqual({
    amount: '0.000023',
    currency: 'USD',
  });
  expect((await cli(['text', 'hi', '-v', ...prices])).stderr).toContain('\ncost: 0.000023 USD\n');
});

test('a refusal that was billed has its cost', async ({ server, cli }) => {
  const usageMetadata = { promptTokenCount: 7, totalTokenCount: 7 };
  server.reply({ body: { candidates: [{ finishReason: 'SAFETY' }], usageMetadata } });
  const ran = await cli(['text', 'hi', '--json', ...prices]);
  expect([ran.code, costIn(ran.stdout)]).toEqual([10, { amount: '0.000007', currency: 'USD' }]);
});

test.for([
  ['the gateway gave no counts', { usageMetadata: undefined }, prices],
  ['the model has no price', {}, ['--prices', '{"n":{"input":1,"output":1}}']],
] as const)('the cost is absent where %s', async ([, more, flags], { server, cli }) => {
  server.reply({ body: textReply('a', more) });
  const ran = await cli(['text', 'hi', '--json', '-v', ...flags]);
  expect([ran.code, costIn(ran.stdout)]).toEqual([0, undefined]);
  expect(ran.stderr).toContain('\ncost: unknown\n');
});

const half = ['--prices', '{"*":{"input":"1"}}'];
const warning =
  'the price of the model m has no output, so its cost is unknown; set it, for a million tokens: --prices ';

test('a price without output is a warning, also in the document', async ({ server, cli }) => {
  server.reply({ body: textReply('a') });
  const ran = await cli(['text', 'hi', '--json', ...half]);
  expect(JSON.parse(ran.stdout)).toMatchObject({ warnings: [expect.stringContaining(warning)] });
  expect(ran.stderr).toContain(warning);
});

test('a batch warns once that a price has no output', async ({ server, cli }) => {
  for (let n = 0; n < 2; n++) server.reply({ body: textReply('a') });
  const ran = await cli(['batch', '--prompts', '-', '-o', 'out', ...half], { cwd: scratchFolder(), stdin: 'a\nb\n' });
  expect(ran.code).toBe(0);
  expect(ran.stderr.split(warning)).toHaveLength(2);
});

describe('image gen -n', () => {
  const reply = (usageMetadata?: object) => ({
    body: { ...imageReply({ mimeType: 'image/png', data: pixel }), usageMetadata },
  });
  const counts = { promptTokenCount: 3, candidatesTokenCount: 1290, totalTokenCount: 1293 };
  const usage = { ...counts, candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }] };
  const gen = ['image', 'gen', 'hi', '-n', '3', '--json', ...prices];

  test('adds up its requests', async ({ server, cli }) => {
    for (let n = 0; n < 3; n++) server.reply(reply(usage));
    expect(costIn((await cli(gen, { cwd: scratchFolder() })).stdout)).toEqual({ amount: '0.120009', currency: 'USD' });
  });

  test('has no cost if that of one request is unknown', async ({ server, cli }) => {
    for (const counted of [usage, undefined, usage]) server.reply(reply(counted));
    expect(costIn((await cli(gen, { cwd: scratchFolder() })).stdout)).toBeUndefined();
  });
});

describe('a tool loop', () => {
  /** A stream with these counts at its end, and optionally a tool call. */
  function stream(input: number, output: number, call?: 'call'): { body: string } {
    const tool = { type: 'tool_use', id: 't1', name: 'look', input: {} };
    const block = call ? tool : { type: 'text', text: '' };
    return {
      body: eventStream(
        {
          type: 'message_start',
          message: {
            id: 'a',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            usage: { input_tokens: input, output_tokens: 1 },
          },
        },
        { type: 'content_block_start', index: 0, content_block: block },
        ...(call ? [] : [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'done' } }]),
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: call ? 'tool_use' : 'end_turn' },
          usage: { output_tokens: output },
        },
        { type: 'message_stop' },
      ),
    };
  }

  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
  function folder(): string {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'tools.json'), JSON.stringify([{ name: 'look', input_schema: { type: 'object' } }]));
    return cwd;
  }
  const chat = [
    'chat',
    'hi',
    '--max-tokens',
    '100',
    '--tools',
    'tools.json',
    '--tool-exec',
    'look=true',
    '--json',
    ...prices,
  ];

  test('adds up its requests', async ({ server, cli }) => {
    server.reply(stream(100, 20, 'call'));
    server.reply(stream(200, 30));
    const ran = await cli(chat, { cwd: folder(), env });
    expect([ran.code, costIn(ran.stdout)]).toEqual([0, { amount: '0.0008', currency: 'USD' }]);
  });

  test('ends before the request that could exceed --max-cost, and keeps the earlier replies', async ({
    server,
    cli,
  }) => {
    server.reply(stream(100, 20, 'call'));
    const ran = await cli([...chat, '--max-cost', '0.0015'], { cwd: folder(), env });
    expect([ran.code, costIn(ran.stdout)]).toEqual([13, { amount: '0.0003', currency: 'USD' }]);
    expect(ran.stderr).toContain(
      'could pass --max-cost 0.0015: 0.0003 USD are spent\n  allow more with --max-cost <amount>',
    );
  });

  test.for([
    ['a budget that the first request could pass', ['--max-cost', '0.001'], 13, '0 USD are spent'],
    ['a model without a price', ['--max-cost', '1', '-m', 'claude-x'], 2, 'config set prices.claude-x '],
  ] as const)('sends nothing with %s', async ([, flags, code, message], { cli }) => {
    const ran = await cli([...chat, ...flags], { cwd: folder(), env });
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain(message);
  });
});
