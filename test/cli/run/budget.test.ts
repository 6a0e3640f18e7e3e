import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { imageReply, test, textReply } from '../../helpers/with-server.ts';

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** The text of a reply costs 0.000023. */
const prices = ['--prices', '{"m":{"input":"1","output":"10"}}'];
/** With a limit of 100 tokens a short request can cost between 0.00108 and 0.0011. */
const limit = ['--max-tokens', '100'];

interface Line {
  type: string;
  amount?: string;
  unknown?: true;
  tags?: object;
}

function place(amount: string) {
  const cwd = scratchFolder();
  const path = join(cwd, 'team.jsonl');
  const lines = () =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  return { cwd, flags: ['--budget', `./team.jsonl:${amount}`, ...prices], lines };
}

test('text reserves what it can cost, and its exact cost takes that place', async ({ server, cli }) => {
  const { cwd, flags, lines } = place('1.00');
  server.reply({ body: textReply('a') });
  const ran = await cli(['text', 'hi', ...limit, ...flags, '--tag', 'team=docs', '--json'], { cwd });
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  expect(JSON.parse(ran.stdout)).toMatchObject({ cost: { amount: '0.000023' }, tags: { team: 'docs' } });
  expect(lines()).toMatchObject([
    { type: 'budget' },
    { type: 'limit', amount: '1.00' },
    { type: 'reserved', command: 'text', model: 'm', lane: 'live', tags: { team: 'docs' } },
    { type: 'spent', amount: '0.000023' },
  ]);
  const shown = await cli(['costs', 'report', '--budget', './team.jsonl', '--by', 'tag'], { cwd });
  expect(shown.stdout).toBe('team=docs  1 request  0.000023 USD\ntotal      1 request  0.000023 USD\n');
});

test('a report of costs in CSV holds nothing that a spreadsheet would run as a formula', async ({ server, cli }) => {
  const { cwd, flags } = place('1.00');
  server.reply({ body: textReply('a') });
  await cli(['text', 'hi', ...limit, ...flags, '--tag', 'team=docs;=1+1'], { cwd });
  const report = ['costs', 'report', '--budget', './team.jsonl', '--csv'];
  const head = 'requests,unknown,amount,currency,savedRequests,saved,told\n';
  const counts = '1,0,0.000023,USD,0,0,0\n';
  expect((await cli([...report, '--by', 'tag'], { cwd })).stdout).toBe(`tag,${head}team=docs;'=1+1,${counts}`);
});

test('the ledger has the lane that answered, however the service writes it', async ({ server, cli }) => {
  const { cwd, flags, lines } = place('1.00');
  const reply = textReply('a') as { usageMetadata: object };
  server.reply({ body: { ...reply, usageMetadata: { ...reply.usageMetadata, serviceTier: 'SERVICE_TIER_PRIORITY' } } });
  server.reply({ body: textReply('a') });
  for (let n = 0; n < 2; n++) await cli(['text', 'hi', ...limit, ...flags], { cwd });
  const ended = lines().filter(({ type }) => type === 'spent');
  expect(ended).toMatchObject([{ lane: 'priority' }, { lane: 'live' }]);
});

test('a request that could pass the budget is not sent, and the error names it', async ({ cli }) => {
  const { cwd, flags } = place('0.0001');
  const ran = await cli(['text', 'hi', ...limit, ...flags], { cwd });
  expect(ran).toMatchObject({ code: 13, stdout: '' });
  expect(ran.stderr).toContain('could pass the budget ./team.jsonl: 0 of 0.0001 USD are spent\n');
  const { stdout } = await cli(['text', 'hi', ...limit, ...flags, '--json'], { cwd });
  const error = { class: 'over-budget', retryable: false, sent: 'no', billed: 'no' };
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, exitCode: 13, attempts: 0, error });
  const costs = await cli(['costs', '--budget', './team.jsonl', '--json'], { cwd });
  expect(JSON.parse(costs.stdout)).toMatchObject({ budgets: [{ spent: '0', limit: '0.0001', left: '0.0001' }] });
});

test('a request without a bound is reported', async ({ server, cli }) => {
  const { cwd, flags, lines } = place('1.00');
  server.reply({ body: textReply('a') });
  const ran = await cli(['text', 'hi', ...flags], { cwd });
  expect(ran.stderr).toContain(
    'has no --max-tokens, so its cost is not bounded: it can pass the budget ./team.jsonl\n',
  );
  expect(lines()).toContainEqual(expect.objectContaining({ type: 'reserved' }));
});

test('an attempt that may have been billed, and its retry, count as two requests; a refused one costs nothing', async ({
  server,
  cli,
}) => {
  const { cwd, flags, lines } = place('1.00');
  server.reply({ status: 429, headers: { 'retry-after': '0' }, body: {} });
  server.reply({ status: 500, headers: { 'retry-after': '0' }, body: {} });
  server.reply({ body: textReply('a') });
  expect((await cli(['text', 'hi', ...limit, ...flags], { cwd })).code).toBe(0);
  server.reply({ status: 400, body: {} });
  expect((await cli(['text', 'hi', ...limit, ...flags], { cwd })).code).toBe(4);
  const kinds = lines().map(({ type, unknown }) => (unknown ? `${type} unknown` : type));
  expect(kinds.slice(2)).toEqual(['reserved', 'spent unknown', 'reserved', 'spent', 'reserved', 'freed']);
});

test('a told cost of more decimals than a ledger adds up counts in full', async ({ server, cli }) => {
  const { cwd, flags, lines } = place('1.00');
  const usage = { prompt_tokens: 1, completion_tokens: 1, cost: 1, is_byok: true };
  const told = { ...usage, cost_details: { upstream_inference_cost: 1e-70 } };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }];
  server.reply({ body: { choices, usage: told } });
  const env = { GATEWAY_FORMAT: 'completions' };
  expect((await cli(['text', 'hi', ...limit, ...flags], { cwd, env })).code).toBe(0);
  expect(lines().at(-1)).toMatchObject({ type: 'spent', amount: `1.${'0'.repeat(59)}1`, told: true });
  const ran = await cli(['text', 'hi', ...limit, ...flags], { cwd, env });
  expect(ran.stderr).toContain(`could pass the budget ./team.jsonl: 1.${'0'.repeat(59)}1 of 1.00 USD are spent`);
  expect(server.requests).toHaveLength(1);
});

test.for(['other', 'constructor'])(
  'a model that may answer in place of another needs a price for a budget, before anything is sent: %s',
  async (name, { server, cli }) => {
    const { cwd, flags } = place('1.00');
    const ran = await cli(['text', 'hi', '--fallback', name, ...limit, ...flags], { cwd });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(`--budget: the model ${name} has no price`) });
    expect(server.requests).toHaveLength(0);
  },
);

test('an answer from a cache costs nothing, even when the budget is used up, and is reported as saved', async ({
  server,
  cli,
}) => {
  const { cwd, flags } = place('0.0011');
  const cache = ['--record', 'kept', '--replay', 'kept'];
  server.reply({ body: textReply('a') });
  for (const code of [0, 0]) expect((await cli(['text', 'hi', ...limit, ...flags, ...cache], { cwd })).code).toBe(code);
  const { stdout } = await cli(['costs', 'report', '--budget', './team.jsonl', '--json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({
    totals: [{ requests: 1, amount: '0.000023', savedRequests: 1, saved: '0.000023' }],
  });
});

test('several images are paid for one by one, from the same ledger', async ({ server, cli }) => {
  const { cwd, flags, lines } = place('1.00');
  const counts = { promptTokenCount: 3, candidatesTokenCount: 1290, totalTokenCount: 1293 };
  const usageMetadata = { ...counts, candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }] };
  const reply = { ...imageReply({ mimeType: 'image/png', data: pixel }), usageMetadata };
  for (let n = 0; n < 3; n++) server.reply({ body: reply });
  expect(
    (await cli(['image', 'gen', 'hi', '-n', '3', ...flags, '--prices', '{"m":{"input":"1","image":"0.04"}}'], { cwd }))
      .code,
  ).toBe(0);
  expect(lines().filter(({ type }) => type === 'spent')).toMatchObject([1, 2, 3].map(() => ({ amount: '0.040003' })));
  expect(readdirSync(cwd).filter((name) => name.includes('.lock'))).toEqual([]);
});

test.for([
  ['of pictures alone', { image: '0.04' }, ''],
  ['whose prompt is free', { input: 0, image: '0.04' }, ''],
  [
    'of tokens of pictures',
    { input: '1', imageOutput: '31' },
    'a request has no limit of tokens, so its cost is not bounded',
  ],
] as const)('pictures are paid from a budget by a price %s', async ([, price, words], { server, cli }) => {
  const { cwd, flags, lines } = place('0.1');
  const counts = { promptTokenCount: 3, candidatesTokenCount: 1290, totalTokenCount: 1293 };
  const usageMetadata = { ...counts, candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }] };
  const body = { ...imageReply({ mimeType: 'image/png', data: pixel }), usageMetadata };
  const gen = ['image', 'gen', 'hi', ...flags, '--prices', JSON.stringify({ m: price })];
  for (const code of [0, 0, 13]) {
    if (code === 0) server.reply({ body });
    const ran = await cli(gen, { cwd });
    expect(ran.code).toBe(code);
    if (words === '') expect(ran.stderr).not.toContain('bounded');
    else expect(ran.stderr).toContain(words);
  }
  expect(lines().filter(({ type }) => type === 'reserved')).toHaveLength(2);
});

test('a batch of pictures is held to --max-cost by the price of one', async ({ server, cli }) => {
  const body = imageReply({ mimeType: 'image/png', data: pixel });
  for (let n = 0; n < 2; n++) server.reply({ body });
  const image = '{"command":"image gen"}';
  const batch = [
    'batch',
    '--prompts',
    '-',
    '-o',
    'out',
    '--concurrency',
    '1',
    '--defaults',
    image,
    '--max-cost',
    '0.1',
  ];
  const ran = await cli([...batch, '--prices', '{"m":{"image":"0.04"}}'], { cwd: scratchFolder(), stdin: 'a\nb\nc\n' });
  expect([ran.code, server.requests.length]).toEqual([13, 2]);
});

test('a batch stops before the job that could pass the budget, and goes on with a greater one', async ({
  server,
  cli,
}) => {
  const { cwd, flags } = place('0.0011');
  const batch = (...more: string[]) =>
    cli(['batch', '--prompts', '-', '-o', 'out', '--concurrency', '1', '--defaults', '{"maxTokens":100}', ...more], {
      cwd,
      stdin: 'a\nb\nc\n',
    });
  server.reply({ body: textReply('a') });
  const stopped = await batch(...flags);
  expect(stopped.code).toBe(13);
  expect(stopped.stderr).toContain('stopped: the next request could pass the budget ./team.jsonl: ');
  const goOn = "2 not sent yet: gateway-cli batch again out --prompts <file> --budget './team.jsonl:<amount>'";
  expect(stopped.stderr).toContain(`${goOn}\n  to see what is spent: gateway-cli costs --budget ./team.jsonl\n`);
  const document = JSON.parse((await batch(...flags, '--json')).stdout) as object;
  const hint = `${goOn}\nto see what is spent: gateway-cli costs --budget ./team.jsonl`;
  const error = { class: 'batch-failed', hint, retryable: false, sent: 'yes', billed: 'yes' };
  expect(document).toMatchObject({ schema: 'gateway-cli/batch@1', ok: false, exitCode: 13, failures: [], error });
  expect(JSON.parse(readFileSync(join(cwd, 'out/summary.json'), 'utf8'))).toMatchObject({ exitCode: 13, error });
  const status = await cli(['batch', 'status', 'out', '--json'], { cwd });
  expect(JSON.parse(status.stdout)).toMatchObject({ ok: true, exitCode: 0, lastError: error });
  expect((await cli(['batch', 'status', 'out'], { cwd })).stdout).toContain(`\n${goOn}\n`);
  const daily = await batch('--budget', './daily.jsonl:0.0001/day', ...prices, '--json');
  const wait = 'without a greater budget, it goes on when the next period begins';
  const again = {
    retryable: true,
    hint: expect.stringContaining(
      `${goOn.replace('team.jsonl:<amount>', 'daily.jsonl:<amount>/day')}\n${wait}\n`,
    ) as string,
  };
  expect(JSON.parse(daily.stdout)).toMatchObject({ exitCode: 13, error: again });
  for (let n = 0; n < 2; n++) server.reply({ body: textReply('a') });
  expect((await batch('--budget', './team.jsonl:1', ...prices)).code).toBe(0);
  const { stdout } = await cli(['costs', '--budget', './team.jsonl', '--json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ budgets: [{ spent: '0.000069', limit: '1', left: '0.999931' }] });
});

test('a command that pays for nothing needs no price, and makes no folder for the budget', async ({ server, cli }) => {
  const cwd = scratchFolder();
  for (let n = 0; n < 2; n++) server.reply({ body: { models: [], data: [] } });
  const ran = await cli(['models'], { cwd, env: { GATEWAY_BUDGET: './far/team.jsonl:1' } });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(readdirSync(cwd)).toEqual([]);
});

test('a folder of the budget that cannot be made is reported before anything is sent', async ({ cli }) => {
  const { cwd } = place('1');
  writeFileSync(join(cwd, 'far'), '');
  const ran = await cli(['text', 'hi', '--budget', './far/team.jsonl:1', ...prices], { cwd });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('the budget ./far/team.jsonl cannot be kept');
  expect(ran.stderr).toContain('--budget ./team.jsonl:<amount>');
});

test.skipIf(process.platform === 'win32')('a pipe is refused as the file of a budget', async ({ cli }) => {
  const cwd = scratchFolder();
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  const ran = await cli(['text', 'hi', '--budget', './pipe:1', ...prices], { cwd });
  expect([ran.code, ran.stdout]).toEqual([2, '']);
  expect(ran.stderr).toContain('the budget ./pipe cannot be kept: it is a device, a pipe or a socket\n');
});

test.for([
  ['text', 'hi', '--budget', 'team:1', ...prices],
  ['costs'],
  ['batch', '-', '-o', 'out', '--rate', '60/m', '--rate-group', 'team'],
])(
  'a relative state folder holds no budget and no rate: it is another one in each folder: %s',
  async (argv, { cli }) => {
    const cwd = scratchFolder();
    vi.stubEnv('XDG_STATE_HOME', 'state');
    const ran = await cli(argv, { cwd, stdin: '{"prompt":"hi"}' }).finally(() => vi.unstubAllEnvs());
    expect([ran.code, ran.stderr]).toEqual([
      2,
      expect.stringContaining('the state folder is not an absolute path: state'),
    ]);
  },
);

test.for(['costs', 'costs report'])(
  '%s of a file that is not a budget is refused: it said that nothing was paid',
  async (words, { cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'rows.jsonl'), '{"amount":"5.00"}\n');
    const ran = await cli([...words.split(' '), '--budget', './rows.jsonl'], { cwd });
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('rows.jsonl is not a budget')]);
  },
);

test('costs report --by twice is refused: the first was dropped', async ({ cli }) => {
  const ran = await cli(['costs', 'report', '--by', 'model', '--by', 'day']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('--by is given more than once, and a report has one grouping');
});

test('--offline is paid from a budget that a flag names, and from no other', async ({ cli }) => {
  const { cwd, lines } = place('1');
  const offline = ['text', '--offline', 'hi', '--prices', '{"local-*":{"input":"1","output":"10"}}'];
  await cli(offline, { cwd, env: { GATEWAY_BUDGET: './team.jsonl:1' } });
  expect(readdirSync(cwd)).toEqual([]);
  await cli([...offline, '--budget', './team.jsonl:1'], { cwd });
  expect(lines().map(({ type }) => type)).toEqual(['budget', 'limit', 'reserved', 'spent']);
});

test.for([
  [['--budget', 'team'], 'not a budget: "team"'],
  [['--budget', 'team:1', '--prices', '{}'], '--budget: the model m has no price'],
  [['--tag', 'team'], "--tag takes key=value, not 'team'"],
] as const)('%j is refused before anything is sent', async ([flags, message], { cli }) => {
  const ran = await cli(['text', 'hi', ...flags], { cwd: scratchFolder() });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
});

test('a ledger made by hand neither hangs a command nor colours a terminal', async ({ cli }) => {
  const { cwd, flags } = place('1.00');
  const kind = { command: 'text', service: 'gateway', model: '\u001b[31mred', lane: 'live', currency: '\u001b[31mEUR' };
  const counts = { type: 'sum', day: '2026-01-01', requests: 1, unknown: 0, told: '0', savedRequests: 0, saved: '0' };
  writeFileSync(
    join(cwd, 'team.jsonl'),
    [
      { type: 'budget', schema: 'gateway-cli/budget@2', id: 'b' },
      { ...counts, ...kind, amount: '1e999999999' },
      { ...counts, ...kind, requests: 'many', amount: '1' },
      { ...counts, ...kind, amount: '0.5' },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
  for (const argv of [['costs'], ['costs', 'report', '--by', 'model'], ['costs', 'report', '--csv']]) {
    const { code, stdout } = await cli([...argv, '--budget', './team.jsonl'], { cwd, tty: { stdout: true } });
    expect([code, stdout]).toEqual([0, expect.stringContaining('0.5')]);
    expect(stdout).not.toContain('\u001b[31m');
  }
  expect((await cli(['text', 'hi', ...limit, ...flags], { cwd })).code).toBe(2);
});

test.for([
  ['a name that is too long', `./${'n'.repeat(240)}.jsonl`],
  ['a link to itself', './loop.jsonl'],
] as const)(
  'a budget that cannot be written is a mistake that is found before sending: %s',
  async ([, path], { cli }) => {
    const { cwd } = place('1.00');
    symlinkSync('loop.jsonl', join(cwd, 'loop.jsonl'));
    const ran = await cli(['text', 'hi', ...limit, ...prices, '--budget', `${path}:1`, '--json'], { cwd });
    const { error } = JSON.parse(ran.stdout) as { error: object };
    expect([ran.code, error]).toEqual([2, expect.objectContaining({ class: 'usage', sent: 'no', billed: 'no' })]);
  },
);

const elsewhere = '{"host":"elsewhere","pid":7,"nonce":"n"}\n';

test('a budget whose lock another host holds ends a command at its time limit, and nothing is sent', async ({
  cli,
}) => {
  const { cwd, flags } = place('1.00');
  writeFileSync(join(cwd, 'team.jsonl.lock'), elsewhere);
  const ran = await cli(['text', 'hi', ...limit, ...flags, '--timeout', '1'], { cwd });
  expect([ran.code, ran.stderr]).toEqual([7, expect.stringContaining('not sent within 1 s')]);
  expect(readFileSync(join(cwd, 'team.jsonl.lock'), 'utf8')).toBe(elsewhere);
});

test('a lock from the future holds no budget: its host cannot have written it', async ({ server, cli }) => {
  const { cwd, flags, lines } = place('1.00');
  const lock = join(cwd, 'team.jsonl.lock');
  writeFileSync(lock, elsewhere);
  const later = Date.now() / 1000 + 3600;
  utimesSync(lock, later, later);
  server.reply({ body: textReply('a') });
  const ran = await cli(['text', 'hi', ...limit, ...flags], { cwd });
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  expect(lines().map(({ type }) => type)).toEqual(['budget', 'limit', 'reserved', 'spent']);
});

test('a report without any budget says what makes one', async ({ cli }) => {
  const ran = await cli(['costs', 'report'], { env: { XDG_STATE_HOME: scratchFolder() }, tty: { stderr: true } });
  expect([ran.code, ran.stdout]).toEqual([0, '']);
  expect(ran.stderr.replaceAll(/\s+/g, ' ')).toContain('from now on: gateway-cli config set budget team:20.00/month');
});
