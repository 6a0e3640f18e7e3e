import type { JsonObject, JsonValue } from '../../json.ts';
import type { ModelRequest } from '../format.ts';
import { type Answer, type Draft, draftText, type MadePicture } from '../models/task.ts';

/** The offline models do not age: a fixed date keeps replies equal. */
export const created = Date.parse('2025-01-01T00:00:00Z') / 1000;

const finishReasons: Readonly<Record<Draft['ended'], string>> = {
  end: 'stop',
  'stop-sequence': 'stop',
  call: 'tool_calls',
  'max-tokens': 'length',
  refused: 'content_filter',
  'no-image': 'stop',
};

const refusal = "I'm sorry, but this offline model refuses everything.";

/** A chat completion: one choice for each answer. */
export function completionsReply(answer: Answer, request: ModelRequest): JsonObject {
  const { id, model, drafts, blocked, bare } = answer;
  const choices = drafts.map((draft, index) => ({
    index,
    message: blocked
      ? { role: 'assistant', content: null, refusal, annotations: [] }
      : messageOf(draft, request, index === 0 ? id : `${id}${index}`),
    logprobs: null,
    finish_reason: blocked ? 'stop' : finishReasons[draft.ended],
  }));
  if (bare) return { object: 'chat.completion', created, choices };
  return {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created,
    model,
    choices,
    usage: usageOf(answer),
    service_tier: request.tier ?? 'default',
    system_fingerprint: null,
  };
}

function usageOf({ tokens: { input, thinking, answer } }: Answer): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: thinking + answer,
    total_tokens: input + thinking + answer,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: thinking,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function messageOf(draft: Draft, { showThinking }: ModelRequest, id: string): JsonObject {
  const { thinking, call } = draft;
  const text = draftText(draft);
  const pictures = picturesOf(draft);
  const name = call && { name: call.name, arguments: JSON.stringify(call.input) };
  const isEmpty = text === '' && (call !== undefined || draft.parts.length === 0);
  return {
    role: 'assistant',
    content: isEmpty ? null : text,
    refusal: null,
    annotations: [],
    ...(showThinking && thinking && { reasoning_content: thinking }),
    ...(name && { tool_calls: [{ id: `call_${id}`, type: 'function', function: name }] }),
    ...(pictures.length > 0 && { images: pictures.map(imageOf) }),
  };
}

/** The pictures beside the text, without drafts, which the format does not know. */
function picturesOf({ parts }: Draft): MadePicture[] {
  return parts.flatMap(({ text, picture }) => (text === undefined && picture && !picture.draft ? [picture] : []));
}

function imageOf({ mimeType, data }: MadePicture, index: number): JsonValue {
  return { type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` }, index };
}
