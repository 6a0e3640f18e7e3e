export { isResponseError, ResponseError } from './client/call.ts';
export { createClient } from './client/client.ts';
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
export type { ResultCandidate, ToolCall } from './client/result.ts';
export type { Reason } from './reasons.ts';
export type { Certainty, ErrorClass, ErrorDetails, RetryNotice } from './errors.ts';
export type { Usage } from './formats/events.ts';
export type { StreamDelta } from './formats/events.ts';
export type { JsonObject, JsonValue } from './json.ts';
export type { AuthForm } from './services.ts';
