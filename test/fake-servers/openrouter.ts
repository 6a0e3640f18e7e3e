import { type Asked, completionBody, created, pixel } from './completions.ts';
import { type Amend, startFakeServer, type FakeServer, type FakeReply, type FakeRequest } from './start.ts';

/** The only key that the fake server takes. */
export const openRouterKey = 'sk-or-v1-0123456789abcdef';
const knownModels = ['~google/gemini-flash-latest', 'google/gemini-nano-banana-2.1', 'openai/gpt-6-luna'];

/** A fake server of openrouter.ai: its paths below `/api`, and its wordings. Where a wording was reported in public, the report is beside it. */
export function startOpenRouter({
  models = knownModels,
  amend = (reply) => reply,
}: { models?: readonly string[]; amend?: Amend } = {}): Promise<FakeServer> {
  return startFakeServer((request) => amend(answer(request, models), request));
}

function answer({ method, path, headers, body }: FakeRequest, models: readonly string[]): FakeReply {
  if (method === 'GET' && path === '/api/v1/models') return json(200, { data: models.map(describe) });
  const isImages = path === '/api/v1/images';
  if (method !== 'POST' || !(isImages || path === '/api/v1/chat/completions')) return error(404, 'Not Found');
  // github.com/continuedev/continue/issues/10532, and github.com/Gitlawb/openclaude/issues/967.
  if (headers['authorization'] === undefined) return error(401, 'No cookie auth credentials found');
  if (headers['authorization'] !== `Bearer ${openRouterKey}`) return error(401, 'User not found.');
  const asked = JSON.parse(body) as Asked;
  const model = asked.model ?? '';
  // github.com/maxnowack/anthropic-proxy/issues/4.
  if (!models.includes(model)) return error(400, `${model} is not a valid model ID`);
  if (model === 'openai/gpt-6-luna' && asked['temperature'] !== undefined) return upstreamError();
  // npm @openrouter/sdk 1.3.19, models/imagegenerationresponse.d.ts.
  if (isImages) return json(200, { created, data: [{ b64_json: pixel, media_type: 'image/png' }], usage: drawn });
  // The reply names the model behind an alias.
  const answered = model.startsWith('~') ? 'google/gemini-3.8-flash' : model;
  const reply = completionBody(
    asked,
    { id, model: answered, text: 'Hello from OpenRouter.', usage, more },
    { reasoning: null },
  );
  const type = asked.stream === true ? 'text/event-stream' : 'application/json';
  return {
    status: 200,
    headers: { ...common, 'content-type': type },
    body: asked.stream === true ? [': OPENROUTER PROCESSING\n\n', ...reply] : reply,
  };
}

const id = 'gen-1757000000-kP5aaJ2xLsK2nsEPz6mG';
const more = { provider: 'OpenAI' };
const usage = { prompt_tokens: 8, completion_tokens: 5, total_tokens: 13, cost: 0.000_012 };
const drawn = {
  prompt_tokens: 4,
  completion_tokens: 1120,
  total_tokens: 1124,
  completion_tokens_details: { image_tokens: 1120 },
  cost: 0.067,
};
const common = { server: 'cloudflare', 'cf-ray': '8678603add5505df-IAD' };

function describe(model: string): object {
  return { id: model, canonical_slug: model, name: model, created: 1_757_000_000, context_length: 400_000 };
}

/** What an upstream refused is in `metadata.raw`. */
function upstreamError(): FakeReply {
  const refused = {
    message:
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    type: 'invalid_request_error',
    param: 'temperature',
    code: 'unsupported_value',
  };
  const metadata = { raw: JSON.stringify({ error: refused }), provider_name: 'OpenAI' };
  return json(400, { error: { message: 'Provider returned error', code: 400, metadata }, user_id: 'user_2x7D' });
}

function error(code: number, message: string): FakeReply {
  return json(code, { error: { message, code } });
}

function json(status: number, body: object): FakeReply {
  return { status, headers: { ...common, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
