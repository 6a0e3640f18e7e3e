import { deviation } from './deviation.ts';

const text = ['text', 'hi', '--retries', '0'];
const chat = ['chat', 'hi', '--retries', '0'];

deviation('a relay answers the content path with the shape of a third format (deviation 16)', {
  argv: text,
  reply: {
    status: 401,
    body: '{"error":{"message":"Invalid token (request id: 2025abc)","type":"new_api_error","param":"","code":"invalid_api_key"}}',
  },
  code: 3,
  document: { error: { class: 'auth', status: 401, requestId: '2025abc', sent: 'yes', billed: 'no' } },
});

deviation('and the messages path too, with a code that is a number (deviation 16)', {
  argv: chat,
  reply: { status: 400, body: '{"error":{"message":"bad","type":"invalid_request_error","param":null,"code":400}}' },
  code: 4,
  stderr: 'the gateway answered 400 (invalid_request_error): bad',
});

deviation('a foreign outer type is read through (deviation 17)', {
  argv: chat,
  reply: { status: 500, body: '{"type":"one_hub_error","error":{"type":"system_error","message":"no channel"}}' },
  code: 6,
  stderr: 'the gateway answered 500 (system_error): no channel',
});

deviation('`success: false` with a message is an error, also with status 200 (deviation 17)', {
  argv: text,
  reply: '{"success":false,"message":"no channel is left"}',
  code: 6,
  stderr: 'the gateway answered 200 with an error: no channel is left',
});

deviation('`detail` and a list of details are told (deviation 17)', {
  argv: text,
  reply: { status: 422, body: '{"detail":[{"loc":["body","contents"],"msg":"field required","type":"missing"}]}' },
  code: 4,
  stderr: 'body.contents: field required',
});

deviation('`error` that is a text is the message (deviation 17)', {
  argv: text,
  reply: { status: 403, body: '{"error":"Forbidden by policy"}' },
  code: 3,
  stderr: 'Forbidden by policy',
});

deviation('a message that is JSON itself is unwrapped (deviation 18)', {
  argv: text,
  reply: {
    status: 400,
    body: String.raw`{"error":{"message":"{\"error\":{\"message\":\"{\\\"error\\\":{\\\"code\\\":400,\\\"message\\\":\\\"API key not valid. Please pass a valid API key.\\\",\\\"status\\\":\\\"INVALID_ARGUMENT\\\",\\\"details\\\":[{\\\"@type\\\":\\\"type.googleapis.com/google.rpc.ErrorInfo\\\",\\\"reason\\\":\\\"API_KEY_INVALID\\\"}]}}\",\"code\":400,\"status\":\"Bad Request\"}}","code":400}}`,
  },
  code: 3,
  stderr: 'API key not valid. Please pass a valid API key.',
});

deviation('a message in the local language is shown, and 503 for an unknown model has a hint (deviation 21)', {
  argv: text,
  reply: {
    status: 503,
    body: '{"error":{"message":"当前分组 default 下对于模型 m 无可用渠道 (request id: 20250101)","type":"new_api_error","code":"model_not_found"}}',
  },
  code: 6,
  document: {
    error: { class: 'gateway', status: 503, requestId: '20250101', billed: 'no' },
  },
  stderr: '当前分组 default 下对于模型 m 无可用渠道',
});

deviation('of an HTML page the title is told (deviation 39)', {
  argv: text,
  reply: {
    status: 502,
    headers: { 'content-type': 'text/html' },
    body: '<!DOCTYPE html>\n<html><head>\n<title>api.example.com | 502: Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>',
  },
  code: 6,
  stderr: 'api.example.com | 502: Bad gateway',
});

deviation('an HTML page with status 200 is a bad reply (deviation 39)', {
  argv: chat,
  reply: { headers: { 'content-type': 'text/html' }, body: '<html><title>Welcome</title></html>' },
  code: 9,
  stderr: 'Welcome',
});

deviation('JSON under the type of a stream is read by its content (deviation 40)', {
  argv: text,
  reply: {
    status: 404,
    headers: { 'content-type': 'text/event-stream' },
    body: '{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}',
  },
  code: 4,
  stderr: 'the gateway answered 404 (NOT_FOUND): models/x is not found',
});

deviation('an error in an event under the type of JSON is read by its content (deviation 40)', {
  argv: chat,
  reply: {
    status: 400,
    body: 'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"no"}}\n\n',
  },
  code: 4,
  stderr: '(invalid_request_error): no',
});

deviation('a 400 says in its words alone that the key is wrong (deviation 46)', {
  argv: text,
  reply: { status: 400, body: '{"error":{"message":"API key not valid. Please pass a valid API key."}}' },
  code: 3,
  stderr: 'check the key (environment GATEWAY_API_KEY)',
});

deviation('a 400 names the header that is missing (deviation 46)', {
  argv: chat,
  reply: {
    status: 400,
    body: '{"type":"error","error":{"type":"invalid_request_error","message":"anthropic-version: header is required"}}',
  },
  code: 4,
  stderr: '--header-names vendors',
});
