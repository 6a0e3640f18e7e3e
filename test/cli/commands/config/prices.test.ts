import { expect, test } from 'vitest';
import { run } from '../../../helpers/run.ts';
import { place } from './place.ts';

test.each([
  ['prices.gemini-2.5-flash.input', '1', 'prices.gemini-2.5-flash.input must be an object'],
  ['prices.m', '{"input": "-1"}', 'must be an amount from 0, such as "0.30"'],
  ['prices.m', '{"cachd": 1}', 'prices.m.cachd is unknown; did you mean cached?'],
  ['prices.m', '{"currency": "usd"}', 'must be a code of three capital letters, such as USD'],
  ['prices', 'free', 'prices is not a JSON object'],
  [
    'prices.m',
    '{"batch": "half"}',
    'must be a factor such as "0.5", or amounts such as {"input": "0.15", "output": "1.25"}',
  ],
  ['prices.m', '{"batch": {"inptu": 1}}', 'prices.m.batch.inptu is unknown; did you mean input?'],
  ['prices.m', '{"until": "soon"}', 'must be a date such as "2026-12-01"'],
  ['prices.m', '[{"inptu": 1}]', 'inptu is unknown; did you mean input?'],
])('set %s %s is refused, and nothing is written', async (key, value, message) => {
  const { cli, config } = place({ profiles: {} });
  const ran = await cli(['config', 'set', key, value]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(config()).toEqual({ profiles: {} });
});

test('prices of the file, of the profile and of the flag are one table, in which the strongest counts', async () => {
  const { cli, file } = place({
    prices: { a: { input: 1 }, b: { input: 1 } },
    profiles: { default: { prices: { b: { input: 2 } } } },
  });
  expect((await cli(['config', 'get', 'prices.a'])).stdout).toBe('{"input":1}\n');
  expect((await cli(['config', 'get', 'prices.b'])).stdout).toBe('{"input":2}\n');
  expect((await cli(['config', 'list'])).stdout).toContain(`prices.a       {"input":1}  (config ${file})\n`);
  const { settings } = JSON.parse((await cli(['config', 'list', '--json'])).stdout) as { settings: object };
  expect(settings).toMatchObject({ 'prices.a': { value: { input: 1 } } });
  await cli(['config', 'unset', 'prices.b']);
  expect((await cli(['config', 'get', 'prices.b'])).stdout).toBe('{"input":1}\n');
});

test('get prints the prices of a model, or of all, as set takes them', async () => {
  const { cli, file } = place({ prices: { a: { input: 1 } }, profiles: {} });
  await cli(['config', 'set', 'prices.g-2.5', '{"input":"0.30"}']);
  const all = '{"a":{"input":1},"g-2.5":{"input":"0.30"}}';
  expect(await cli(['config', 'get', 'prices'])).toMatchObject({ code: 0, stdout: `${all}\n`, stderr: '' });
  expect((await cli(['config', 'get', 'prices.g-2.5'])).stdout).toBe('{"input":"0.30"}\n');
  const document = await cli(['config', 'get', 'prices', '--json']);
  expect(JSON.parse(document.stdout)).toMatchObject({
    key: 'prices',
    value: JSON.parse(all),
    from: `config ${file}, profile default (${file})`,
  });
  const none = await cli(['config', 'get', 'prices.b']);
  expect(none).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('prices.b is not set') });
  const differing = place({
    profile: { text: 't', chat: 'c' },
    profiles: { t: { prices: { m: { input: 1 } } }, c: { prices: { m: { input: 2 } } } },
  });
  expect((await differing.cli(['config', 'get', 'prices.m'])).stderr).toContain('prices.m of chat is {"input":2}');
});

test('a service tier has a factor or amounts of its own, and a model several prices by date', async () => {
  const { cli, config } = place({ profiles: {} });
  await cli(['config', 'set', 'prices.g-2.5', '{"flex":"0.5","batch":{"input":"0.15"}}']);
  await cli(['config', 'set', 'prices.m', '[{"input":"1","until":"2026-11-30"},{"input":"2","from":"2026-12-01"}]']);
  expect(config()).toEqual({
    profiles: {
      default: {
        prices: {
          'g-2.5': { flex: '0.5', batch: { input: '0.15' } },
          m: [
            { input: '1', until: '2026-11-30' },
            { input: '2', from: '2026-12-01' },
          ],
        },
      },
    },
  });
});

test('models that are set for a profile of another service than the named one are reported', async () => {
  const { file } = place({ profiles: { default: { baseUrl: 'https://a.example' } } });
  const set = (service: string) =>
    run(['config', 'set', 'models.text', 'm'], { env: { GATEWAY_CONFIG: file, GATEWAY_SERVICE: service } });
  expect((await set('gemini')).stderr).toContain('gateway-cli config set service gemini --profile gemini');
  expect((await set('')).stderr).not.toContain('warning');
});
