import type { JsonObject } from '../../json.ts';
import { everyCommand, type Fault } from './fault.ts';
import { mapCandidates, present } from './reshape.ts';

const danger: JsonObject = { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true };
const refusal: JsonObject = {
  type: 'refusal',
  category: 'general_harms',
  explanation: 'This offline model refuses everything.',
};

/** Whole, well-formed replies that are not what was asked for. */
export const answerFaults: readonly Fault[] = [
  {
    name: 'fault-blocked',
    description: 'the prompt is blocked: promptFeedback.blockReason, or stop_reason refusal without content',
    commands: everyCommand,
    exitCode: 10,
    content: ({ usageMetadata, modelVersion, responseId }) =>
      present({
        promptFeedback: { blockReason: 'SAFETY', safetyRatings: [danger] },
        usageMetadata,
        modelVersion,
        responseId,
      }),
    message: (message) => ({ ...message, content: [], stop_reason: 'refusal', stop_details: refusal }),
  },
  {
    name: 'fault-safety',
    description: 'the answer is stopped by its safety ratings: finishReason SAFETY, or a refusal after some text',
    commands: everyCommand,
    exitCode: 10,
    content: (reply) =>
      mapCandidates(reply, ({ index }) => present({ index, finishReason: 'SAFETY', safetyRatings: [danger] })),
    message: (message) => ({ ...message, stop_reason: 'refusal', stop_details: refusal }),
  },
  {
    name: 'fault-no-answer',
    description: 'a reply without content, though it ends well',
    commands: everyCommand,
    exitCode: 10,
    content: (reply) => mapCandidates(reply, (candidate) => ({ ...candidate, content: { role: 'model' } })),
    message: (message) => ({ ...message, content: [] }),
  },
  {
    name: 'fault-max-tokens',
    description: 'the token limit cuts the answer: MAX_TOKENS or max_tokens (exit 0 without the flag)',
    commands: ['text', 'chat'],
    exitCode: 11,
    flags: '--require-complete',
    content: (reply) => mapCandidates(reply, (candidate) => ({ ...candidate, finishReason: 'MAX_TOKENS' })),
    message: (message) => ({ ...message, stop_reason: 'max_tokens', stop_sequence: null }),
  },
  {
    name: 'fault-no-usage',
    description: 'a good answer without its usage, model version and id',
    commands: everyCommand,
    exitCode: 0,
    content: ({ candidates }) => present({ candidates }),
    message: ({ usage: _usage, ...message }) => message,
  },
  {
    name: 'fault-error-200',
    description: 'status 200, but the body is an error',
    commands: everyCommand,
    exitCode: 6,
    content: () => ({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
    reply: (reply, { format }) => (format === 'messages' ? { ...reply, ...overloadedBody } : reply),
  },
];

const overloadedBody = {
  headers: { 'content-type': 'application/json' },
  body: '{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}',
};
