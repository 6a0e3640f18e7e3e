import { expect } from 'vitest';
import { test } from '../helpers/with-server.ts';
import { deviation, png } from './deviation.ts';

const text = ['text', 'hi'];
const chat = ['chat', 'hi', '--no-stream'];

deviation('snake case is read at every level (deviation 6)', {
  argv: ['image', 'gen', 'a dot'],
  reply: `{"candidates":[{"content":{"parts":[{"text":"Here"},{"inline_data":{"mime_type":"image/png","data":"${png}"}},{"function_call":{"name":"f","args":{"a_b":1}}}],"role":"model"},"finish_reason":"STOP","finish_message":"done","safety_ratings":[]}],"usage_metadata":{"prompt_token_count":3,"candidates_token_count":2,"total_token_count":5},"model_version":"m-001","response_id":"r-1"}`,
  code: 0,
  document: {
    text: 'Here',
    candidates: [{ finishReason: 'STOP', finishMessage: 'done', safetyRatings: [] }],
    images: [{ path: 'image-1.png', mimeType: 'image/png' }],
    toolCalls: [{ name: 'f', input: { a_b: 1 } }],
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    modelVersion: 'm-001',
    responseId: 'r-1',
  },
  files: { 'image-1.png': png },
});

deviation('a block reason in snake case is told (deviation 6)', {
  argv: text,
  reply: '{"prompt_feedback":{"block_reason":"SAFETY","block_reason_message":"not this"}}',
  code: 10,
  stderr: 'blockReason SAFETY, not this',
});

deviation('nulls everywhere are absent fields (deviation 9)', {
  argv: ['image', 'gen', 'a dot'],
  reply: `{"candidates":[{"content":{"parts":[{"text":"Hi","inlineData":null,"thought":null,"functionCall":null},{"text":null,"inlineData":{"mimeType":null,"displayName":null,"data":"${png}"}},null],"role":null},"finishReason":"STOP","finishMessage":null,"index":null,"safetyRatings":null,"citationMetadata":null}],"promptFeedback":null,"usageMetadata":{"promptTokenCount":3,"thoughtsTokenCount":null},"modelVersion":null,"responseId":null,"error":null}`,
  code: 0,
  document: { text: 'Hi', stopReason: 'STOP', images: [{ path: 'image-1.png' }], usage: { inputTokens: 3 } },
  files: { 'image-1.png': png },
});

deviation('an error with status 200 ends with the code of what it says (deviation 15)', {
  argv: text,
  reply: '{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}',
  code: 5,
  document: { ok: false, error: { class: 'quota', status: 429, sent: 'yes', billed: 'no' } },
});

deviation('so it does in the messages format (deviation 15)', {
  argv: chat,
  reply: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}',
  code: 6,
  document: { error: { class: 'gateway', status: 529, requestId: 'req_1', billed: 'no' } },
});

deviation('an empty body with status 200 is a bad reply (deviation 15)', {
  argv: text,
  reply: '',
  code: 9,
  document: { error: { class: 'bad-reply', billed: 'yes', message: 'the reply is empty' } },
});

deviation('a foreign body with status 200 is a bad reply (deviation 15)', {
  argv: chat,
  reply: '{"status":"ok"}',
  code: 9,
  document: { error: { class: 'bad-reply' } },
});

const wrong = ['{malformed json: <<<chaos>>>}', "{'a':1", '{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],<br>'];
const beginnings = [
  '{"candidates":[{"content":{"parts":[{"text":"Hi',
  '{"candidates":[{"content":{"parts":[{"text":"Hi"}',
];
for (const [bodies, code] of [
  [wrong, 9],
  [beginnings, 11],
] as const) {
  for (const body of bodies) {
    const kept = body.includes('Hi') ? 'Hi\n' : '';
    test(`${body} is exit ${code}, and what came is kept`, async ({ server, cli }) => {
      server.reply({ body });
      const ran = await cli(text);
      expect([ran.code, ran.stdout]).toEqual([code, kept]);
      const asMessage = body.replace('"candidates":[{"content":{"parts":[', '"type":"message","content":[');
      server.reply({ body: asMessage.replace('"}]}}]', '"}]').replace('{"text"', '{"type":"text","text"') });
      const message = await cli(chat);
      expect([message.code, message.stdout]).toEqual([code, kept]);
    });
  }
}

deviation('a reply in an array of pieces is joined (deviation 19)', {
  argv: text,
  reply:
    '[{"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"}}]}\n,\n{"candidates":[{"content":{"parts":[{"text":"lo"}]},"finishReason":"STOP"}],"usageMetadata":{"totalTokenCount":5}}]',
  code: 0,
  document: { text: 'Hello', stopReason: 'STOP', usage: { totalTokens: 5 } },
});

deviation('an error in an array is told (deviation 19)', {
  argv: text,
  reply: {
    status: 404,
    body: '[{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}]',
  },
  code: 4,
  stderr: 'the gateway answered 404 (NOT_FOUND): models/x is not found',
});

deviation('a data URL that spans the pieces of an array is saved (deviation 19)', {
  argv: text,
  reply: `[{"candidates":[{"content":{"parts":[{"text":"Hi ![x](data:image/png;base64,${png.slice(0, 50)}"}]}}]},{"candidates":[{"content":{"parts":[{"text":"${png.slice(50)})"}]},"finishReason":"STOP"}]}]`,
  code: 0,
  document: { text: 'Hi ', images: [{ path: 'image-1.png' }] },
  files: { 'image-1.png': png },
});

deviation('a reply inside `response` is unwrapped (deviation 20)', {
  argv: text,
  reply: '{"response":{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]},"traceId":"x"}',
  code: 0,
  stdout: 'Hi\n',
});

deviation('a refusal in place of an image is exit 10 and shown (deviation 36)', {
  argv: chat,
  reply:
    '{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"no faces"}}',
  code: 10,
  document: { stopReason: 'refusal', error: { class: 'no-result', billed: 'yes' } },
  stderr: 'no faces',
});

deviation('a finish reason of no list is shown when no image came (deviation 36)', {
  argv: ['image', 'gen', 'a dot'],
  reply:
    '{"candidates":[{"content":{},"finishReason":"refusal","finishMessage":"no faces","safetyRatings":[{"category":"HARM_CATEGORY_X","probability":"HIGH","blocked":true}]}]}',
  code: 10,
  stderr: 'no image came: finishReason refusal, no faces, HARM_CATEGORY_X HIGH (blocked)',
});

deviation('a streamed content reply that nobody asked for is joined (deviation 37)', {
  argv: text,
  reply: {
    headers: { 'content-type': 'application/json' },
    body: 'data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}\r\n\r\ndata: {"candidates":[{"content":{"parts":[{"text":"lo"}]},"finishReason":"STOP"}]}\r\n\r\n',
  },
  code: 0,
  stdout: 'Hello\n',
});

deviation('a streamed content reply without a finish reason is cut (deviation 37)', {
  argv: text,
  reply: 'data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}\n\n',
  code: 11,
  stdout: 'Hel\n',
});

deviation('a streamed content reply without a candidate is cut', {
  argv: text,
  reply: 'data: {"usageMetadata":{"promptTokenCount":3}}\n\n',
  code: 11,
  stdout: '',
});

deviation('a stream for --no-stream is read as one (deviation 37)', {
  argv: chat,
  reply:
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[]}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  code: 0,
  stdout: 'Hi\n',
});

deviation('a JSON body for a stream is read as one (deviation 38)', {
  argv: ['chat', 'hi'],
  reply: {
    headers: { 'content-type': 'text/event-stream' },
    body: '\n {"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}',
  },
  code: 0,
  stdout: 'Hi\n',
});

deviation('a JSON error for a stream is told (deviation 38)', {
  argv: ['chat', 'hi', '--retries', '0'],
  reply: {
    status: 429,
    headers: { 'content-type': 'text/event-stream', 'x-should-retry': 'true' },
    body: '{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}',
  },
  code: 5,
  stderr: '(rate_limit_error): slow down',
});

deviation('text in thinking tags is text (deviation 41)', {
  argv: chat,
  reply:
    '{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"<thinking>hm</thinking>\\n\\nHi"}],"stop_reason":"end_turn"}',
  code: 0,
  stdout: '<thinking>hm</thinking>\n\nHi\n',
});

deviation('content that is a plain string is the text (deviation 43)', {
  argv: chat,
  reply: '{"id":"msg_1","role":"assistant","content":"Hi","stop_reason":"end_turn"}',
  code: 0,
  document: { text: 'Hi', role: 'assistant', complete: true },
});

const callPieces = [
  '{"name":"get_weather","willContinue":true}',
  '{"partialArgs":[{"jsonPath":"$.place.city","stringValue":"New ","willContinue":true}],"willContinue":true}',
  '{"partialArgs":[{"jsonPath":"$.place.city","stringValue":"York"},{"jsonPath":"$.days","numberValue":3}],"willContinue":true}',
  '{}',
];
const inEvents = (pieces: readonly string[]): string =>
  pieces.map((piece) => `data: {"candidates":[{"content":{"parts":[{"functionCall":${piece}}]}}]}\n\n`).join('') +
  'data: {"candidates":[{"finishReason":"STOP"}]}\n\n';

deviation('streamed arguments of a call are joined by path (deviation 44)', {
  argv: text,
  reply: inEvents(callPieces),
  code: 0,
  document: { complete: true, toolCalls: [{ name: 'get_weather', input: { place: { city: 'New York' }, days: 3 } }] },
});

deviation('streamed arguments that do not end are incomplete (deviation 44)', {
  argv: text,
  reply: inEvents(callPieces.slice(0, 2)),
  code: 11,
  document: {
    complete: false,
    toolCalls: [{ name: 'get_weather', input: { place: { city: 'New ' } } }],
    error: { class: 'incomplete', message: expect.stringContaining('the call get_weather is not whole') as string },
  },
});
