import type { FakeRequest } from '../fake-servers/start.ts';
import { keys, type VendorName } from './vendors.ts';

/** What each service is asked in, and what its fake server says. */
export const services = {
  gemini: { format: 'content', words: 'Hello from Gemini.\n', using: 'Google Gemini', model: 'gemini-3.8-flash' },
  anthropic: { format: 'messages', words: 'Hello from Claude.\n', using: 'Anthropic', model: 'claude-sonnet-5-5' },
  openai: { format: 'responses', words: 'Hello from GPT.\n', using: 'OpenAI', model: 'gpt-6-luna' },
  openrouter: {
    format: 'completions',
    words: 'Hello from OpenRouter.\n',
    using: 'OpenRouter',
    model: '~google/gemini-flash-latest',
  },
  ollama: { format: 'completions', words: 'Hello from Llama.\n', using: undefined, model: 'llama3.2' },
} as const;

/** The default model for pictures of each service that has one. */
export const imageModels = {
  gemini: 'gemini-nano-banana-2.1',
  openai: 'gpt-image-2.6-flare',
  openrouter: 'google/gemini-nano-banana-2.1',
} as const;

/** What the program says first: which service it took, because of which variable. */
export function using(name: VendorName): string {
  if (name === 'ollama') return '';
  return `using ${services[name].using}, ${services[name].model} (${Object.keys(keys[name]).join()})\n`;
}

/** The method, the path and the body that the default model of a service is asked with. */
export function asked(name: VendorName, task: object, { streamed = false, isChat = false } = {}): [string, unknown] {
  const { format, model, words } = services[name];
  const body = withAnswer(task, words.trimEnd());
  if (format === 'content') {
    // Google is asked to keep nothing.
    const kept = { ...body, store: false };
    return [`POST /v1beta/models/${model}:${streamed ? 'streamGenerateContent' : 'generateContent'}`, kept];
  }
  const stream = streamed && { stream: true };
  if (format === 'messages') return ['POST /v1/messages', { model, max_tokens: 4096, ...body, ...stream }];
  if (format === 'responses') {
    // The thinking of a conversation comes in a form that can go back.
    const include = isChat && { include: ['reasoning.encrypted_content'] };
    return ['POST /v1/responses', { model, store: false, ...include, ...body, ...stream }];
  }
  const usage = streamed && { stream_options: { include_usage: true } };
  const prefix = name === 'openrouter' ? '/api' : '';
  return [`POST ${prefix}/v1/chat/completions`, { model, ...body, ...stream, ...usage }];
}

/** Puts what the service said before into a body that several services have. */
function withAnswer(body: object, text: string): object {
  return JSON.parse(JSON.stringify(body).replace('ANSWER', text)) as object;
}

/** A request as `asked` has it. */
export function received({ method, path, body }: FakeRequest): [string, unknown] {
  return [`${method} ${path}`, body === '' ? undefined : JSON.parse(body)];
}

/** A form as its fields: of a file its name and type; of several files a list. */
export function receivedForm(request: FakeRequest): [string, unknown] {
  if (request.headers['content-type']?.startsWith('multipart/') !== true) return received(request);
  const fields = request.body.matchAll(
    /name="([^"]+)"(?:; filename="([^"]+)"\r\ncontent-type: (\S+))?\r\n\r\n([^\r]*)/gi,
  );
  const form: Record<string, string | string[]> = {};
  for (const [, field = '', file, type, value = ''] of fields) {
    const said = file === undefined ? value : `${file} ${type}`;
    form[field] = field in form ? [form[field] ?? [], said].flat() : said;
  }
  return [`${request.method} ${request.path}`, form];
}

/** The headers of a request that hold a key, or the version that goes with it. */
export function keyHeaders(request: FakeRequest | undefined): Record<string, string> {
  const names = new Set(['authorization', 'x-goog-api-key', 'x-api-key', 'anthropic-version']);
  return Object.fromEntries(Object.entries(request?.headers ?? {}).filter(([name]) => names.has(name)));
}
