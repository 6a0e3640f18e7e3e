import { env, getBuiltinModule } from 'node:process';
import { createApp, createKey } from '../app.ts';
import { listen } from '../listen.ts';
import { createOfflineHandler } from '../offline-handler.ts';
import type { GatewayRequest, Handler, AnswerScript as ModelScript } from '../types.ts';
import { createReplayHandler } from '../upstream.ts';
import { misleadingVariables, unpaid, vendorEnvironment } from '../service.ts';
import { isObject, openReplay, savedVariables, usageError } from '../../library/index.ts';
import { createScript, findLastPrompt } from './script.ts';
import type { Gateway, GatewayOptions, Hooks, ReceivedRequest, Script } from './testing-types.ts';

export type {
  Answer,
  Answers,
  Gateway,
  GatewayOptions,
  Hooks,
  PromptAnswer,
  ReceivedRequest,
  Script,
} from './testing-types.ts';

/** A request whose fields are set while it is answered. */
type OpenRecord = { -readonly [K in keyof ReceivedRequest]: ReceivedRequest[K] };

/** The models that answer if a test has no answers of its own. */
const localModels = {
  GATEWAY_MODEL: 'local-text',
  GATEWAY_CHAT_MODEL: 'local-chat',
  GATEWAY_IMAGE_MODEL: 'local-image',
  GATEWAY_EDIT_MODEL: 'local-edit',
};

/**
 * Starts a gateway on a free port of 127.0.0.1, which speaks all formats. Throws GatewayError usage for an empty answer, an
 * unknown fault, or a folder without recordings.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  let received: OpenRecord[] = [];
  const records = new WeakMap<GatewayRequest, OpenRecord>();
  const openHandler = async (script: Script): Promise<Handler> => {
    const { replay } = options;
    if (replay === undefined) return scriptedHandler(await createScript(script), records);
    if (script.answers !== undefined || script.faults !== undefined)
      throw usageError('replay cannot be combined with answers or faults', 'leave one of them out');
    return createReplayHandler(await openReplay(replay));
  };
  let answering = await openHandler(options);
  const handler: Handler = async (request) => {
    const bytes = await request.readBody();
    const known = { ...request, readBody: async () => bytes };
    const record = createRecord(request, bytes);
    records.set(known, record);
    received.push(record);
    const reply = await answering(known);
    record.answered = true;
    return reply;
  };
  const key = createKey();
  const { url, close } = await listen(createApp({ key, handler }));
  const models = options.replay === undefined ? localModels : await savedVariables(options.replay);
  return {
    url,
    key,
    env: environment({ url, key }, models ?? {}),
    requests: () => [...received],
    async reset(script) {
      // A script without answers leaves the answers as they are.
      answering = await openHandler(script === undefined ? options : { answers: options.answers, ...script });
      received = [];
    },
    stop: () => close(0),
  };
}

function scriptedHandler(script: ModelScript, records: WeakMap<GatewayRequest, OpenRecord>): Handler {
  return createOfflineHandler({
    script: {
      anyModel: script.anyModel,
      answer(read, request) {
        const record = records.get(request);
        if (record) record.prompt = findLastPrompt(read.task);
        const recordAndAnswer = script.answer(read, request);
        // A fault is an answer too, and can be an error.
        if (record) record.answered = true;
        return recordAndAnswer;
      },
    },
  });
}

function createRecord({ method, path, headers, pathId }: GatewayRequest, bytes: Buffer): OpenRecord {
  const body = parsed(bytes.toString('utf8'));
  const named = isObject(body) && typeof body['model'] === 'string' ? body['model'] : undefined;
  return { method, path, headers, body, prompt: undefined, model: pathId ?? named, answered: false };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function environment(
  gateway: { url: string; key: string },
  models: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  const { variables, unset } = vendorEnvironment(undefined, gateway);
  const removed = [...misleadingVariables, ...unset].map((name) => [name, undefined] as const);
  const own = { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEY: gateway.key, ...unpaid };
  return { ...Object.fromEntries(removed), ...models, ...own, ...variables };
}

/**
 * A gateway for all tests of a file. It starts before the first test and sets the variables of its `env`. After each test it is
 * reset, and the test fails if a request had no answer. After the last test it stops and restores the variables. `hooks` are the
 * functions of the test runner: only vitest without globals needs them (`import * as vitest`).
 */
export function useGateway(options: GatewayOptions = {}, hooks: Hooks = runnerHooks()): Gateway {
  let running: Gateway | undefined;
  let before: Readonly<Record<string, string | undefined>> = {};
  const started = (): Gateway => {
    if (running !== undefined) return running;
    throw usageError('the gateway has not started yet', 'use it inside a test: it starts before the first one');
  };
  const [first, last] = [hooks.beforeAll ?? hooks.before, hooks.afterAll ?? hooks.after];
  first?.(async () => {
    running = await startGateway(options);
    before = Object.fromEntries(Object.keys(running.env).map((name) => [name, env[name]]));
    setVariables(running.env);
  });
  hooks.afterEach(async () => {
    const missed = started()
      .requests()
      .filter(({ answered }) => !answered);
    await started().reset();
    if (missed.length > 0) throw new Error(`no answer for ${missed.map(describeReceived).join(', ')}`);
  });
  last?.(async () => {
    setVariables(before);
    await running?.stop();
    running = undefined;
  });
  return {
    get url() {
      return started().url;
    },
    get key() {
      return started().key;
    },
    get env() {
      return started().env;
    },
    requests: () => started().requests(),
    reset: (script) => started().reset(script),
    stop: () => started().stop(),
  };
}

function describeReceived({ method, path, prompt }: ReturnType<Gateway['requests']>[number]): string {
  return prompt === undefined ? `${method} ${path}` : `the prompt '${prompt.slice(0, 200)}' (${method} ${path})`;
}

function setVariables(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete env[name];
    else env[name] = value;
  }
}

/** The hooks of jest or of vitest with globals, otherwise those of node:test. */
function runnerHooks(): Hooks {
  const found = globalThis as Partial<Hooks>;
  if (found.beforeAll && found.afterEach) return found as Hooks;
  if (env['VITEST'] !== undefined)
    throw usageError(
      'the functions of vitest are not global here',
      "import * as vitest from 'vitest', and call useGateway({ … }, vitest)",
    );
  return getBuiltinModule('node:test');
}
