import { pixel, rome } from './completions.ts';
import { type Amend, startFakeServer, type FakeServer, type FakeReply, type FakeRequest } from './start.ts';

/** What the fake server knows. */
export interface GeminiOptions {
  /** The only key that it takes (default `gemini-key-0123456789`). */
  key?: string;
  /** Models without `models/`; one with `image` or `banana` in its name draws. */
  models?: readonly string[];
  amend?: Amend;
}

/** The key that a fake server takes where a test names none. */
export const geminiKey = 'gemini-key-0123456789';
const knownModels = [
  'gemini-2.5-flash',
  'gemini-2.5-pro',
  'gemini-3.8-flash',
  'gemini-flash-latest',
  'gemini-nano-banana-2.1',
  'gemma-3-27b-it',
];

/**
 * A fake server of generativelanguage.googleapis.com: the headers that it takes, its paths, and its wordings. Where a wording was
 * reported in public, the report is beside it.
 */
export function startGemini({
  key = geminiKey,
  models = knownModels,
  amend = (reply) => reply,
}: GeminiOptions = {}): Promise<FakeServer> {
  return startFakeServer((request) => amend(answer(request, { key, models }), request));
}

type Known = Required<Omit<GeminiOptions, 'amend'>>;

function answer(request: FakeRequest, { key, models }: Known): FakeReply {
  const [, version = '', model, method] =
    /^\/(v1(?:beta)?)\/models(?:\/([^/:]+)(?::(\w+))?)?$/.exec(request.path) ?? [];
  const isCall = request.method === 'POST' && method !== undefined;
  if (version === '' || !(isCall || (request.method === 'GET' && method === undefined))) return notFoundPage(request);
  const refusal = refuse(request, key, method ?? 'listModels');
  if (refusal) return error(refusal, inList(request, method));
  if (model === undefined) return listModels(request.query, models);
  if (!models.includes(model))
    return error(unknownModel(model, version, method ?? 'getModel'), inList(request, method));
  if (method === undefined) return json(200, describe(model));
  if (model.startsWith('gemma') && request.body.includes('"systemInstruction"'))
    return error(noInstruction(model), inList(request, method));
  if (method === 'countTokens') return json(200, { totalTokens: 2, promptTokensDetails: [tokens(2)] });
  if (method === 'generateContent') return json(200, reply(model, [partOf(model, request)]));
  return method === 'streamGenerateContent' ? stream(request, model) : notFoundPage(request);
}

interface GoogleError {
  code: number;
  message: string;
  status: string;
  details?: object[];
}

/** The key: `x-goog-api-key`, or `?key=`. An OAuth token beside it counts first. */
function refuse({ headers, query }: FakeRequest, key: string, method: string): GoogleError | undefined {
  if (/^bearer /i.test(headers['authorization'] ?? '')) return notAToken(method);
  const shown = headers['x-goog-api-key'] ?? query.get('key') ?? '';
  if (shown === '') return noKey;
  return shown === key ? undefined : wrongKey;
}

/** github.com/PublicAffairs/openai-gemini/issues/92: neither a key nor a token, which is 403 and not 401. */
const noKey: GoogleError = {
  code: 403,
  message:
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  status: 'PERMISSION_DENIED',
};

/** github.com/continuedev/continue/issues/8516: a wrong key, which is 400. */
const wrongKey: GoogleError = {
  code: 400,
  message: 'API key not valid. Please pass a valid API key.',
  status: 'INVALID_ARGUMENT',
  details: [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
      metadata: { service: 'generativelanguage.googleapis.com' },
    },
    {
      '@type': 'type.googleapis.com/google.rpc.LocalizedMessage',
      locale: 'en-US',
      message: 'API key not valid. Please pass a valid API key.',
    },
  ],
};

/** github.com/musistudio/claude-code-router/issues/93: an API key as a bearer token, also beside `x-goog-api-key`. */
function notAToken(method: string): GoogleError {
  const rpc = `${method.charAt(0).toUpperCase()}${method.slice(1)}`;
  const rpcService = rpc.endsWith('Content') ? 'GenerativeService' : 'ModelService';
  return {
    code: 401,
    message:
      'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.',
    status: 'UNAUTHENTICATED',
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'ACCESS_TOKEN_TYPE_UNSUPPORTED',
        metadata: {
          service: 'generativelanguage.googleapis.com',
          method: `google.ai.generativelanguage.v1beta.${rpcService}.${rpc}`,
        },
      },
    ],
  };
}

/** github.com/google/adk-python/issues/200; with countTokens: github.com/google-gemini/gemini-cli/issues/9952. */
function unknownModel(model: string, version: string, method: string): GoogleError {
  const message = `models/${model} is not found for API version ${version}, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods.`;
  return { code: 404, message, status: 'NOT_FOUND' };
}

/** github.com/0xPlaygrounds/rig/issues/788. */
function noInstruction(model: string): GoogleError {
  const message = `Developer instruction is not enabled for models/${model}`;
  return { code: 400, message, status: 'INVALID_ARGUMENT' };
}

/** github.com/continuedev/continue/issues/8516: errors of a stream without `alt=sse` come in a list. */
function inList({ query }: FakeRequest, method: string | undefined): boolean {
  return method === 'streamGenerateContent' && query.get('alt') !== 'sse';
}

function error(details: GoogleError, listed: boolean): FakeReply {
  const body = { error: details };
  return json(details.code, listed ? [body] : body);
}

/** ai.google.dev/api/models: pages of 50 unless `pageSize` says so, 1000 at most. */
function listModels(query: URLSearchParams, models: readonly string[]): FakeReply {
  const size = Math.min(Number(query.get('pageSize') ?? 50) || 50, 1000);
  const start = Number(query.get('pageToken') ?? 0);
  const next = start + size < models.length ? { nextPageToken: String(start + size) } : {};
  return json(200, { models: models.slice(start, start + size).map(describe), ...next });
}

function describe(model: string): object {
  return {
    name: `models/${model}`,
    version: '001',
    displayName: titleOf(model),
    description: `Stand-in of ${model}`,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent', 'countTokens', 'createCachedContent', 'batchGenerateContent'],
    temperature: 1,
    topP: 0.95,
    topK: 64,
    maxTemperature: 2,
  };
}

function titleOf(model: string): string {
  return model.replaceAll('-', ' ').replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

const text = { text: 'Hello from Gemini.' };
const picture = { inlineData: { mimeType: 'image/png', data: pixel } };

/** A tool is called until its result is there. */
function partOf(model: string, { body }: FakeRequest): object {
  if (/image|banana/.test(model)) return picture;
  const asked = JSON.parse(body) as {
    contents?: readonly object[];
    tools?: readonly { functionDeclarations?: readonly { name: string }[] }[];
    generationConfig?: { responseMimeType?: string };
  };
  const isAnswered = JSON.stringify(asked.contents?.at(-1) ?? '').includes('"functionResponse"');
  const tool = isAnswered ? undefined : asked.tools?.[0]?.functionDeclarations?.[0];
  if (tool) return { functionCall: { name: tool.name, args: { city: 'Rome' } }, thoughtSignature: 'EpYCCpMC' };
  return asked.generationConfig?.responseMimeType === 'application/json' ? { text: rome } : text;
}

function tokens(tokenCount: number): object {
  return { modality: 'TEXT', tokenCount };
}

function reply(modelVersion: string, parts: readonly object[]): object {
  const usage = { promptTokenCount: 2, candidatesTokenCount: 5, totalTokenCount: 7, promptTokensDetails: [tokens(2)] };
  return {
    candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: usage,
    modelVersion,
    responseId: 'kP5aaJ2xLsK2nsEPz6mG0A4',
  };
}

/** Events end with CRLF; without `alt=sse` the same pieces are one JSON list. */
function stream(request: FakeRequest, model: string): FakeReply {
  const { query } = request;
  const usageMetadata = { promptTokenCount: 2, totalTokenCount: 2, promptTokensDetails: [tokens(2)] };
  const first = {
    candidates: [{ content: { parts: [{ text: 'Hello ' }], role: 'model' }, index: 0 }],
    usageMetadata,
    modelVersion: model,
    responseId: 'kP5aaJ2xLsK2nsEPz6mG0A4',
  };
  const part = partOf(model, request);
  const pieces = part === text ? [first, reply(model, [{ text: 'from Gemini.' }])] : [reply(model, [part])];
  if (query.get('alt') !== 'sse') return json(200, pieces);
  const body = pieces.map((piece) => `data: ${JSON.stringify(piece)}\r\n\r\n`);
  return { status: 200, headers: { ...commonHeaders, 'content-type': 'text/event-stream' }, body };
}

const commonHeaders = {
  vary: 'Origin, X-Origin, Referer',
  server: 'scaffolding on HTTPServer2',
  'x-xss-protection': '0',
  'x-frame-options': 'SAMEORIGIN',
  'x-content-type-options': 'nosniff',
  'server-timing': 'gfet4t7; dur=412',
};

/** The service indents its JSON. */
function json(status: number, body: object): FakeReply {
  const headers = { ...commonHeaders, 'content-type': 'application/json; charset=UTF-8' };
  return { status, headers, body: `${JSON.stringify(body, null, 2)}\n` };
}

/** An unknown path gets Google's own page, in the words that every Google host has. */
function notFoundPage({ path }: FakeRequest): FakeReply {
  const body = `<!DOCTYPE html>
<html lang=en>
  <meta charset=utf-8>
  <meta name=viewport content="initial-scale=1, minimum-scale=1, width=device-width">
  <title>Error 404 (Not Found)!!1</title>
  <style>
    *{margin:0;padding:0}html,code{font:15px/22px arial,sans-serif}html{background:#fff;color:#222;padding:15px}
  </style>
  <a href=//www.google.com/><span id=logo aria-label=Google></span></a>
  <p><b>404.</b> <ins>That’s an error.</ins>
  <p>The requested URL <code>${path}</code> was not found on this server.  <ins>That’s all we know.</ins>
`;
  const headers = { 'content-type': 'text/html; charset=UTF-8', 'referrer-policy': 'no-referrer' };
  return { status: 404, headers, body };
}
