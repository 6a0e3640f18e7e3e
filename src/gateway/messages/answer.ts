import type { JsonObject } from '../../json.ts';
import type { Draft } from '../models/task.ts';
import { countInput, draftAnswer } from '../models/text.ts';
import type { MessagesRequest } from './request.ts';

const stopReasons: Readonly<Record<Draft['ended'], string>> = {
  end: 'end_turn',
  'max-tokens': 'max_tokens',
  'stop-sequence': 'stop_sequence',
  call: 'tool_use',
};

/** The reply of a text model. `id` is what its ids are made from. */
export function messageReply(request: MessagesRequest, id: string): JsonObject {
  const { task } = request;
  const draft = draftAnswer(task);
  const output = draft.usage.thinking + draft.usage.answer;
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: task.model,
    content: contentBlocks(draft, request, id),
    stop_reason: stopReasons[draft.ended],
    stop_sequence: draft.stopSequence ?? null,
    stop_details: null,
    usage: {
      input_tokens: countInput(task),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: output,
      ...(task.thinking && { output_tokens_details: { thinking_tokens: draft.usage.thinking } }),
      service_tier: 'standard',
      inference_geo: 'not_available',
    },
  };
}

function contentBlocks(draft: Draft, { task, showThinking }: MessagesRequest, id: string): JsonObject[] {
  const blocks: JsonObject[] = [];
  if (task.thinking) {
    const signature = Buffer.from(`offline ${id}`).toString('base64');
    blocks.push({ type: 'thinking', thinking: showThinking ? draft.thinking : '', signature });
  }
  if (draft.text !== '') blocks.push({ type: 'text', text: draft.text });
  if (draft.call) blocks.push({ type: 'tool_use', id: `toolu_${id}`, name: draft.call.name, input: draft.call.input });
  return blocks;
}
