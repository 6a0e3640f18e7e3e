import { expect } from 'vitest';
import { eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';

const prices = ['--prices', '{"m":{"input":"1","output":"10"},"big":{"input":"100","output":"1000"}}'];

interface Told {
  requestedModel: string;
  model: string;
  modelVersion: string;
  serviceTier?: string;
  cost?: { amount: string };
  warnings: string[];
}
const told = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as Told;

test('another model that answered is named, and its price counts', async ({ server, cli }) => {
  server.reply({ body: textReply('a', { modelVersion: 'big-001' }) });
  const unpriced = await cli(['text', 'hi', '--json', ...prices]);
  expect(told(unpriced)).toMatchObject({ requestedModel: 'm', model: 'big-001', modelVersion: 'big-001' });
  expect(told(unpriced).cost).toBeUndefined();
  expect(unpriced.stderr).toContain('another model answered: big-001, not m\n');
  expect(unpriced.stderr).toContain('the cost is unknown: the model big-001 has no price\n');
  server.reply({ body: textReply('a', { modelVersion: 'models/big' }) });
  const priced = await cli(['text', 'hi', '--json', ...prices]);
  expect(told(priced)).toMatchObject({ cost: { amount: '0.0023' }, warnings: [expect.stringContaining('models/big')] });
});

test('chat names another model that answered, streamed or not', async ({ server, cli }) => {
  const events = messageEvents('a');
  const headers = { 'content-type': 'text/event-stream' };
  server.reply({ headers, body: eventStream(...events) });
  const ran = await cli(['chat', 'hi', '-m', 'asked', '--json']);
  expect(told(ran)).toMatchObject({ requestedModel: 'asked', model: 'm-001' });
  expect(ran.stderr).toContain('another model answered: m-001, not asked\n');
});

test.for([
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
  ['models/some', 'some'],
  ['some', 'models/some-001'],
  ['some', 'some-2024-08-06'],
  ['some-preview', 'some-preview-05-20'],
  ['some', 'some@20250929'],
  ['some/some:nitro', 'some/some'],
  ['some/some:nitro', 'some/some-2025-08-07'],
])('%s answered as %s is the requested model', async ([requested, answered], { server, cli }) => {
  server.reply({ body: textReply('a', { modelVersion: answered }) });
  const ran = await cli(['text', 'hi', '--json', '-m', requested as string]);
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  expect(told(ran)).toMatchObject({ requestedModel: requested, model: requested, modelVersion: answered });
});

test('a router of OpenRouter answers with the model that it chose, without a warning', async ({ server, cli }) => {
  server.reply({ body: textReply('a', { modelVersion: 'google/some-flash' }) });
  const ran = await cli(['text', 'hi', '--json', '-m', 'openrouter/auto']);
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  expect(told(ran)).toMatchObject({ requestedModel: 'openrouter/auto', model: 'google/some-flash' });
});

test.for([
  ['some:4b', 'some:12b'],
  ['some-5', 'some-5-1'],
  ['some', 'some-lite'],
])('%s answered as %s is another model', async ([requested, answered], { server, cli }) => {
  server.reply({ body: textReply('a', { modelVersion: answered }) });
  const ran = await cli(['text', 'hi', '--json', '-m', requested as string]);
  expect(ran.stderr).toContain(`another model answered: ${answered}, not ${requested}\n`);
});

test('a moving alias names its model without a warning, and its own price is the last resort', async ({
  server,
  cli,
}) => {
  const table = { 'some-latest': { input: 1, output: 10 }, 'some-9': { input: 2, output: 20 } };
  const ask = async (answered: string) => {
    server.reply({ body: textReply('a', { modelVersion: answered }) });
    return cli(['text', 'hi', '-m', 'some-latest', '--json', '--prices', JSON.stringify(table)]);
  };
  const priced = await ask('some-9');
  expect(priced.stderr).toBe('');
  expect(told(priced)).toMatchObject({ requestedModel: 'some-latest', model: 'some-9', cost: { amount: '0.000046' } });
  expect(told(await ask('some-10'))).toMatchObject({ model: 'some-10', cost: { amount: '0.000023' } });
});

test.for([
  ['standard', '0.000023'],
  ['SERVICE_TIER_STANDARD', '0.000023'],
  ['flex', '0.0000115'],
  ['priority', undefined],
  ['hologram', undefined],
] as const)('an answer of the service tier %s costs %s', async ([tier, amount], { server, cli }) => {
  const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5, serviceTier: tier };
  server.reply({ body: textReply('a', { usageMetadata }) });
  const flags = ['--prices', '{"m":{"input":"1","output":"10","flex":"0.5"}}'];
  const ran = await cli(['text', 'hi', '--json', ...flags]);
  expect(told(ran)).toMatchObject({ serviceTier: tier });
  expect(told(ran).cost?.amount).toBe(amount);
  const doubt = `the price has no factor of the service tier ${tier}, which answered`;
  expect(ran.stderr).toBe(amount === undefined ? `gateway-cli: warning: the cost is unknown: ${doubt}\n` : '');
});

test('a messages reply reports its tier too', async ({ server, cli }) => {
  const usage = { input_tokens: 3, output_tokens: 2, service_tier: 'batch' };
  const content = [{ type: 'text', text: 'a' }];
  server.reply({ body: { type: 'message', role: 'assistant', model: 'm', content, stop_reason: 'end_turn', usage } });
  const flags = ['--prices', '{"m":{"input":"1","output":"10","batch":"0.5"}}'];
  const ran = await cli(['chat', 'hi', '--json', ...flags]);
  expect(told(ran)).toMatchObject({ serviceTier: 'batch', cost: { amount: '0.0000115' } });
});

test.for([['text'], ['chat', '--no-stream']])(
  '%j with --require-model ends with 11, and keeps what came',
  async ([command = '', ...flags], { server, cli }) => {
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'big', stop_reason: 'end_turn' };
    const body = { ...message, content: [{ type: 'text', text: 'a' }], usage: { input_tokens: 1, output_tokens: 1 } };
    server.reply({ body: command === 'text' ? textReply('a', { modelVersion: 'big' }) : body });
    const ran = await cli([command, 'hi', ...flags, '--require-model', '--json']);
    expect(ran.code).toBe(11);
    expect(told(ran)).toMatchObject({ requestedModel: 'm', model: 'big', text: 'a' });
    expect(ran.stderr).toContain('another model answered: big, not m');
    server.reply({ body: textReply('a', { modelVersion: 'm-001' }) });
    expect((await cli(['text', 'hi', '--require-model'])).code).toBe(0);
  },
);

test('the end of a model that its service announces is a warning, once a day', async ({ server, cli }) => {
  const headers = { deprecation: '@1788220800', sunset: 'Tue, 01 Dec 2026 00:00:00 GMT' };
  server.always({ headers, body: textReply('a') });
  const ran = await cli(['text', 'hi']);
  expect(ran).toMatchObject({ code: 0, stdout: 'a\n' });
  expect(ran.stderr).toMatch(/^gateway-cli: warning: m end(?:s|ed) on 2026-12-01.*\n$/);
  expect(await cli(['text', 'hi'])).toMatchObject({ code: 0, stdout: 'a\n', stderr: '' });
});
