import type { JsonObject } from '../../json.ts';
import type { ModelRequest } from '../format.ts';
import { type Answer, type Draft, draftText } from '../models/task.ts';

const stopReasons: Readonly<Record<Draft['ended'], string>> = {
  end: 'end_turn',
  'max-tokens': 'max_tokens',
  'stop-sequence': 'stop_sequence',
  call: 'tool_use',
  refused: 'refusal',
  'no-image': 'end_turn',
};

const refusal: JsonObject = {
  type: 'refusal',
  category: 'general_harms',
  explanation: 'This offline model refuses everything.',
};

/** A reply of the messages format. */
export function messagesReply(answer: Answer, request: ModelRequest): JsonObject {
  const { id, model, drafts, blocked, bare, tokens } = answer;
  const [draft] = drafts;
  const isRefused = blocked || draft?.ended === 'refused';
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: draft && !blocked ? contentBlocks(draft, request, id) : [],
    stop_reason: stopReasons[blocked ? 'refused' : (draft?.ended ?? 'end')],
    stop_sequence: draft?.stopSequence ?? null,
    stop_details: isRefused ? refusal : null,
    ...(!bare && { usage: usage(tokens, request) }),
  };
}

function usage({ input, thinking, answer }: Answer['tokens'], { task }: ModelRequest): JsonObject {
  return {
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: thinking + answer,
    ...(task.thinking && { output_tokens_details: { thinking_tokens: thinking } }),
    service_tier: 'standard',
    inference_geo: 'not_available',
  };
}

function contentBlocks(draft: Draft, { showThinking }: ModelRequest, id: string): JsonObject[] {
  const blocks: JsonObject[] = [];
  if (draft.thinking !== undefined) {
    const signature = Buffer.from(`offline ${id}`).toString('base64');
    blocks.push({ type: 'thinking', thinking: showThinking ? draft.thinking : '', signature });
  }
  const text = draftText(draft);
  if (text !== '') blocks.push({ type: 'text', text });
  if (draft.call) blocks.push({ type: 'tool_use', id: `toolu_${id}`, name: draft.call.name, input: draft.call.input });
  return blocks;
}
