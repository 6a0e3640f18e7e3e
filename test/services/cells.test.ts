import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../helpers/run.ts';
import { pixel } from '../fake-servers/completions.ts';
import { spentKey } from '../fake-servers/openai.ts';
import { startFakeServer } from '../fake-servers/start.ts';
import { asked, keyHeaders, received, receivedForm, services, using } from './requests.ts';
import { hello, pictures, tasks } from './tasks.ts';
import { runWith, workFolder } from './vendor-run.ts';
import { keys, startVendors, vendorNames, type Vendors } from './vendors.ts';

// Every task on every service. The environment has the vendor's key variable and nothing else; Ollama is named by --service.
// A fake server with the vendor's own wordings answers at the vendor's own origin.

let vendors: Vendors;
beforeAll(async () => void (vendors = await startVendors()));
afterAll(() => vendors.close());

/** In which headers each service takes its key, and the version of its format. */
const headers = {
  gemini: { 'x-goog-api-key': keys.gemini.GEMINI_API_KEY },
  anthropic: { 'x-api-key': keys.anthropic.ANTHROPIC_API_KEY, 'anthropic-version': '2023-06-01' },
  openai: { authorization: `Bearer ${keys.openai.OPENAI_API_KEY}` },
  openrouter: { authorization: `Bearer ${keys.openrouter.OPENROUTER_API_KEY}` },
  ollama: {},
};

/** The request for the list of a service, as `received` has it. */
function listPath(name: (typeof vendorNames)[number]): [string, undefined] {
  const prefix = { gemini: '/v1beta', openrouter: '/api/v1' }[name as string] ?? '/v1';
  return [`GET ${prefix}/models`, undefined];
}

describe.each(vendorNames)('%s', (name) => {
  const { format, words } = services[name];

  test.each(Object.entries(tasks))('%s', async (_task, row) => {
    const { lines, stdin, streamed = false, stdout = words, stderr = '', costs = '' } = row;
    const isChat = [lines].flat()[0]?.startsWith('chat') === true;
    const ran = await runWith(vendors, name, lines, stdin === undefined ? {} : { stdin });
    expect(ran).toMatchObject({ code: 0, stdout, stderr: name === 'openrouter' ? stderr + costs : stderr });
    const sent = row[format].map((body) => asked(name, body, { streamed, isChat }));
    expect(ran.requests.map(received)).toStrictEqual(sent);
  });

  test('says with -v which service answers, with which model, and why', async () => {
    expect((await runWith(vendors, name, 'text hi -v')).stderr).toContain(using(name));
  });

  test('--prices gives the cost of an answer', async () => {
    const ran = await runWith(vendors, name, 'text hi --json --prices prices.json');
    const tokens = name === 'gemini' ? { inputTokens: 2, outputTokens: 5 } : { inputTokens: 8, outputTokens: 5 };
    // OpenRouter says itself what an answer cost.
    const amount = name === 'gemini' || name === 'openrouter' ? '0.000012' : '0.000018';
    expect(JSON.parse(ran.stdout)).toMatchObject({ usage: tokens, cost: { amount, currency: 'USD' } });
  });

  test('models lists what the service offers', async () => {
    const ran = await runWith(vendors, name, 'models');
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout.split('\n')).toContain(name === 'ollama' ? 'llama3.2:latest' : services[name].model);
    expect(ran.requests.map(received)).toStrictEqual([listPath(name)]);
  });

  test('doctor and doctor --live pass', async () => {
    const listed = await runWith(vendors, name, 'doctor');
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.stdout).toMatch(
      name === 'openrouter'
        ? /^skipped key taken {9}OpenRouter gives its list of \d+ models to anyone: ~google.*; --live tries the key$/m
        : /^ok {6}key taken {9}the list of \d+ models came/m,
    );
    const live = await runWith(vendors, name, 'doctor --live');
    expect(live).toMatchObject({ code: 0, stderr: '' });
    expect(live.stdout).toMatch(new RegExp(`^ok {6}${format}.* accepted$`, 'm'));
    expect(live.stdout).not.toMatch(/^(?:FAILED|warning)/m);
  });

  test('shows the header of a key with --dry-run and --curl where one is sent', async () => {
    for (const flag of ['--dry-run', '--curl']) {
      const { stdout } = await runWith(vendors, name, `text hi ${flag}`);
      expect(/(?:authorization|x-goog-api-key|x-api-key): /.test(stdout)).toBe(name !== 'ollama');
    }
  });

  test('takes the key in its own header', async () => {
    const { requests } = await runWith(vendors, name, 'text hi');
    expect(keyHeaders(requests[0])).toEqual(headers[name]);
  });
});

describe('image gen, and image edit', () => {
  test.each(['gemini', 'openai', 'openrouter'] as const)('%s', async (name) => {
    const cwd = workFolder();
    const gen = await runWith(vendors, name, "image gen 'a cat' -o cat.png", { cwd });
    const edit = await runWith(vendors, name, 'image edit blue -i dot.png -o blue.png', { cwd });
    expect(gen).toMatchObject({ code: 0, stdout: 'cat.png\n', stderr: '' });
    expect(edit).toMatchObject({ code: 0, stdout: 'blue.png\n', stderr: '' });
    expect([...gen.requests, ...edit.requests].map(receivedForm)).toStrictEqual(pictures[name]);
    for (const file of ['cat.png', 'blue.png']) expect(readFileSync(join(cwd, file)).toString('base64')).toBe(pixel);
  });

  test('openai and openrouter take both sides of a size, gemini one: exit code 2 before anything is sent', async () => {
    const line = "image gen 'a cat' --size 1536x1024 --dry-run -o cat.png";
    for (const name of ['openai', 'openrouter'] as const)
      expect((await runWith(vendors, name, line)).stdout).toContain('"size": "1536x1024"');
    const ran = await runWith(vendors, 'gemini', line);
    expect(ran).toMatchObject({ code: 2, stdout: '', requests: [] });
    expect(ran.stderr).toContain("this service takes no size of both sides, such as '1536x1024'");
  });

  test('anthropic has none: exit code 2 names the services that do', async () => {
    for (const line of ["image gen 'a cat' -o cat.png", 'image edit blue -i dot.png -o blue.png']) {
      const ran = await runWith(vendors, 'anthropic', line);
      expect(ran).toMatchObject({ code: 2, stdout: '', requests: [] });
      expect(ran.stderr).toContain(`cannot ${line.startsWith('image edit') ? 'edit' : 'make'} images`);
      expect(ran.stderr).toContain('--service gemini, or --service openai, or --service openrouter');
    }
  });
});

describe('a gateway of your own, named by GATEWAY_BASE_URL,', () => {
  const content = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }] };
  const messages = [
    '{"type":"message_start","message":{"role":"assistant","content":[]}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hello."}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    '{"type":"message_stop"}',
  ];

  test.each([
    [
      'text in the content format',
      ['text', 'hi'],
      { 'content-type': 'application/json' },
      JSON.stringify(content),
      ['POST /v1beta/models/m:generateContent', { contents: hello.content }],
    ],
    [
      'chat in the messages format',
      ['chat', 'hi'],
      { 'content-type': 'text/event-stream' },
      messages.map((data) => `data: ${data}\n\n`),
      ['POST /v1/messages', { model: 'm', max_tokens: 4096, messages: hello.others, stream: true }],
    ],
  ] as const)('answers %s', async (_what, argv, type, body, request) => {
    const gateway = await startFakeServer(() => ({ status: 200, headers: type, body }));
    const env = { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEY: 'own-key-0123456789', GATEWAY_MODEL: 'm' };
    const ran = await run(argv, { env });
    await gateway.close();
    expect(ran).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
    expect(gateway.requests.map(received)).toStrictEqual([request]);
  });
});

describe('what goes wrong', () => {
  test.each(['gemini', 'anthropic', 'openai', 'openrouter'] as const)(
    '%s refuses a wrong key: exit code 3',
    async (name) => {
      const [variable = ''] = Object.keys(keys[name]);
      const ran = await runWith(vendors, name, 'text hi', { env: { [variable]: 'wrong-key-0123456789' } });
      expect(ran).toMatchObject({ code: 3, stdout: '' });
      expect(ran.stderr).toContain(`check the key (environment ${variable})`);
      expect(ran.stderr).not.toContain('wrong-key-0123456789');
    },
  );

  test('openai has no credit left: exit code 5, and the request is not sent again', async () => {
    const ran = await runWith(vendors, 'openai', 'text hi', { env: { OPENAI_API_KEY: spentKey } });
    expect(ran).toMatchObject({ code: 5, stdout: '', requests: [{ path: '/v1/responses' }] });
    expect(ran.stderr).toContain('You exceeded your current quota');
  });

  test.each(vendorNames)('%s does not have the model: exit code 4 names the command that lists them', async (name) => {
    const ran = await runWith(vendors, name, 'text hi -m gone');
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    expect(ran.stderr).toContain('to see those that it does: gateway-cli models');
  });

  test.each([
    ['gemini', 'text hi -m gemma-3-27b-it --system terse', '--system'],
    ['anthropic', 'text hi --temperature 0.2', '--temperature'],
    ['openai', 'text hi --temperature 0.2', '--temperature'],
    ['openrouter', 'text hi -m openai/gpt-6-luna --temperature 0.2', '--temperature'],
    ['ollama', 'text hi -m gemma3:4b --tools tools.json', '--tools'],
  ] as const)('%s has a model that refuses a flag: the hint of exit code 4 names it', async (name, line, flag) => {
    const ran = await runWith(vendors, name, line);
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    expect(ran.stderr).toMatch(
      new RegExp(`: change ${flag}, or leave it out(?:; without thinking, .*: --effort none)?\\n`),
    );
  });

  test('with the keys of two vendors nothing is sent, and exit code 2 has a command for each', async () => {
    const env = { ...keys.openai, ...keys.gemini };
    const ran = await runWith(vendors, 'openai', 'text hi', { env });
    expect(ran).toMatchObject({ code: 2, stdout: '', requests: [] });
    expect(ran.stderr).toContain('--service gemini');
    expect(ran.stderr).toContain('--service openai');
  });
});
