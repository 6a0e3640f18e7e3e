import type { JsonObject } from '../../json.ts';
import type { Answer, AnswerPart, Draft } from '../models/task.ts';

/** A reply of the content format: one candidate for each answer. */
export function contentReply({ model, id, drafts, blocked, bare, ...answer }: Answer): JsonObject {
  const said: JsonObject = blocked
    ? { promptFeedback: { blockReason: 'SAFETY', safetyRatings: [danger] } }
    : { candidates: drafts.map(candidate) };
  return bare ? said : { ...said, usageMetadata: usage(answer), modelVersion: model, responseId: id };
}

const danger: JsonObject = { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true };
const harmless: readonly JsonObject[] = ['HARASSMENT', 'HATE_SPEECH', 'SEXUALLY_EXPLICIT', 'DANGEROUS_CONTENT'].map(
  (harm) => ({
    category: `HARM_CATEGORY_${harm}`,
    probability: 'NEGLIGIBLE',
  }),
);

function usage({ tokens: { input, thinking, answer }, drawn }: Pick<Answer, 'tokens' | 'drawn'>): JsonObject {
  return {
    promptTokenCount: input,
    candidatesTokenCount: answer,
    ...(thinking > 0 && { thoughtsTokenCount: thinking }),
    totalTokenCount: input + answer + thinking,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
    candidatesTokensDetails: [{ modality: drawn ? 'IMAGE' : 'TEXT', tokenCount: answer }],
  };
}

const finishReasons: Readonly<Record<Draft['ended'], string>> = {
  end: 'STOP',
  'stop-sequence': 'STOP',
  call: 'STOP',
  'max-tokens': 'MAX_TOKENS',
  refused: 'SAFETY',
  'no-image': 'NO_IMAGE',
};

/** A token limit that leaves nothing to say gives a candidate without parts, as the public service does. */
function candidate({ thinking, call, parts: said, ended }: Draft, index: number): JsonObject {
  const finishReason = finishReasons[ended];
  if (ended === 'refused') return { index, finishReason, safetyRatings: [danger] };
  const parts: JsonObject[] = [
    ...(thinking ? [{ text: thinking, thought: true }] : []),
    ...(call ? [{ functionCall: { name: call.name, args: call.input } }] : []),
    ...said.map(partOf),
  ];
  const content: JsonObject = parts.length > 0 ? { parts, role: 'model' } : { role: 'model' };
  return { content, finishReason, index, safetyRatings: [...harmless] };
}

function partOf(part: AnswerPart): JsonObject {
  if (part.text !== undefined) return { text: part.text };
  const { mimeType, data, draft } = part.picture;
  return { inlineData: { mimeType, data }, ...(draft && { thought: true }) };
}
