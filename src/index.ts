export { isResponseError, ResponseError } from './client/call.ts';
export { createClient } from './client/client.ts';
export { startDeadline } from './client/deadline.ts';
export { openConnection } from './client/fetch.ts';
export { readReply } from './client/read-reply.ts';
export { GatewayError, isGatewayError } from './errors.ts';
export type {
  AskRequest,
  CallOptions,
  Client,
  ClientOptions,
  FilePicture,
  FolderOptions,
  Known,
  MediaInput,
  MemoryPicture,
  MessageStream,
  Picture,
  PrepareOptions,
  Received,
  Reply,
  Sender,
  Signal,
  Url,
} from './client/client-types.ts';
export type {
  ContentBlock,
  MediaBlock,
  Message,
  StopReason,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './client/client-types.ts';
export type { PaidAnswer, PaidEnd, PayableRequest, Payment, Payments } from './client/payment.ts';
export type { AskOptions, Performed, PreparedRequest } from './client/ask.ts';
export type { PayOptions } from './client/repairs.ts';
export type { Exchange, SendOptions } from './client/send.ts';
export type { CheckEnd, Deadline, Phase } from './client/deadline.ts';
export type { ListOptions, ModelList } from './client/free-requests.ts';
export type { ListedModel } from './client/listed-model.ts';
export type { HeldReply, ReadOptions, ReadReplyOptions } from './client/read-reply.ts';
export type {
  Answer,
  InsteadOf,
  Result,
  ResultCandidate,
  ResultImage,
  Source,
  SourceSpan,
  ToolCall,
} from './client/result.ts';
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
  KeyHeader,
  RetryPolicy,
} from './transport/types.ts';
export type { Reason } from './reasons.ts';
export type { Certainty, ErrorClass, ErrorDetails, RetryNotice } from './errors.ts';
export type {
  CitedPlace,
  Decoder,
  DecoderInput,
  FoundSource,
  ReplyEvent,
  ReplyFacts,
  ReplyProgress,
  Unfinished,
  Usage,
} from './formats/events.ts';
export type { StreamDelta } from './formats/events.ts';
export type { JsonObject, JsonValue } from './json.ts';
export type { AuthForm, ServiceName, Use } from './vendors/services.ts';
export type { Body, BodyValue, RequestBody, Upload } from './body.ts';
export type { ContinuationOptions, Hop } from './client/continuation.ts';
export type { CallEvent, ClientEvent, Listener, ModelEvent, Resent } from './client/events.ts';
export type { Memory } from './client/memory.ts';
export type { ReplyBounds } from './client/image-store.ts';
export type { AnyApiRequest, ApiRequest, Format, ReplyHead, RequestLimits } from './formats/format.ts';
export type { EncodedRequest, Media, PlainRequest, Turn } from './formats/plain-request.ts';
export type { JsonFields, JsonOptions, PlainFields } from './formats/request-fields.ts';
export type { AuthUse, FormatName, Quirks } from './formats/types.ts';
export type { BlobStore, StoredBlob } from './images/types.ts';
export type { Base64Diversion, Base64Sink, DivertedString } from './scan/json-scan.ts';
export type { Gate } from './transport/gate.ts';
export type { Effort, ModelEfforts } from './vendors/effort.ts';
export type { ImagesOperation } from './vendors/image-types.ts';
export type { SchemaForm } from './vendors/schema-forms.ts';
