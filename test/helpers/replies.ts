import { dot, stream, wholeMessage } from './recorded-run.ts';
import { eventStream, messageEvents, textReply } from './with-server.ts';

/** A picture, as an inlineData part has it. */
export const png = { mimeType: 'image/png', data: dot };
/** A text with a picture in it. */
export const markdownPicture = `A dot: ![dot](data:image/png;base64,${dot}) and more.`;

/** A content reply with these parts. */
export function parts(list: readonly object[], more: object = {}): object {
  return textReply('', {
    candidates: [{ content: { role: 'model', parts: list }, finishReason: 'STOP', index: 0, ...more }],
  });
}

/** A streamed content reply. */
export function pieces(...list: readonly object[]): object {
  return stream(list.map((piece) => `data: ${JSON.stringify(piece)}\r\n\r\n`).join(''));
}

/** One event of it. */
export function piece(text: string, more: object = {}): object {
  return {
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    modelVersion: 'm-001',
    responseId: 'r-1',
  };
}

/** A streamed messages reply. */
export function events(...list: readonly object[]): object {
  return stream(eventStream(...list));
}

/** The events of an answer: its start, the rest of it, and that without the start of its block. */
export const [start = {}, ...rest] = messageEvents('Hel', 'lo');
export const [open = {}, ...tail] = rest;
const block = (index: number, content: object, ...deltas: readonly object[]) => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
/** Its last events. */
export const ends = (reason: string) => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
];
/** A block of thinking. */
export const thought = block(
  0,
  { type: 'thinking', thinking: '' },
  { type: 'thinking_delta', thinking: 'Hm.' },
  { type: 'signature_delta', signature: 'c2ln' },
);
/** A call, streamed in two pieces. */
export const toolUse = block(
  1,
  { type: 'tool_use', id: 't1', name: 'look', input: {} },
  { type: 'input_json_delta', partial_json: '{"city":' },
  { type: 'input_json_delta', partial_json: '"Rome"}' },
);
/** A call of the content format. */
export const call = { functionCall: { id: 'c1', name: 'look', args: { city: 'Rome', big: 1e21 } } };
/** A message that calls a tool. */
export const calls = wholeMessage({
  content: [
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 't1', name: 'look', input: { city: 'Rome' } },
  ],
  stop_reason: 'tool_use',
});
/** A message that the model refused. */
export const refusal = wholeMessage({
  content: [],
  stop_reason: 'refusal',
  stop_details: { type: 'refusal', category: 'bio' },
});
/** A prompt that was blocked. */
export const blocked = {
  promptFeedback: {
    blockReason: 'SAFETY',
    safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'HIGH', blocked: true }],
  },
  usageMetadata: { promptTokenCount: 3 },
};
/** Three candidates, of which one was stopped. */
export const several = textReply('', {
  candidates: [0, 1, 2].map((index) => ({
    content: { parts: [{ text: `answer ${index}` }] },
    finishReason: index === 2 ? 'SAFETY' : 'STOP',
    index,
  })),
});

function googleError(code: number, status: string, message: string, reason?: string): object {
  const details = reason && [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }];
  return { status: code, body: { error: { code, message, status, ...(details && { details }) } } };
}

function anthropicError(status: number, type: string, message: string): object {
  const body = { type: 'error', error: { type, message }, request_id: 'req_011' };
  return { status, headers: { 'request-id': 'req_011' }, body };
}

/** Error replies with the words of both vendors, and the command that gets them. */
export const refusals: readonly (readonly [string, object])[] = [
  ['text', googleError(400, 'INVALID_ARGUMENT', 'Invalid value at generation_config.temperature')],
  ['text', googleError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID')],
  ['text', googleError(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')],
  ['image gen', googleError(403, 'PERMISSION_DENIED', "Method doesn't allow unregistered callers.")],
  [
    'text',
    googleError(
      404,
      'NOT_FOUND',
      'models/m is not found for API version v1beta, or is not supported for generateContent.',
    ),
  ],
  [
    'image gen',
    googleError(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details.',
    ),
  ],
  ['text', googleError(500, 'INTERNAL', 'An internal error has occurred.')],
  ['text', googleError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.')],
  ['chat', anthropicError(400, 'invalid_request_error', 'max_tokens: Field required')],
  ['chat', anthropicError(400, 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API.')],
  ['chat', anthropicError(401, 'authentication_error', 'invalid x-api-key')],
  [
    'chat',
    anthropicError(403, 'permission_error', 'Your API key does not have permission to use the specified resource.'),
  ],
  ['chat', anthropicError(404, 'not_found_error', 'model: m')],
  ['chat', anthropicError(413, 'request_too_large', 'Request exceeds the maximum size')],
  ['chat', anthropicError(429, 'rate_limit_error', 'This request would exceed your rate limit.')],
  ['chat', anthropicError(500, 'api_error', 'Internal server error')],
  ['chat', anthropicError(529, 'overloaded_error', 'Overloaded')],
  ['text', { status: 502, headers: { 'content-type': 'text/html' }, body: '<html><h1>502 Bad Gateway</h1></html>' }],
  ['text', { status: 404, body: '' }],
];

/** A request that could not be right. */
export const badRequest = googleError(400, 'INVALID_ARGUMENT', 'no');
