import type { FormatName } from '../../../src/formats/types.ts';
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
};

function sse(...data: string[]): string {
  return data.map((line) => `data: ${line}\n\n`).join('');
}
