export { isResponseError, ResponseError } from './library/client/call.ts';
export { createClient } from './library/client/client.ts';
export { startDeadline } from './library/client/deadline.ts';
export { openConnection } from './library/client/fetch.ts';
export { readReply } from './library/client/read-reply.ts';
export { GatewayError, isGatewayError } from './library/errors.ts';
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
} from './library/client/client-types.ts';
export type {
  ContentBlock,
  MediaBlock,
  Message,
  StopReason,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './library/client/client-types.ts';
export type { PaidAnswer, PaidEnd, PayableRequest, Payment, Payments } from './library/client/payment.ts';
export type { AskOptions, Performed, PreparedRequest } from './library/client/ask.ts';
export type { PayOptions } from './library/client/repairs.ts';
export type { Exchange, SendOptions } from './library/client/send.ts';
export type { CheckEnd, Deadline, Phase } from './library/client/deadline.ts';
export type { ListOptions, ModelList } from './library/client/free-requests.ts';
export type { ListedModel } from './library/client/listed-model.ts';
export type { HeldReply, ReadOptions, ReadReplyOptions } from './library/client/read-reply.ts';
export type {
  Answer,
  InsteadOf,
  Result,
  ResultCandidate,
  ResultImage,
  Source,
  SourceSpan,
  ToolCall,
} from './library/client/result.ts';
export type { ModelEnd } from './library/vendors/model-rules.ts';
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
} from './library/transport/types.ts';
export type { Reason } from './library/reasons.ts';
export type { Certainty, ErrorClass, ErrorDetails, RetryNotice } from './library/errors.ts';
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
} from './library/formats/events.ts';
export type { StreamDelta } from './library/formats/events.ts';
export type { JsonObject, JsonValue } from './library/json.ts';
export type { AuthForm, ServiceName, Use } from './library/vendors/services.ts';
export type { Body, BodyValue, RequestBody, Upload } from './library/body.ts';
export type { Hop } from './library/client/continuation.ts';
export type { CallEvent, ClientEvent, Listener, ModelEvent, Resent } from './library/client/events.ts';
export type { Memory } from './library/client/memory.ts';
export type { ReplyBounds } from './library/client/image-store.ts';
export type { AnyApiRequest, ApiRequest, Format, ReplyHead, RequestLimits } from './library/formats/format.ts';
export type { EncodedRequest, Media, PlainRequest, Turn } from './library/formats/plain-request.ts';
export type { JsonFields, JsonOptions, PlainFields } from './library/formats/request-fields.ts';
export type { AuthUse, FormatName, Quirks } from './library/formats/types.ts';
export type { BlobStore, StoredBlob } from './library/images/types.ts';
export type { Base64Diversion, Base64Sink, DivertedString } from './library/scan/json-scan.ts';
export type { Gate } from './library/transport/gate.ts';
export type { Effort, ModelEfforts } from './library/vendors/effort.ts';
export type { ImagesOperation } from './library/vendors/image-types.ts';
export type { SchemaForm } from './library/vendors/schema-forms.ts';
