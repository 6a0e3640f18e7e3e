/*
 * The library as the program uses it, and nothing below it: everything that command line and batches need of a client is here, or
 * is a method of `openGatewayClient`. Users of the library import `../index.ts`.
 */

// Calls.
export { openGatewayClient } from './gateway-client.ts';
export { openConnection } from './fetch.ts';
export { readEndpoint, readHeaderNames } from './endpoint.ts';
export type { GatewayClient, GatewayClientOptions } from './gateway-client.ts';
export { defaultMaxTurns } from './continuation.ts';
export { tryAsk } from './try-ask.ts';
export type { Asked, ReadDeltas } from './try-ask.ts';
export { describeRequest } from './ask.ts';
export type { AskOptions, Performed, PreparedRequest } from './ask.ts';
export type { PaidExchange } from './repairs.ts';
export { joinPayment, joinPayments, payFrom } from './payment.ts';
export type { Fund, PaidAnswer, PaidEnd, PayableRequest, Payment, Payments } from './payment.ts';
export type { CallEvent, ClientEvent, Listener, ModelEvent, Resent } from './events.ts';
export type { Memory } from './memory.ts';
export type { ModelList } from './free-requests.ts';
export type { ListedModel } from './listed-model.ts';

// The time of a call, or of several steps.
export { createDeadlines, deadlineOnce, checkEnd, startDeadline, getTimeoutError, within } from './deadline.ts';
export type { Deadline, CheckEnd } from './deadline.ts';

// Answers: reading them, judging them, and finding links in them.
export { drainDeltas } from './deltas.ts';
export { readParsedReply, readReply } from './read-reply.ts';
export { adviceForRest, judgeAnswer, listLinkedImages } from './verdict.ts';
export { emptyResult } from './arriving-reply.ts';
export {
  joinReplies,
  pickEndFields,
  replyNumber,
  shownFields,
  toolCallEntries,
  toolResultKeys,
} from './reply-fields.ts';
export type { Answer, Result, ResultImage, Source, ToolCall } from './result.ts';
export type { Wanted } from './verdict.ts';

// Images of answers.
export { listBlobs, describeImage, isImageBlob, mostImages } from './image-store.ts';

// The services' batches.
export { openBatchApi } from './batch-api.ts';
export type { BatchApi, ResultText, SentFile } from './batch-api.ts';
