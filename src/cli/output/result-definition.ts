import * as v from 'valibot';
import { outcomes } from '../../errors.ts';

/*
 * The definition of the result document: the type of `resultDocument`, and the source of result.schema.json, which the build
 * writes. Only its types are imported, so no run loads it. Keys are added, never changed.
 */

/** A required key. */
function key<T extends v.GenericSchema>(schema: T, description: string) {
  return v.pipe(schema, v.description(description));
}

/** A key that is absent if its value is unknown. */
function optionalKey<T extends v.GenericSchema>(schema: T, description: string) {
  return v.optional(key(schema, description));
}

const text = v.string();
const flag = v.boolean();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const certainty = v.picklist(['yes', 'no', 'unknown']);

const replyNumber = optionalKey(count, 'with -n, the reply that it came in, from 0');

const candidate = v.object({
  index: key(count, 'its place in the reply, from 0'),
  reply: replyNumber,
  text: key(text, 'its text, without thinking'),
  markdown: optionalKey(text, 'its text with the code that the service ran, and what that printed'),
  finishReason: optionalKey(text, "why it ended, in the gateway's own word"),
  finishMessage: optionalKey(text, 'why it ended, in a sentence'),
  safetyRatings: optionalKey(v.array(v.unknown()), 'ratings, as the gateway gave them'),
});

const file = v.object({
  path: key(text, 'where the file is; - is stdout'),
  mimeType: key(text, 'the type of the bytes, such as image/png'),
  bytes: key(count, 'the size of the file'),
  sha256: key(text, 'the SHA-256 digest of the file, in hexadecimal'),
  candidate: key(count, 'the index of the candidate that it came with'),
  reply: replyNumber,
});

const image = v.object({
  ...file.entries,
  width: optionalKey(count, 'in pixels'),
  height: optionalKey(count, 'in pixels'),
});

const toolCallEntries = {
  id: optionalKey(text, "the gateway's name for the call"),
  name: key(text, 'the tool'),
  input: key(v.unknown(), 'any JSON value, as the tool wants it'),
};

const turn = v.object({
  text: key(text, 'the text of this answer'),
  stopReason: optionalKey(text, "why it ended, in the gateway's own word"),
  toolCalls: key(
    v.array(
      v.object({
        ...toolCallEntries,
        result: key(text, 'what the tool answered'),
        isError: key(flag, 'whether the tool failed'),
      }),
    ),
    'the calls and what the tools answered',
  ),
});

const source = v.object({
  url: optionalKey(text, 'the address of the page; absent for a document without one'),
  title: optionalKey(text, 'its title'),
  kind: key(v.picklist(['web', 'document', 'map', 'image']), 'what it is'),
  cited: key(flag, 'whether the answer cites it; otherwise a search only found it'),
  page: optionalKey(count, 'the page of a document, from 1'),
  snippet: optionalKey(text, 'a piece of its own text'),
  mark: optionalKey(text, 'how the text names it, such as [1]'),
  spans: optionalKey(
    v.array(v.object({ start: key(count, 'the first code point'), end: key(count, 'the code point behind the last') })),
    'the places in text that cite it, in code points; absent where they are not certain',
  ),
});

const usage = v.object({
  inputTokens: optionalKey(count, 'tokens of the request'),
  outputTokens: optionalKey(count, 'tokens of the answer'),
  thinkingTokens: optionalKey(count, 'tokens of thinking'),
  cachedInputTokens: optionalKey(count, 'tokens of the request that the gateway had in its cache'),
  totalTokens: optionalKey(count, 'all tokens'),
  cacheWriteInputTokens: optionalKey(count, 'tokens of the request that the gateway wrote to its cache'),
  cacheWriteLongInputTokens: optionalKey(count, 'of those, tokens that stay in the cache for an hour or longer'),
  toolInputTokens: optionalKey(count, 'tokens of tool results that the gateway added to the request'),
  imageInputTokens: optionalKey(count, 'tokens of pictures, within those of the request'),
  audioInputTokens: optionalKey(count, 'tokens of sound, within those of the request'),
  cachedImageInputTokens: optionalKey(count, 'tokens of pictures that the gateway had in its cache'),
  cachedAudioInputTokens: optionalKey(count, 'tokens of sound that the gateway had in its cache'),
  imageOutputTokens: optionalKey(count, 'tokens of images, within those of the answer'),
  audioOutputTokens: optionalKey(count, 'tokens of sound, within those of the answer'),
  searches: optionalKey(count, 'searches of the service'),
});

const cost = v.object({
  amount: key(text, 'a decimal number, without rounding'),
  currency: key(text, 'a code such as USD'),
  told: optionalKey(v.literal(true), 'the service said it; else it is computed by your prices'),
});

const errorClasses = Object.keys(outcomes).filter((name) => name !== 'ok') as Exclude<keyof typeof outcomes, 'ok'>[];

const error = v.object({
  class: key(v.picklist(errorClasses), 'the class, as in the table of exit codes'),
  message: key(text, 'what happened'),
  hint: optionalKey(text, 'what to type next'),
  recovery: optionalKey(
    text,
    'the absolute path of the file that keeps the paid reply: gateway-cli recover writes it out',
  ),
  status: optionalKey(count, 'the HTTP status of the reply'),
  requestId: optionalKey(text, "the gateway's own name for the request"),
  retryable: key(
    flag,
    'true if the same command may succeed later, and no part of an answer came; unless billed is no, it is paid for again',
  ),
  retryAfterMs: optionalKey(v.number(), 'how long the gateway asks you to wait, in milliseconds'),
  sent: key(certainty, 'whether the request was sent'),
  billed: key(certainty, 'whether the request may have been billed'),
});

/** The schema of what `--json` prints. */
export const resultDefinition = v.pipe(
  v.object({
    schema: key(v.literal('gateway-cli/result@1'), 'the name of this schema'),
    command: key(text, 'the command, such as image gen'),
    ok: key(flag, 'true if the exit code is 0'),
    complete: key(flag, 'true if the reply ended with a reason that says it is whole'),
    exitCode: key(count, 'the exit code'),
    requestedModel: optionalKey(text, 'the model that you requested'),
    model: optionalKey(text, 'the requested model, or the other model that answered in its place'),
    modelVersion: optionalKey(text, 'the model that answered, as the reply names it'),
    insteadOf: optionalKey(
      v.object({ model: key(text, 'the requested model'), why: key(text, 'why it did not answer') }),
      'another model was asked in place of the requested one: a default that is gone, or --fallback',
    ),
    modelEnds: optionalKey(
      v.object({
        model: key(text, 'the model'),
        endsOn: optionalKey(text, 'its last day, such as 2026-12-11'),
        lifecycle: optionalKey(text, "the service's own word, such as deprecated"),
        successor: optionalKey(text, 'the model that the service names in its place'),
      }),
      'the service says that the model ends within 60 days, or that it is deprecated',
    ),
    responseId: optionalKey(text, "the gateway's name for the reply"),
    role: optionalKey(text, 'the role of the answer, such as model or assistant'),
    text: optionalKey(text, 'the text of the first candidate, without thinking'),
    answer: optionalKey(v.unknown(), 'the answer as JSON, if --schema checked it'),
    candidates: optionalKey(v.array(candidate), 'every candidate of the reply'),
    images: key(v.array(image), 'the images that were written'),
    files: optionalKey(
      v.array(file),
      'audio, documents and other files that came with the reply, and the file of -o with the text or the code',
    ),
    toolCalls: key(v.array(v.object(toolCallEntries)), 'tool calls without a result'),
    turns: optionalKey(v.array(turn), 'the requests of a tool loop, and the tools that it ran'),
    sources: optionalKey(v.array(source), 'pages and documents: the cited ones in order, then what a search found'),
    stopReason: optionalKey(text, "why the answer ended, in the gateway's own word"),
    stopSequence: optionalKey(text, 'the stop sequence that ended the answer'),
    promptFeedback: optionalKey(v.record(v.string(), v.unknown()), 'why the gateway blocked the prompt'),
    serviceTier: optionalKey(
      text,
      "the service tier that answered, in the gateway's own word; behind it what has another price, such as fast or us",
    ),
    usage: optionalKey(usage, 'tokens, as far as the gateway tells'),
    cost: optionalKey(cost, 'what the requests cost, if the service told it or prices are set'),
    tags: optionalKey(v.record(v.string(), v.string()), 'what --tag gave'),
    warnings: key(v.array(text), 'what stderr showed as warnings'),
    requests: optionalKey(count, 'the number of requests that the answer took, if the service paused in it'),
    attempts: key(count, 'the number of requests that were sent'),
    durationMs: key(count, 'the time of the whole command, in milliseconds'),
    error: optionalKey(error, 'the failure; absent on success'),
  }),
  v.title('The result document of gateway-cli'),
);

/** What `--json` prints. */
export type ResultDocument = v.InferOutput<typeof resultDefinition>;
