import { Buffer } from 'node:buffer';
import { deviation } from './deviation.ts';

const chat = ['chat', 'hi'];
const start =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-001","content":[],"stop_reason":null,"usage":{"input_tokens":4,"output_tokens":1}}}\n\n';
const block =
  'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n';
const delta = (text: string) =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
const close = 'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n';
const stop =
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}\n\n';
const end = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
const whole = start + block + delta('Hello') + close + stop + end;
const said = { text: 'Hello', complete: true, responseId: 'msg_1', stopReason: 'end_turn' };
const hello = { ...said, usage: { inputTokens: 4, outputTokens: 2, totalTokens: 6 } };
const cut = { complete: false, text: 'Hello' };

deviation('a stream without `event:` lines (deviation 22)', {
  argv: chat,
  reply: whole.replaceAll(/event: .*\n/g, ''),
  code: 0,
  document: hello,
});

deviation('`data: [DONE]` in place of message_stop (deviation 23)', {
  argv: chat,
  reply: `${start}${block}${delta('Hello')}${close}${stop}data: [DONE]\n\n`,
  code: 0,
  document: hello,
});

deviation('`event: done` behind message_stop (deviation 23)', {
  argv: chat,
  reply: `${whole}event: done\ndata: [DONE]\n\n`,
  code: 0,
  document: hello,
});

deviation('`[DONE]` without a stop reason is no end (deviation 23)', {
  argv: chat,
  reply: `${start}${block}${delta('Hello')}data: [DONE]\n\n`,
  code: 11,
  document: cut,
});

deviation('no message_stop, but a stop reason (deviation 24)', {
  argv: chat,
  reply: start + block + delta('Hello') + close + stop,
  code: 0,
  document: hello,
});

deviation('neither message_stop nor a stop reason is a cut (deviation 24)', {
  argv: chat,
  reply: start + block + delta('Hello') + close,
  code: 11,
  document: { ...cut, error: { class: 'incomplete', billed: 'yes' } },
});

deviation('an error event in the middle keeps what was printed (deviation 25)', {
  argv: chat,
  reply: `${start}${block}${delta('Hello')}event: error\ndata: {"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}\n\n`,
  code: 6,
  stdout: 'Hello\n',
  stderr: '(overloaded_error): Overloaded',
});

deviation('an error injected into an open event is a bad stream, and keeps what came (deviation 26)', {
  argv: chat,
  reply: `${start}${block}${delta('Hello')}event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_deltadata: {"type":"error","error":{"type":"api_error","message":"m"}}\n\n`,
  code: 9,
  stdout: 'Hello\n',
  stderr: 'an event of the stream is not JSON',
});

deviation('CRLF (deviation 27)', { argv: chat, reply: whole.replaceAll('\n', '\r\n'), code: 0, document: hello });

deviation('CR alone (deviation 27)', { argv: chat, reply: whole.replaceAll('\n', '\r'), code: 0, document: hello });

deviation('no blank behind the colon (deviation 28)', {
  argv: chat,
  reply: whole.replaceAll(/^(event|data): /gm, '$1:'),
  code: 0,
  document: hello,
});

deviation('comments, also re-wrapped as data (deviation 29)', {
  argv: chat,
  reply: `: PING\n\n:\n\n${start}: OPENROUTER PROCESSING\n\ndata: : OPENROUTER PROCESSING\n\n${block}${delta('Hello')}${close}${stop}${end}`,
  code: 0,
  document: hello,
});

deviation('pings without data or type (deviation 30)', {
  argv: chat,
  reply: `${start}event: ping\ndata:\n\nevent: ping\ndata: {}\n\ndata: {}\n\nevent: ping\ndata: {"type": "ping"}\n\n${block}${delta('Hello')}${close}${stop}${end}`,
  code: 0,
  document: hello,
});

deviation('a byte order mark in front of a stream (deviation 31)', {
  argv: chat,
  reply: `\ufeff${whole}`,
  code: 0,
  document: hello,
});

deviation('a byte order mark in front of JSON (deviation 31)', {
  argv: ['text', 'hi'],
  reply: '\ufeff{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}',
  code: 0,
  stdout: 'Hi\n',
});

const emoji = Buffer.from(start + block + delta('Zoë 🦅') + close + stop + end);
const inside = emoji.indexOf('🦅') + 2;

deviation('a character that is split between chunks (deviation 32)', {
  argv: chat,
  reply: { chunks: [emoji.subarray(0, inside - 4), emoji.subarray(inside - 4, inside), emoji.subarray(inside)] },
  code: 0,
  stdout: 'Zoë 🦅\n',
});

deviation('a last event without its blank line (deviation 33)', {
  argv: chat,
  reply: whole.trimEnd(),
  code: 0,
  document: hello,
});

deviation('a last event that is cut says nothing (deviation 33)', {
  argv: chat,
  reply: `${start}${block}${delta('Hello')}event: message_delta\ndata: {"type":"message_delta","delta":{"stop_rea`,
  code: 11,
  document: cut,
});

deviation('a last event that is no beginning of JSON is a bad stream, and keeps what came (deviation 33)', {
  argv: chat,
  reply: `${start}${block}${delta('Hello')}event: message_delta\ndata: {"type":"message_delta","delta":<html>`,
  code: 9,
  document: cut,
});

deviation('a last `[DONE]` that is cut says nothing (deviation 33)', {
  argv: chat,
  reply: `${start}${block}${delta('Hello')}${close}${stop}data: [DO`,
  code: 0,
  document: hello,
});

const broken = Buffer.from(start + block + delta('Hello') + delta('b\u0000d') + close + stop + end);

deviation('an event that is not UTF-8 is a bad stream, and keeps what came (deviation 32)', {
  argv: chat,
  reply: { chunks: [broken.map((byte) => (byte === 0 ? 0xff : byte))] },
  code: 9,
  stdout: 'Hello\n',
  stderr: 'an event of the stream is not UTF-8',
});

deviation('a delta without a type is a bad stream, and keeps what came (deviation 30)', {
  argv: chat,
  reply: start + block + delta('Hello') + delta('lost').replace('"type":"text_delta",', '') + close + stop + end,
  code: 9,
  document: { complete: false, text: 'Hello', error: { message: 'a delta of the stream has no type' } },
});

deviation('no usage at all (deviation 34)', {
  argv: chat,
  reply: whole.replace(/,"usage":\{[^}]*\}/, '').replace(/,"usage":\{[^}]*\}/, ''),
  code: 0,
  document: said,
});

deviation('usage that is 0 at the start, and null later (deviation 34)', {
  argv: chat,
  reply: whole
    .replace('{"input_tokens":4,"output_tokens":1}', '{"input_tokens":0,"output_tokens":0}')
    .replace('{"output_tokens":2}', '{"input_tokens":4,"output_tokens":2,"cache_read_input_tokens":null}'),
  code: 0,
  document: hello,
});

deviation('message_start twice with one id is one message (deviation 35)', {
  argv: chat,
  reply: start + start + block + delta('Hello') + close + stop + end,
  code: 0,
  document: hello,
});

deviation('a second message spliced in is a bad stream; the first is kept (deviation 35)', {
  argv: chat,
  reply: `${start}${block}${delta('Hello')}${start.replace('msg_1', 'msg_2')}${block}${delta('Foreign')}${close}${stop}${end}`,
  code: 9,
  stdout: 'Hello\n',
  stderr: 'a second message (msg_2) begins inside the stream',
});

deviation('data lines that are padded with blanks (deviation 22)', {
  argv: chat,
  reply: whole.replaceAll('}\n\n', '}        \n\n').replaceAll('"text":"Hello"}}', '"text":"Hello"}      }'),
  code: 0,
  document: hello,
});

deviation('unknown events, blocks and deltas are passed over (deviation 30)', {
  argv: chat,
  reply: `${start}event: new_event\ndata: {"type":"new_event","x":[1]}\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":1,"content_block":{"type":"hologram","x":{"y":1}}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":1,"delta":{"type":"new_delta","x":1}}\n\nevent: content_block_stop\ndata: {"type":"content_block_stop","index":1}\n\n${block}${delta('Hello')}${close}${stop}${end}`,
  code: 0,
  document: hello,
});

const part = (type: string, more: object) =>
  `event: response.${type}\ndata: ${JSON.stringify({ type: `response.${type}`, item_id: 'msg_1', output_index: 0, ...more })}\n\n`;
const item = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
};

deviation('numbers of parts that are not those of the item (deviation 80)', {
  argv: ['text', 'hi', '--stream', '--format', 'responses'],
  reply:
    part('output_item.added', { item: { ...item, content: [] } }) +
    part('output_text.delta', { content_index: 1, delta: 'Hel' }) +
    part('output_text.delta', { content_index: 2, delta: 'lo' }) +
    part('output_text.done', { content_index: 3, text: 'Hello' }) +
    part('output_item.done', { item }) +
    part('completed', { response: { id: 'r', object: 'response', status: 'completed', model: 'm', output: [item] } }),
  code: 0,
  stdout: 'Hello\n',
});
