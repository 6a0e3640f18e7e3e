export { isResponseError, ResponseError } from './client/call.ts';
export { createClient } from './client/client.ts';
export { startDeadline } from './client/deadline.ts';
export { openConnection } from './client/fetch.ts';
export { readReply } from './client/read-reply.ts';
export { GatewayError, isGatewayError } from './errors.ts';
export type {
  CallOptions,
  Client,
  ClientOptions,
  ContentRequest,
  FilePicture,
  FolderOptions,
  MediaInput,
  MemoryPicture,
  MessagesRequest,
  MessageStream,
  PrepareOptions,
  Picture,
  Received,
  Reply,
  Signal,
} from './client/client-types.ts';
export type {
  ClientTool,
  ContentBlock,
  ContentTurn,
  MediaBlock,
  Message,
  StopReason,
  TextBlock,
  Tool,
  ToolResultBlock,
  ToolUseBlock,
} from './client/client-types.ts';
export type { AskOptions, Payment, Payments, Performed, PreparedRequest, SendOptions } from './client/send.ts';
export type { Deadline } from './client/deadline.ts';
export type { ListOptions, ModelList } from './client/free-requests.ts';
export type { ListedModel } from './client/listed-model.ts';
export type { HeldReply, ReadReplyOptions } from './client/read-reply.ts';
export type { Answer, InsteadOf, Result, ResultCandidate, ResultImage, ToolCall } from './client/result.ts';
export type { ModelEnd } from './vendors/model-rules.ts';
export type {
  Answered,
  Connection,
  ConnectionOptions,
  Fetch,
  FetchCall,
  FetchWrapper,
  HttpReply,
  HttpRequest,
} from './transport/types.ts';
export type { Reason } from './reasons.ts';
export type { Certainty, ErrorClass, ErrorDetails, RetryNotice } from './errors.ts';
export type { Usage } from './formats/events.ts';
export type { StreamDelta } from './formats/events.ts';
export type { JsonObject, JsonValue } from './json.ts';
export type { AuthForm } from './vendors/services.ts';
