import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run, type Ran } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { textReply } from '../../helpers/with-server.ts';
import { anthropicKey, startAnthropic } from '../../fake-servers/anthropic.ts';
import { geminiKey, startGemini } from '../../fake-servers/gemini.ts';
import { type FakeServer, startFakeServer } from '../../fake-servers/start.ts';

/** The goal of a user, and what the user knows about it. */
interface Aim {
  server: () => FakeServer;
  key: string;
  model: string;
}

let gemini: FakeServer;
let anthropic: FakeServer;
let relay: FakeServer;

beforeAll(async () => {
  gemini = await startGemini();
  anthropic = await startAnthropic();
  relay = await startFakeServer(({ headers }) => {
    const { authorization } = headers;
    const isGood = authorization === 'Bearer relay-key';
    const message = authorization === undefined ? 'Missing Authorization header' : 'Invalid token (无效的令牌)';
    const body = isGood ? textReply('Hello from the relay.') : { error: { message, type: 'new_api_error' } };
    return { status: isGood ? 200 : 401, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  });
});

afterAll(() => Promise.all([gemini, anthropic, relay].map((server) => server.close())));

const toGemini: Aim = { server: () => gemini, key: geminiKey, model: 'gemini-2.5-flash' };
const toPictures: Aim = { ...toGemini, model: 'gemini-nano-banana-2.1' };
const toClaude: Aim = { server: () => anthropic, key: anthropicKey, model: 'claude-haiku-4-5' };
const toRelay: Aim = { server: () => relay, key: 'relay-key', model: 'm' };

/** A command line, what is in its environment, and where it runs. */
interface State {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
}

function runIn({ argv, env, cwd }: State): Promise<Ran> {
  return run(argv, { cwd, env: { GATEWAY_CONFIG: join(cwd, 'config.json'), ...env } });
}

/** What does not hold here: there is a gateway, and it does not have OpenAI's format. */
const notHere = /--offline|if a server with OpenAI's format answers there/;

/** The hint of a run, without the lines for those with another gateway, or with none. */
function hintIn({ stderr }: Ran): string {
  const lines = stderr.split('\n').slice(1);
  return lines.filter((line) => line.startsWith('  ') && !notHere.test(line)).join('\n');
}

/** Types what the hint says; what it leaves open comes from what the user knows. */
async function follow(state: State, hint: string, aim: Aim): Promise<State> {
  const { argv, env } = state;
  const [, checked = ''] = /check the key \(environment (\w+)\)/.exec(hint) ?? [];
  const isGood = checked === '' || env[checked] === aim.key;
  // What is said first is done first.
  if (isGood && hint.includes('gateway-cli doctor --live')) return followDoctor(state);
  const read = (pattern: RegExp): string[] => [...hint.matchAll(pattern)].map(([, found = '']) => found);
  const [variable] = read(/(?:check the key \(environment |^ +set )(\w+_API_KEY)/gm);
  const typed = [
    ...read(/(--service [a-z]+)/g).slice(0, 1),
    ...read(/(--auth [a-z-]+)/g),
    ...read(/(--format [a-z]+)/g),
    ...read(/(--header-names [a-z,-]+)/g),
    ...read(/\(--profile\): there are: (\w+)/g).map((name) => `--profile ${name}`),
    ...read(/--(model)\b/g).map(() => `-m ${aim.model}`),
  ];
  return {
    ...state,
    argv: [...argv, ...typed.flatMap((words) => words.split(' '))],
    // On a real network a service is found at its own host; here it is the fake server.
    env: { GATEWAY_BASE_URL: aim.server().url, ...env, ...(variable && { [variable]: aim.key }) },
  };
}

/** Runs the examination with the same flags, and does what it says. */
async function followDoctor(state: State): Promise<State> {
  const flags = state.argv.slice(state.argv.indexOf('hi') + 1);
  const { stdout } = await runIn({ ...state, argv: ['doctor', '--live', ...flags] });
  for (const [, line = ''] of stdout.matchAll(/gateway-cli (config set .*)/g)) {
    expect(await runIn({ ...state, argv: line.split(' ') })).toMatchObject({ code: 0 });
  }
  const left = /leave out (--[a-z-]+)/.exec(stdout)?.[1];
  const at = left === undefined ? -1 : state.argv.indexOf(left);
  return { ...state, argv: at < 0 ? state.argv : state.argv.toSpliced(at, 2) };
}

interface Start {
  argv: readonly string[];
  /** Beside the base URL, the key and the model; undefined takes one of them away. */
  env?: Readonly<Record<string, string | undefined>>;
  /** A config file. */
  config?: object;
  aim: Aim;
  /** How many hints lead to a command that works. */
  steps: 1 | 2;
}

const noKey = { GATEWAY_API_KEY: undefined };
const wrongKey = { GATEWAY_API_KEY: 'wrong-key' };

describe('from a wrong start the hints lead to a command that works', () => {
  test.each<[string, Start]>([
    ['no key', { argv: ['text', 'hi'], env: noKey, aim: toRelay, steps: 2 }],
    ['no key of Gemini', { argv: ['text', 'hi', '--service', 'gemini'], env: noKey, aim: toGemini, steps: 1 }],
    ['no key of Anthropic', { argv: ['chat', 'hi', '--service', 'anthropic'], env: noKey, aim: toClaude, steps: 1 }],
    ['a wrong key', { argv: ['text', 'hi', '--auth', 'bearer'], env: wrongKey, aim: toRelay, steps: 1 }],
    ['a wrong key of Gemini', { argv: ['text', 'hi', '--service', 'gemini'], env: wrongKey, aim: toGemini, steps: 1 }],
    [
      'a wrong key of Anthropic',
      { argv: ['chat', 'hi', '--service', 'anthropic'], env: wrongKey, aim: toClaude, steps: 1 },
    ],
    ['no service, for text', { argv: ['text', 'hi'], aim: toGemini, steps: 1 }],
    ['no service, for pictures', { argv: ['image', 'gen', 'hi'], aim: toPictures, steps: 1 }],
    ['no service, for chat', { argv: ['chat', 'hi'], aim: toClaude, steps: 1 }],
    [
      'the service without pictures',
      { argv: ['image', 'gen', 'hi', '--service', 'anthropic'], aim: toPictures, steps: 1 },
    ],
    ['the service of another address', { argv: ['text', 'hi', '--service', 'gemini'], aim: toClaude, steps: 1 }],
    ['a bearer token for Gemini', { argv: ['text', 'hi', '--auth', 'bearer'], aim: toGemini, steps: 1 }],
    [
      'a bearer token for Gemini by its name',
      { argv: ['text', 'hi', '--service', 'gemini', '--auth', 'bearer'], aim: toGemini, steps: 1 },
    ],
    ['a bearer token for Anthropic', { argv: ['chat', 'hi', '--auth', 'bearer'], aim: toClaude, steps: 1 }],
    ['a key in a header for a relay', { argv: ['text', 'hi'], aim: toRelay, steps: 1 }],
    ['the form of a header, chosen for a relay', { argv: ['text', 'hi', '--auth', 'api-key'], aim: toRelay, steps: 1 }],
    [
      'a header of another name',
      { argv: ['text', 'hi', '--service', 'gemini', '--header-names', 'x-key,'], aim: toGemini, steps: 1 },
    ],
    ['the content format for Anthropic', { argv: ['text', 'hi'], aim: toClaude, steps: 2 }],
    ['the messages format for Gemini', { argv: ['chat', 'hi'], aim: toGemini, steps: 2 }],
    [
      'a model that Gemini does not have',
      { argv: ['text', 'hi', '--service', 'gemini', '-m', 'claude-haiku-4-5'], aim: toGemini, steps: 1 },
    ],
    [
      'a model that Anthropic does not have',
      { argv: ['chat', 'hi', '--service', 'anthropic', '-m', 'gemini-2.5-flash'], aim: toClaude, steps: 1 },
    ],
    [
      'a key of Gemini, on a machine that stands in for it',
      { argv: ['text', 'hi'], env: { ...noKey, GEMINI_API_KEY: geminiKey }, aim: toGemini, steps: 1 },
    ],
    [
      'nothing but a profile that is not in use',
      {
        argv: ['text', 'hi'],
        env: { GATEWAY_API_KEY: undefined, GATEWAY_BASE_URL: undefined, GATEWAY_MODEL: undefined },
        config: { profiles: { work: { service: 'gemini', models: { text: 'gemini-2.5-flash' } } } },
        aim: toGemini,
        steps: 2,
      },
    ],
  ])('%s', async (_, { argv, env = {}, config, aim, steps }) => {
    const cwd = scratchFolder();
    if (config) writeFileSync(join(cwd, 'config.json'), JSON.stringify(config), { mode: 0o600 });
    const { key, model } = aim;
    const full = {
      GATEWAY_BASE_URL: aim.server().url,
      GATEWAY_API_KEY: key,
      GATEWAY_MODEL: model,
      GATEWAY_IMAGE_MODEL: model,
      ...env,
    };
    const given = Object.entries(full).filter((entry): entry is [string, string] => entry[1] !== undefined);
    let state: State = { argv, env: Object.fromEntries(given), cwd };
    const told: string[] = [];
    let ran = await runIn(state);
    while (ran.code !== 0 && told.length <= 2) {
      const hint = hintIn(ran);
      told.push(hint);
      state = await follow(state, hint, aim);
      ran = await runIn(state);
    }
    expect(ran.code, `${told.join('\n')}\n${ran.stderr}`).toBe(0);
    expect(told.length, told.join('\n')).toBe(steps);
  });
});
