import { anything, flag, freeObject, integer, list, number, object, oneOf, text, type Rule } from '../fields/rule.ts';
import { badValue } from '../fields/violation.ts';

/** `width:height` (spec.md 2.1); shapes more extreme than 10:1 are refused. */
const aspectRatio: Rule = (value, path, reading) => {
  const ratio = text(value, path, reading);
  const [, width, height] = /^(\d{1,4}):(\d{1,4})$/.exec(String(ratio)) ?? [];
  const quotient = Number(width) / Number(height);
  if (quotient >= 0.1 && quotient <= 10) return ratio;
  throw badValue(
    path,
    `${JSON.stringify(String(ratio).slice(0, 40))} is no aspect ratio; write width:height, such as 16:9`,
  );
};

const imageConfig = object({
  aspectRatio: aspectRatio,
  imageSize: oneOf(['512', '1K', '2K', '4K']),
  personGeneration: text,
  outputMimeType: text,
  outputCompressionQuality: integer(),
  imageOutputOptions: freeObject,
  prominentPeople: text,
});

/** The rule for generationConfig. */
export const generationConfig = object({
  temperature: number({ min: 0, max: 2 }),
  topP: number({ min: 0, max: 1 }),
  topK: integer({ min: 0 }),
  candidateCount: integer({ min: 1, max: 8 }),
  maxOutputTokens: integer({ min: 1 }),
  stopSequences: list(text, { max: 5 }),
  seed: integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  responseMimeType: oneOf(['text/plain', 'application/json', 'text/x.enum']),
  responseSchema: freeObject,
  responseJsonSchema: anything,
  presencePenalty: number(),
  frequencyPenalty: number(),
  responseLogprobs: flag,
  logprobs: integer({ min: 0, max: 20 }),
  responseModalities: list(oneOf(['TEXT', 'IMAGE', 'AUDIO', 'VIDEO', 'MODALITY_UNSPECIFIED'])),
  mediaResolution: text,
  speechConfig: freeObject,
  enableEnhancedCivicAnswers: flag,
  thinkingConfig: object({ includeThoughts: flag, thinkingBudget: integer({ min: -1 }), thinkingLevel: text }),
  imageConfig,
});
