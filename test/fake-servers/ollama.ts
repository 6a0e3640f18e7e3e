import { type Asked, completionBody } from './completions.ts';
import { startFakeServer, type FakeServer, type FakeReply, type FakeRequest } from './start.ts';

const models = ['llama3.2:latest', 'gemma3:4b'];

/** A fake server of Ollama on this machine, which takes requests without a key. The reports are beside its wordings. */
export function startOllama(): Promise<FakeServer> {
  return startFakeServer(answer);
}

function answer({ method, path, body }: FakeRequest): FakeReply {
  if (method === 'GET' && path === '/v1/models') return json(200, { object: 'list', data: models.map(describe) });
  if (method !== 'POST' || path !== '/v1/chat/completions')
    return { status: 404, headers: { 'content-type': 'text/plain' }, body: '404 page not found' };
  const asked = JSON.parse(body) as Asked;
  const model = models.find((name) => name === asked.model || name === `${asked.model}:latest`);
  // github.com/ollama/ollama, openai/openai.go: NewError.
  if (model === undefined)
    return error(404, `model "${asked.model}" not found, try pulling it first`, 'not_found_error');
  // github.com/louisho5/picobot/issues/6.
  if (asked.tools && model === 'gemma3:4b')
    return error(400, 'registry.ollama.ai/library/gemma3:4b does not support tools', 'api_error');
  const reply = completionBody(asked, {
    id: 'chatcmpl-527',
    model: asked.model ?? '',
    text: 'Hello from Llama.',
    usage,
    more,
  });
  const type = asked.stream === true ? 'text/event-stream' : 'application/json';
  return { status: 200, headers: { 'content-type': type }, body: reply };
}

const more = { system_fingerprint: 'fp_ollama' };
const usage = { prompt_tokens: 8, completion_tokens: 5, total_tokens: 13 };

function describe(id: string): object {
  return { id, object: 'model', created: 1_757_000_000, owned_by: 'library' };
}

function error(status: number, message: string, type: string): FakeReply {
  return json(status, { error: { message, type, param: null, code: null } });
}

function json(status: number, body: object): FakeReply {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
