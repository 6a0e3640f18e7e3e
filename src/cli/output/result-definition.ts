import * as v from 'valibot';
import {
  count,
  exitCodes,
  flag,
  key,
  optionalKey,
  replyNumber,
  shownFields,
  text,
  toolCallEntries,
} from '../../library/index.ts';

/*
 * The definition of the result document, from which the build writes result.schema.json: the keys of a reply come from their
 * table, the others from the command. Keys are added, never changed.
 */

const certainty = v.picklist(['yes', 'no', 'unknown']);

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

const cost = v.object({
  amount: key(text, 'a decimal number, without rounding'),
  currency: key(text, 'a code such as USD'),
  told: optionalKey(v.literal(true), 'the service said it; else it is computed by your prices'),
});

const errorClasses = Object.keys(exitCodes).filter((name) => name !== 'ok') as Exclude<keyof typeof exitCodes, 'ok'>[];

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

/** The keys of the command beside those of its replies; they can be read again from a recovery file. */
export const answerEntries = {
  answer: optionalKey(v.unknown(), 'the answer as JSON, if --schema checked it'),
  turns: optionalKey(v.array(turn), 'the requests of a tool loop, and the tools that it ran'),
  tags: optionalKey(v.record(v.string(), v.string()), 'what --tag gave'),
};

/** Keys of the command, by the key of the reply after which they come. */
const behind: Readonly<Record<string, v.ObjectEntries>> = {
  text: { answer: answerEntries.answer },
  candidates: {
    images: key(v.array(image), 'the images that were written'),
    files: optionalKey(
      v.array(file),
      'audio, documents and other files that came with the reply, and the file of -o with the text or the code',
    ),
  },
  toolCalls: { turns: answerEntries.turns },
  usage: {
    cost: optionalKey(cost, 'what the requests cost, if the service told it or prices are set'),
    tags: answerEntries.tags,
    warnings: key(v.array(text), 'what stderr showed as warnings'),
  },
};
const ofTheReply: v.ObjectEntries = Object.fromEntries(
  Object.entries(shownFields).flatMap(([name, schema]) => [[name, schema], ...Object.entries(behind[name] ?? {})]),
);

/** The keys of the `--json` document, in their order. */
export const documentEntries: v.ObjectEntries = {
  schema: key(v.literal('gateway-cli/result@1'), 'the name of this schema'),
  command: key(text, 'the command, such as image gen'),
  ok: key(flag, 'true if the exit code is 0'),
  complete: key(flag, 'true if the reply ended with a reason that says it is whole'),
  exitCode: key(count, 'the exit code'),
  requestedModel: optionalKey(text, 'the model that you requested'),
  model: optionalKey(text, 'the requested model, or the other model that answered in its place'),
  ...ofTheReply,
  attempts: key(count, 'the number of requests that were sent'),
  durationMs: key(count, 'the time of the whole command, in milliseconds'),
  error: optionalKey(error, 'the failure; absent on success'),
};

/** The schema of the `--json` document. */
export const resultDefinition = v.pipe(v.object(documentEntries), v.title('The result document of gateway-cli'));

/** The failure in a document. */
export type ErrorDocument = v.InferOutput<typeof error>;
