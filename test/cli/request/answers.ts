import type { FormatName } from '../../../src/library/formats/types.ts';
import { eventStream, messageEvents } from '../../helpers/with-server.ts';

/** One answer, as each format has it. */
export const replies: Readonly<Record<FormatName, object>> = {
  content: {
    candidates: [
      { content: { parts: [{ text: '{"a":1}', thoughtSignature: 'sig' }], role: 'model' }, finishReason: 'STOP' },
    ],
  },
  messages: {
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text', text: '{"a":1}' },
    ],
    stop_reason: 'end_turn',
  },
  completions: {
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: '{"a":1}', reasoning_content: 'hm' },
        finish_reason: 'stop',
      },
    ],
  },
  responses: {
    object: 'response',
    status: 'completed',
    output: [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'sealed' },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        content: [{ type: 'output_text', text: '{"a":1}', annotations: [] }],
      },
    ],
  },
};

/** An answer in two pieces. */
export const streams: Readonly<Record<FormatName, string>> = {
  content: sse(
    '{"candidates":[{"content":{"role":"model","parts":[{"text":"Hel"}]},"index":0}],"responseId":"r","modelVersion":"m"}',
    '{"candidates":[{"content":{"parts":[{"text":"lo"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2,"totalTokenCount":6}}',
  ),
  messages: eventStream(...messageEvents('Hel', 'lo')),
  completions: sse(
    '{"id":"r","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}',
    '{"id":"r","model":"m","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}',
    '{"id":"r","model":"m","choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}',
    '[DONE]',
  ),
  responses: sse(
    '{"type":"response.created","response":{"id":"r","model":"m","status":"in_progress","output":[]}}',
    '{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","role":"assistant","content":[]}}',
    '{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"Hel"}',
    '{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"lo"}',
    '{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[{"type":"message","id":"i","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[]}]}],"usage":{"input_tokens":4,"output_tokens":2,"total_tokens":6}}}',
  ),
};

function sse(...data: string[]): string {
  return data.map((line) => `data: ${line}\n\n`).join('');
}
