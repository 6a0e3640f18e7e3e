import { onTestFinished, describe, expect, test } from 'vitest';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../../src/library/client/client.ts';
import { startAnthropic } from '../fake-servers/anthropic.ts';
import { startGemini } from '../fake-servers/gemini.ts';
import { startOpenAi } from '../fake-servers/openai.ts';
import { startOpenRouter } from '../fake-servers/openrouter.ts';
import type { Amend, FakeRequest } from '../fake-servers/start.ts';
import { runWith, type VendorRunOptions, workFolder } from './vendor-run.ts';
import { keys, startVendors } from './vendors.ts';

// What happens when models go: from one key variable, with the vendor's own list and wordings at the vendor's own origin.

const start = { openai: startOpenAi, anthropic: startAnthropic, gemini: startGemini, openrouter: startOpenRouter };
type Name = keyof typeof start;

/** A day so many days from now, as the lists write it. */
const dayIn = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** The models of a service, each with what its list says beside the name; `amend` changes its other replies. */
interface Service {
  models: Readonly<Record<string, object>>;
  amend?: Amend;
}

/** Adds what the lists of a test say. */
function amendList(models: Service['models']): Amend {
  return (reply, { path, method }) => {
    if (method !== 'GET' || !path.endsWith('/models') || reply.status !== 200) return reply;
    const list = JSON.parse(String(reply.body)) as Record<string, { id?: string; name?: string }[]>;
    const key = 'models' in list ? 'models' : 'data';
    const entries = list[key]?.map((entry) => ({
      ...entry,
      ...models[entry.id ?? entry.name?.replace('models/', '') ?? ''],
    }));
    return { ...reply, body: JSON.stringify({ ...list, [key]: entries }) };
  };
}

/** Runs command lines against a service, and returns what it was asked: `list`, or the name of a model. */
async function ask(name: Name, { models, amend }: Service, lines: string | string[], options?: VendorRunOptions) {
  const withList = amendList(models);
  const server = await start[name]({
    models: Object.keys(models),
    amend: (reply, request) => withList(amend?.(reply, request) ?? reply, request),
  });
  const vendors = await startVendors({ [name]: server });
  onTestFinished(() => vendors.close());
  const ran = await runWith(vendors, name, lines, options);
  return { ...ran, asked: ran.requests.map(nameAsked), vendors };
}

function nameAsked({ method, path, body }: FakeRequest): string {
  if (method === 'GET') return 'list';
  const model = /\/models\/([^:]+):/.exec(path)?.[1] ?? /"model":"([^"]+)"/.exec(body)?.[1];
  return model ?? /name="model"\r\n\r\n(\S+)/.exec(body)?.[1] ?? path;
}

const gone = 'does not have';
const luna = { 'gpt-7-luna': {}, 'gpt-7-luna-2027-01-01': {}, 'gpt-8-luna-preview': {}, 'gpt-6.2-sol': {} };
const flare = { 'gpt-image-3-flare': {}, 'gpt-image-2': {} };
const flash = { 'gemini-4-flash': {}, 'gemini-3.5-flash': {}, 'gemini-nano-banana-3': {} };
const banana = { architecture: { input_modalities: ['text'], output_modalities: ['image', 'text'] } };
const routed = {
  'openrouter/auto': {},
  'google/gemini-nano-banana-3': { ...banana, created: 1_800_000_000 },
  'google/gemini-nano-banana-2': { ...banana, created: 1_700_000_000 },
  'other/draws': { ...banana, created: 1_900_000_000 },
};
const sonnets = {
  'claude-new': { line: 'sonnet', lifecycle: 'active', created_at: '2027-01-01T00:00:00Z' },
  'claude-old': { line: 'sonnet', lifecycle: 'active', created_at: '2026-01-01T00:00:00Z' },
  'claude-last': { line: 'sonnet', lifecycle: 'deprecated', created_at: '2027-02-01T00:00:00Z' },
  'claude-song': { line: 'haiku', lifecycle: 'active', created_at: '2027-01-01T00:00:00Z' },
};

test('doctor prints the successor that a service names as one word of the command to type', async () => {
  const successor = 'gpt-7; touch "$HOME/it\'s ran"';
  const models = { 'gpt-6-luna': { shutdown_date: dayIn(5), deprecation_replacement_model: successor } };
  const ran = await ask('openai', { models }, 'doctor');
  expect(ran.stdout).toContain(`gateway-cli config set models.text 'gpt-7; touch "$HOME/it'\\''s ran"'\n`);
  expect(ran.stdout).not.toContain(`models.text gpt-7;`);
});

test('a default stays where only the prompt, which the refusal quotes, says that a model is gone', async () => {
  const prompt = 'Translate: the model has been deprecated, please use gpt-7-luna instead.';
  const error = { message: `Invalid prompt: '${prompt}'`, type: 'invalid_request_error', param: null, code: null };
  const amend: Amend = (reply, { method }) =>
    method === 'POST' ? { ...reply, status: 400, body: JSON.stringify({ error }) } : reply;
  const ran = await ask('openai', { models: { ...luna, 'gpt-6-luna': {} }, amend }, `text '${prompt}'`);
  expect(ran).toMatchObject({ code: 4, asked: ['gpt-6-luna'] });
  expect(ran.stderr).not.toContain('successor');
});

describe('a default that is gone is replaced by the rule of its service, from its list', () => {
  test.each([
    ['openai', 'text hi', luna, ['gpt-6-luna', 'list', 'gpt-7-luna'], 'models.text gpt-7-luna'],
    ['openai', 'text hi --stream', luna, ['gpt-6-luna', 'list', 'gpt-7-luna'], 'models.text gpt-7-luna'],
    ['openai', 'text hi --raw', luna, ['gpt-6-luna', 'list', 'gpt-7-luna'], 'models.text gpt-7-luna'],
    ['openai', 'chat hi', luna, ['gpt-6-luna', 'list', 'gpt-7-luna'], 'models.chat gpt-7-luna'],
    [
      'openai',
      'image gen cat -o cat.png',
      flare,
      ['gpt-image-2.6-flare', 'list', 'gpt-image-3-flare'],
      'models.image gpt-image-3-flare',
    ],
    ['gemini', 'text hi', flash, ['gemini-3.8-flash', 'list', 'gemini-4-flash'], 'models.text gemini-4-flash'],
    [
      'gemini',
      'image edit blue -i dot.png -o blue.png',
      flash,
      ['gemini-nano-banana-2.1', 'list', 'gemini-nano-banana-3'],
      'models.edit gemini-nano-banana-3',
    ],
    ['anthropic', 'text hi', sonnets, ['claude-sonnet-5-5', 'list', 'claude-new'], 'models.text claude-new'],
    [
      'openrouter',
      'text hi',
      routed,
      ['~google/gemini-flash-latest', 'list', 'openrouter/auto'],
      'models.text openrouter/auto',
    ],
    [
      'openrouter',
      'image gen cat -o cat.png',
      routed,
      ['google/gemini-nano-banana-2.1', 'list', 'google/gemini-nano-banana-3'],
      'models.image google/gemini-nano-banana-3',
    ],
  ] as const)('%s, %s', async (name, line, models, asked, forGood) => {
    const ran = await ask(name, { models }, line);
    expect(ran).toMatchObject({ code: 0, asked });
    expect(ran.stderr).toContain(`does not have ${asked[0]} any more, so ${asked[2]} is asked`);
    expect(ran.stderr).toContain(`gateway-cli config set ${forGood}\n`);
  });

  test('the document names the model that was to answer, and the choice is kept for a day', async () => {
    const cwd = workFolder();
    const service = { models: luna };
    const first = await ask('openai', service, ['text hi --json', 'text hi --json'], { cwd });
    expect(first.asked).toEqual(['gpt-6-luna', 'list', 'gpt-7-luna', 'gpt-7-luna']);
    const document = JSON.parse(first.stdout) as object;
    expect(document).toMatchObject({
      ok: true,
      requestedModel: 'gpt-6-luna',
      model: 'gpt-7-luna',
      insteadOf: { model: 'gpt-6-luna', why: 'it is gone' },
      attempts: 1,
      warnings: [],
    });
  });

  test.each(['text hi --dry-run', 'text hi --curl', 'chat hi --dry-run --json'])(
    '%s shows the request to the model that was chosen',
    async (line) => {
      const shown = await ask('openai', { models: luna }, ['text hi', line]);
      expect(shown).toMatchObject({ code: 0, asked: ['gpt-6-luna', 'list', 'gpt-7-luna'] });
      expect(shown.stdout).toContain('gpt-7-luna');
      expect(shown.stdout).not.toContain('gpt-6-luna');
    },
  );

  test('a batch asks for the list once', async () => {
    const ran = await ask('openai', { models: luna }, batch);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.asked).toEqual(['gpt-6-luna', 'list', 'gpt-7-luna', 'gpt-7-luna']);
    expect(ran.stderr.split('any more')).toHaveLength(2);
  });

  test('a job that names the model itself gets no other in its place', async () => {
    const cwd = workFolder();
    const jobs = [
      { id: 'a', prompt: 'hi' },
      { id: 'b', prompt: 'hi', model: 'gpt-6-luna' },
    ];
    writeFileSync(join(cwd, 'jobs.jsonl'), jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
    const ran = await ask('openai', { models: luna }, 'batch jobs.jsonl -o out --concurrency 1', { cwd });
    expect(ran).toMatchObject({ code: 13, asked: ['gpt-6-luna', 'list', 'gpt-7-luna', 'gpt-6-luna'] });
  });

  test('a limit of costs lets no model take its place, whose price nobody gave', async () => {
    const ran = await ask('openai', { models: luna }, `${batch} --max-cost 1 --prices prices.json`);
    expect(ran.code).toBe(13);
    expect(ran.asked).not.toContain('gpt-7-luna');
  });

  test('a default that the list has and the service refuses is replaced, and not said to be gone', async () => {
    const amend: Amend = (reply, { method, body }) =>
      method === 'POST' && body.includes('gpt-6-luna')
        ? {
            status: 404,
            headers: {},
            body: '{"error":{"message":"The model `gpt-6-luna` does not exist or you do not have access to it.","code":"model_not_found"}}',
          }
        : reply;
    const ran = await ask('openai', { models: { ...luna, 'gpt-6-luna': {} }, amend }, 'text hi');
    expect(ran).toMatchObject({ code: 0, asked: ['gpt-6-luna', 'list', 'gpt-7-luna'] });
    expect(ran.stderr).toMatch(/OpenAI refuses gpt-6-luna \(.*do not have access to it\.\), so gpt-7-luna is asked/);
    expect(ran.stderr).not.toContain(gone);
  });

  test('a choice is kept only when it has answered', async () => {
    const amend: Amend = (reply, { method, body }) =>
      method === 'POST' && body.includes('gpt-7-luna')
        ? { status: 401, headers: {}, body: '{"error":{"message":"no"}}' }
        : reply;
    const cwd = workFolder();
    const failed = await ask('openai', { models: luna, amend }, 'text hi', { cwd });
    expect(failed).toMatchObject({ code: 3, asked: ['gpt-6-luna', 'list', 'gpt-7-luna'] });
    const next = await ask('openai', { models: luna }, 'text hi', { cwd });
    expect(next.asked).toEqual(['gpt-6-luna', 'list', 'gpt-7-luna']);
  });

  test.each([
    ['the list is down', { models: luna, amend: failList }, ['gpt-6-luna', 'list']],
    ['no name of the list fits the rule', { models: { 'gpt-6.2-sol': {} } }, ['gpt-6-luna', 'list']],
    ['what fits ends soon', { models: { 'gpt-7-luna': { shutdown_date: dayIn(10) } } }, ['gpt-6-luna', 'list']],
  ] as const)('the refusal stays the error if %s', async (_why, service, asked) => {
    const ran = await ask('openai', service, 'text hi');
    expect(ran).toMatchObject({ code: 4, stdout: '', asked });
    expect(ran.stderr).toContain(
      'rejected: the gateway answered 404 (invalid_request_error): The model `gpt-6-luna` does not exist',
    );
  });
});

const batch = `batch --data towns.csv --defaults '{"prompt":"{{town}}"}' --concurrency 1 -o out`;

function failList(reply: Parameters<Amend>[0], { method }: FakeRequest): Parameters<Amend>[0] {
  return method === 'GET' ? { status: 503, headers: {}, body: 'down' } : reply;
}

/** Replies of 404, and of 400, for a model that was there, in the services' own words. */
const retired = [
  ['openai', 'The model `gpt-x` has been deprecated, learn more here: https://platform.openai.com', undefined],
  ['openai', 'The model gpt-x is deprecated. Please use `gpt-7-luna` instead.', 'gpt-7-luna'],
  [
    'gemini',
    'This model models/x is no longer available. Please update to use models/gemini-4-flash.',
    'gemini-4-flash',
  ],
] as const;

describe('a model that the user named is never replaced', () => {
  test.each(retired)('%s says: %s', async (name, message, successor) => {
    const refuse: Amend = (reply, { method }) =>
      method === 'POST' ? { status: 404, headers: {}, body: JSON.stringify({ error: { message, code: 404 } }) } : reply;
    const ran = await ask(name, { models: { ...luna, ...flash }, amend: refuse }, 'text hi -m gpt-x');
    expect(ran).toMatchObject({ code: 4, asked: ['gpt-x'] });
    expect(ran.stderr).toContain(
      successor === undefined ? 'gateway-cli models' : `the service names its successor: -m ${successor}\n`,
    );
  });

  test('the nearest of the kept list is in the hint', async () => {
    const ran = await ask('openai', { models: luna }, ['models', 'text hi -m gpt-7-lune']);
    expect(ran).toMatchObject({ code: 4, asked: ['list', 'gpt-7-lune'] });
    expect(ran.stderr).toContain('the nearest that the gateway offers: -m gpt-7-luna\n');
    expect(ran.stderr).not.toContain(gone);
  });
});

describe('a model that ends', () => {
  const ending = { 'gpt-6-luna': { shutdown_date: dayIn(15) } };

  test('is a warning once a day, and always in the document, by the list of the day', async () => {
    const ran = await ask('openai', { models: ending }, ['models', 'text hi', 'text hi --json']);
    expect(ran).toMatchObject({ code: 0, asked: ['list', 'gpt-6-luna', 'gpt-6-luna'], stderr: '' });
    expect(JSON.parse(ran.stdout)).toMatchObject({
      modelEnds: { model: 'gpt-6-luna', endsOn: dayIn(15) },
      warnings: [],
    });
    const first = await ask('openai', { models: ending }, ['models', 'text hi']);
    expect(first.stderr).toBe(`gateway-cli: warning: gpt-6-luna ends on ${dayIn(15)}, in 15 days\n`);
  });

  test('costs no request where nothing is kept', async () => {
    const ran = await ask('openai', { models: ending }, 'text hi --json');
    expect(ran).toMatchObject({ code: 0, asked: ['gpt-6-luna'], stderr: '' });
    expect(JSON.parse(ran.stdout)).not.toHaveProperty('modelEnds');
  });

  test.each([
    [
      'openai',
      'the headers of a reply say so',
      {
        sunset: new Date(Date.now() + 3 * 86_400_000).toUTCString(),
        link: '</v1/models/gpt-7>; rel="successor-version"',
      },
      {},
      { model: 'gpt-6-luna', endsOn: dayIn(3), successor: 'gpt-7' },
      `gpt-6-luna ends on ${dayIn(3)}, in 3 days; its successor is gpt-7`,
    ],
    [
      'openai',
      'a header calls it deprecated',
      { deprecation: '@1764115200' },
      {},
      { model: 'gpt-6-luna', lifecycle: 'deprecated' },
      'gpt-6-luna is deprecated',
    ],
    [
      'gemini',
      'the status of a reply says so',
      {},
      {
        modelStatus: {
          modelStage: 'DEPRECATED',
          retirementTime: `${dayIn(100)}T00:00:00Z`,
          message: 'Use gemini-4-flash.',
        },
      },
      { model: 'gemini-3.8-flash', endsOn: dayIn(100), lifecycle: 'deprecated', successor: 'gemini-4-flash' },
      `gemini-3.8-flash ends on ${dayIn(100)}, in 100 days; its successor is gemini-4-flash`,
    ],
  ] as const)('%s: %s', async (name, _what, headers, body, modelEnds, warning) => {
    const amend: Amend = (reply) => ({
      ...reply,
      headers: { ...reply.headers, ...headers },
      body: JSON.stringify({ ...(JSON.parse(String(reply.body)) as object), ...body }),
    });
    const models = { 'gpt-6-luna': {}, 'gemini-3.8-flash': {} };
    const ran = await ask(name, { models, amend }, ['text hi', 'text hi --json']);
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, modelEnds, warnings: [] });
    expect((await ask(name, { models, amend }, 'text hi')).stderr).toBe(`gateway-cli: warning: ${warning}\n`);
  });
});

describe('doctor', () => {
  test('says of a model in use when it ends, and what follows, and how to set that', async () => {
    const models = {
      ...sonnets,
      'claude-sonnet-5-5': { lifecycle: 'deprecated', retires_at: `${dayIn(9)}T00:00:00Z` },
    };
    const ran = await ask('anthropic', { models }, 'doctor');
    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(new RegExp(`^warning model +claude-sonnet-5-5 ends on ${dayIn(9)}, in 9 days$`, 'm'));
    expect(ran.stdout).toContain('gateway-cli config set models.text <model>\n');
  });
});

test('-m takes the names that a profile has for models', async () => {
  const cwd = workFolder();
  const profile = { service: 'openai', models: { fast: 'gpt-7', best: 'gpt-8' }, fallback: 'fast' };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ profile: 'own', profiles: { own: profile } }), {
    mode: 0o600,
  });
  const config = { GATEWAY_CONFIG: join(cwd, 'config.json'), ...keys.openai };
  const service = { models: { 'gpt-7': {}, 'gpt-8': {} } };
  const asking = ['text hi -m fast', 'text hi -m best', 'chat hi -m best'];
  expect((await ask('openai', service, asking, { cwd, env: config })).asked).toEqual(['gpt-7', 'gpt-8', 'gpt-8']);
  const other = await ask('openai', service, 'text hi -m gone', { cwd, env: config });
  expect(other).toMatchObject({ code: 0, asked: ['gone', 'gpt-7'] });
});

describe('--require-alive', () => {
  const models = {
    'gpt-6-luna': { shutdown_date: dayIn(15) },
    'gpt-7': { shutdown_date: dayIn(40) },
    'gpt-8': {},
    'gpt-image-2.6-flare': { shutdown_date: dayIn(15) },
  };

  test.each([
    ['text hi --require-alive 30d', 11, ['list'], 'incomplete: gpt-6-luna ends on'],
    ['image gen cat -o cat.png --require-alive 30d', 11, ['list'], 'incomplete: gpt-image-2.6-flare ends on'],
    ['chat hi --require-alive 30d', 11, ['list'], 'incomplete: gpt-6-luna ends on'],
    ['text hi --raw --require-alive 30d', 11, ['list'], 'incomplete: gpt-6-luna ends on'],
    ['text hi --require-alive 10d', 0, ['list', 'gpt-6-luna'], 'warning: gpt-6-luna ends on'],
    ['text hi -m gpt-7 --require-alive 30d', 0, ['list', 'gpt-7'], 'warning: gpt-7 ends on'],
    [
      'text hi -m gpt-8 --require-alive 30d',
      0,
      ['list', 'gpt-8'],
      'how long gpt-8 lives is not known: its list does not say',
    ],
    ['text hi -m gpt-9 --require-alive 30d', 4, ['list', 'gpt-9'], 'is not known: its list does not have it'],
  ] as const)('%s ends with exit code %i', async (line, code, asked, words) => {
    const ran = await ask('openai', { models }, line);
    expect(ran).toMatchObject({ code, asked });
    expect(ran.stderr).toContain(words);
  });

  test('a list that is down is told, and the request goes out', async () => {
    const ran = await ask('openai', { models, amend: failList }, 'text hi --require-alive 30d');
    expect(ran).toMatchObject({ code: 0, asked: ['list', 'gpt-6-luna'] });
    expect(ran.stderr).toContain('how long gpt-6-luna lives is not known: the gateway answered 503');
  });
});

describe('--fallback', () => {
  const models = { 'gpt-6-luna': {}, 'gpt-7': {} };
  const busy =
    (status: number): Amend =>
    (reply, request) =>
      nameAsked(request) === 'gpt-6-luna'
        ? { status, headers: {}, body: '{"error":{"message":"The engine is overloaded"}}' }
        : reply;

  test.each([429, 503])('answers after %i, is told, and is in the document and the cost', async (status) => {
    const line = 'text hi --fallback gpt-7 --retries 1 --json --prices prices.json';
    const ran = await ask('openai', { models, amend: busy(status) }, line);
    expect(ran).toMatchObject({ code: 0, asked: ['gpt-6-luna', 'gpt-6-luna', 'gpt-7'] });
    expect(ran.stderr).toContain(
      'warning: gpt-7 is asked in place of gpt-6-luna (flag --fallback): the gateway answered',
    );
    expect(JSON.parse(ran.stdout)).toMatchObject({
      requestedModel: 'gpt-6-luna',
      model: 'gpt-7',
      insteadOf: { model: 'gpt-6-luna', why: expect.stringContaining('The engine is overloaded') as string },
      attempts: 3,
      cost: { amount: '0.000018' },
    });
  });

  test('answers in place of a named model that is gone', async () => {
    const ran = await ask('openai', { models }, 'text hi -m gpt-5 --fallback gpt-7');
    expect(ran).toMatchObject({ code: 0, asked: ['gpt-5', 'gpt-7'] });
  });

  test.each([500, 502, 400, 401])(
    'is not asked after %i, which may have been billed or is no matter of the model',
    async (status) => {
      const ran = await ask('openai', { models, amend: busy(status) }, 'text hi --fallback gpt-7 --retries 0');
      expect(ran.code).not.toBe(0);
      expect(ran.asked).toEqual(['gpt-6-luna']);
    },
  );

  test('of a default that is gone is not asked without a price where a budget pays, and the refusal says how to set one', async () => {
    const prices = '{"gpt-6-luna":{"input":"1","output":"1"}}';
    const line = `text hi --max-tokens 16 --json --budget ./spent.jsonl:1 --prices '${prices}'`;
    const ran = await ask('openai', { models: luna }, line);
    expect(ran).toMatchObject({ code: 4, asked: ['gpt-6-luna', 'list'] });
    const hint = expect.stringMatching(
      /^gpt-7-luna is not asked in its place: --budget: the model gpt-7-luna has no price\nset it, for a million tokens: --prices /,
    );
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: { class: 'rejected', hint, sent: 'yes', billed: 'no' } });
  });

  test('is not asked where an attempt before may have been billed', async () => {
    let times = 0;
    const amend: Amend = (reply, request) => busy(times++ === 0 ? 500 : 429)(reply, request);
    const ran = await ask('openai', { models, amend }, 'text hi --fallback gpt-7 --retries 1');
    expect(ran).toMatchObject({ code: 5, asked: ['gpt-6-luna', 'gpt-6-luna'] });
  });

  test('answers in chat, in a batch by a key of its jobs, and in the library', async () => {
    const amend = busy(503);
    const flags = '--fallback gpt-7 --retries 0';
    const chat = await ask('openai', { models, amend }, `chat hi ${flags}`);
    expect(chat).toMatchObject({ code: 0, asked: ['gpt-6-luna', 'gpt-7'] });
    const ran = await ask(
      'openai',
      { models, amend },
      batch.replace('"prompt"', '"fallback":"gpt-7","prompt"') + ' --retries 0',
    );
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.asked).toEqual(['gpt-6-luna', 'gpt-7', 'gpt-6-luna', 'gpt-7']);
    expect(ran.stderr.split('is asked in place of')).toHaveLength(2);
    const server = await startOpenAi({ models: ['gpt-7'] });
    onTestFinished(() => server.close());
    const client = createClient({ service: 'openai', baseUrl: server.url, apiKey: keys.openai.OPENAI_API_KEY });
    onTestFinished(() => client.close());
    const reply = await client.generate({ model: 'gpt-5', prompt: 'hi' }, { fallback: 'gpt-7' });
    expect(reply).toMatchObject({ model: 'gpt-7', insteadOf: { model: 'gpt-5' }, attempts: 2 });
  });

  test('is another model than the requested one to --require-model, and is held to --require-alive', async () => {
    const line = 'text hi --fallback gpt-7 --retries 0';
    const other = await ask('openai', { models, amend: busy(503) }, `${line} --require-model`);
    expect(other).toMatchObject({ code: 11, asked: ['gpt-6-luna', 'gpt-7'] });
    expect(other.stderr).toContain('another model answered: gpt-7, not gpt-6-luna');
    const ending = { 'gpt-6-luna': { shutdown_date: dayIn(90) }, 'gpt-7': { shutdown_date: dayIn(15) } };
    const ended = await ask('openai', { models: ending, amend: busy(503) }, `${line} --require-alive 30d`);
    expect(ended).toMatchObject({ code: 11, asked: ['list', 'gpt-6-luna'] });
    expect(ended.stderr).toContain('incomplete: gpt-7 ends on');
  });

  test('that fails is the error, and nothing else is asked', async () => {
    const amend: Amend = (reply, request) => busy(503)(busy(503)(reply, request), request);
    const ran = await ask('openai', { models: { 'gpt-6-luna': {} }, amend }, 'text hi --fallback gpt-7 --retries 0');
    expect(ran).toMatchObject({ code: 4, asked: ['gpt-6-luna', 'gpt-7'] });
  });
});
