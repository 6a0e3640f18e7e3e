import { createApp, createKey } from '../gateway/app.ts';
import { listen } from '../gateway/listen.ts';
import { createOfflineHandler } from '../gateway/offline-handler.ts';
import type { GatewayRequest, Handler, Script as ModelScript } from '../gateway/types.ts';
import { createUpstreamHandler } from '../gateway/upstream.ts';
import { misleadingVariables, vendorEnvironment } from '../gateway/variables.ts';
import { usageError } from '../errors.ts';
import { isObject } from '../json.ts';
import { savedVariables } from '../recordings/models.ts';
import { openReplay } from '../recordings/replay.ts';
import { createScript, promptOf } from './script.ts';
import type { Gateway, GatewayOptions, ReceivedRequest, Script } from './testing-types.ts';

/** What is filled in while a request is answered. */
type Received = { -readonly [K in keyof ReceivedRequest]: ReceivedRequest[K] };

/** The models that answer if a test has no answers of its own. */
const localModels = {
  GATEWAY_MODEL: 'local-text',
  GATEWAY_CHAT_MODEL: 'local-chat',
  GATEWAY_IMAGE_MODEL: 'local-image',
  GATEWAY_EDIT_MODEL: 'local-edit',
};

/**
 * Starts a gateway on a free port of 127.0.0.1, which speaks all formats. Throws GatewayError usage for an answer that says
 * nothing, an unknown fault, or a folder without recordings.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { replay } = options;
  if (replay !== undefined && (options.answers !== undefined || options.faults !== undefined))
    throw usageError('replay cannot be combined with answers or faults', 'leave one of them out');
  let received: Received[] = [];
  const records = new WeakMap<GatewayRequest, Received>();
  const open = async (script: Script): Promise<Handler> =>
    replay === undefined ? scriptedHandler(await createScript(script), records) : replayHandler(replay, records);
  let answering = await open(options);
  const handler: Handler = async (request) => {
    const bytes = await request.readBody();
    const known = { ...request, readBody: async () => bytes };
    const record = recordOf(request, bytes);
    records.set(known, record);
    received.push(record);
    return answering(known);
  };
  const key = createKey();
  const { url, close } = await listen(createApp({ key, handler }));
  const models = replay === undefined ? localModels : await savedVariables(replay);
  return {
    url,
    key,
    env: environment({ url, key }, models ?? {}),
    requests: () => [...received],
    async reset(script = options) {
      answering = await open(script);
      received = [];
    },
    stop: () => close(0),
  };
}

function scriptedHandler(script: ModelScript, records: WeakMap<GatewayRequest, Received>): Handler {
  return createOfflineHandler({
    script: {
      anyModel: script.anyModel,
      answer(read, request) {
        const record = records.get(request);
        if (record) record.prompt = promptOf(read.task);
        const answer = script.answer(read, request);
        if (record) record.answered = true;
        return answer;
      },
    },
  });
}

/** A request that is not in the folder is answered with 404. */
async function replayHandler(folder: string, records: WeakMap<GatewayRequest, Received>): Promise<Handler> {
  const base = new URL('http://127.0.0.1');
  const exchanges = await openReplay(folder);
  const play = createUpstreamHandler({
    exchange: exchanges(base),
    address: (_request, path) => ({ url: new URL(path, base), headers: {} }),
    usageStatus: 404,
    wholeBodies: true,
  });
  return async (request) => {
    const reply = await play(request);
    const record = records.get(request);
    if (record) record.answered = true;
    return reply;
  };
}

function recordOf({ method, target, headers, model, route }: GatewayRequest, bytes: Buffer): Received {
  const body = parsed(bytes.toString('utf8'));
  const named = isObject(body) && typeof body['model'] === 'string' ? body['model'] : undefined;
  const path = target.split('?')[0] ?? '';
  // A list of models is answered without a model.
  const answered = route !== undefined && route.handle === undefined;
  return { method, path, headers, body, prompt: undefined, model: model ?? named, answered };
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
  const own = { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEY: gateway.key };
  return { ...Object.fromEntries(removed), ...models, ...own, ...variables };
}
