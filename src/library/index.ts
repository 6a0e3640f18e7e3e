/*
 * The door of the library: what the other rooms use of it, by the file it comes from, and nothing else. Users of the package
 * import `../index.ts`.
 */
export { findFlagByField, seeSpentHint } from './advice-words.ts';
export { createUpload, describeBody, isUpload, segmentBody, streamBody } from './body.ts';
export type { Body, BodyValue, RequestBody, Upload } from './body.ts';
export {
  afterOnClock,
  ageText,
  defaultTimeoutMs,
  flexTimeoutMs,
  isoTime,
  localTime,
  longestTimerMs,
  monotonic,
  timeText,
  untilAborted,
} from './clock.ts';
export type { After } from './clock.ts';
export { closest } from './closest.ts';
export { count, flag, key, optionalKey, readKeys, text } from './document-key.ts';
export {
  endSignals,
  exitCodes,
  GatewayError,
  getErrorCode,
  getErrorMessage,
  isBug,
  isQuotaSpent,
  quoteForeign,
  settingError,
  toGatewayError,
  usageError,
  withoutCost,
} from './errors.ts';
export type { Certainty, ErrorClass, RetryNotice } from './errors.ts';
export { findOwn } from './find-own.ts';
export { findJsonFault, jsonFaultWords } from './json-position.ts';
export {
  eachMark,
  isObject,
  isTooDeep,
  levelsOf,
  numberField,
  parseFlat,
  parseObject,
  textField,
  tooDeepWords,
  toSnakeCase,
} from './json.ts';
export type { JsonObject, JsonValue } from './json.ts';
export { append, maxOf, minOf } from './long-lists.ts';
export { chooseHint, hintFor } from './reasons.ts';
export type { Reason } from './reasons.ts';
export { describeUploads, digestText, keyRequest, listUploads } from './request-key.ts';
export type { Hashing } from './request-key.ts';
export { lookAtHint, shellWord, splitShellLine } from './shell-word.ts';
export { minNode, version } from './version.ts';

export { emptyResult } from './client/arriving-reply.ts';
export { toReadOptions } from './client/ask.ts';
export type { AskOptions, Performed, PreparedRequest } from './client/ask.ts';
export { openBatchApi } from './client/batch-api.ts';
export type { BatchApi, SentFile } from './client/batch-api.ts';
export { defaultMaxTurns } from './client/continuation.ts';
export { checkEnd, deadlineOnce, getTimeoutError, startDeadline, within } from './client/deadline.ts';
export type { CheckEnd, Deadline } from './client/deadline.ts';
export { drainDeltas } from './client/deltas.ts';
export { readEndpoint, readHeaderNames } from './client/endpoint.ts';
export type { CallEvent, ClientEvent, Listener, ModelEvent, Resent } from './client/events.ts';
export { openConnection } from './client/fetch.ts';
export type { ModelList } from './client/free-requests.ts';
export { openGatewayClient } from './client/gateway-client.ts';
export type { GatewayClient, GatewayClientOptions } from './client/gateway-client.ts';
export { describeImage, isImageBlob, listBlobs, mostImages } from './client/image-store.ts';
export type { ListedModel } from './client/listed-model.ts';
export type { Memory } from './client/memory.ts';
export { joinPayment, joinPayments, payFrom } from './client/payment.ts';
export type { Fund, PaidAnswer, PaidEnd, PayableRequest, Payment, Payments } from './client/payment.ts';
export { readReply } from './client/read-reply.ts';
export type { PaidExchange } from './client/repairs.ts';
export {
  joinReplies,
  pickEndFields,
  replyNumber,
  shownFields,
  toolCallEntries,
  toolResultKeys,
} from './client/reply-fields.ts';
export type { Answer, Result, ResultImage, Source, ToolCall } from './client/result.ts';
export { tryAsk } from './client/try-ask.ts';
export type { Asked, ReadDeltas } from './client/try-ask.ts';
export { adviceForRest, judgeAnswer, listLinkedImages } from './client/verdict.ts';
export type { Wanted } from './client/verdict.ts';

export {
  addCost,
  addSpending,
  addUnknown,
  areWithin,
  computeAnswerCost,
  computeBound,
  computeGreatestBound,
  countAnswer,
  createBudget,
  estimateCost,
  heldFor,
  joinSpendings,
  joinSpent,
  scaleAmount,
  subtractAmounts,
  sumAmounts,
  sumHeld,
  totalCost,
} from './cost/cost.ts';
export type { LedgerEntry } from './cost/ledger-lines.ts';
export { groupCosts, groupings, summarizeLedger } from './cost/ledger-sums.ts';
export type { CostRow, Grouping, LedgerSummary } from './cost/ledger-sums.ts';
export { openLedger, unknownAmount } from './cost/ledger.ts';
export type { Ledger, LedgerBatch } from './cost/ledger.ts';
export { readPriceList } from './cost/price-lists.ts';
export {
  describeCosts,
  findAskedFactors,
  findPrice,
  findTierPrice,
  getCurrency,
  isWholePrice,
  normalizeTier,
  unusualTier,
} from './cost/price.ts';
export type { Pricing } from './cost/price.ts';
export type { Amounts, Bound, Budget, Cost, MeteredAnswer, Price, Prices, Spending, Spent } from './cost/types.ts';

export { BlockWriter } from './files/block-writer.ts';
export { describeReadError, describeRunError, describeWriteError } from './files/file-reason.ts';
export { createKnownFiles } from './files/known-files.ts';
export type { KnownFiles } from './files/known-files.ts';
export {
  arrivingLines,
  createGatheredFile,
  maxLineBytes,
  openIfThere,
  readAppendedLines,
  readBlocks,
  readFileLines,
  readLines,
  withoutHole,
} from './files/lines.ts';
export type { Line } from './files/lines.ts';
export { listFolder } from './files/list-folder.ts';
export { describeOwner, findOwner, prepareSharedFile, takeLock, withLock } from './files/lock.ts';
export type { Lock, LockOwner, LockTimes } from './files/lock.ts';
export { openOnce } from './files/open-once.ts';
export { bootMark, clearDeadParts, partNonce } from './files/process-mark.ts';
export type { ProcessMark } from './files/process-mark.ts';
export { asideFile, cannotWrite, copyAside, openToAppend, SyncedFile } from './files/synced-file.ts';
export type { FileWatch } from './files/synced-file.ts';
export {
  createRangeReader,
  ignoreMissing,
  isFolder,
  isPartName,
  makeFolder,
  notWritten,
  randomNonce,
  removeFile,
  syncFolder,
  writeAtomically,
  writeFully,
  writeNewFile,
} from './files/temp-file.ts';

export { describeCut, findPastedEnd, refuseOtherOperation } from './formats/base-path.ts';
export { loadBatchFormat } from './formats/batch-format.ts';
export type { BatchFormat, BatchInfo, BatchOutcome, BatchPage } from './formats/batch-format.ts';
export type { StreamDelta, Usage } from './formats/events.ts';
export { readFailedReply } from './formats/failure.ts';
export {
  byAuthUse,
  chooseAuthUse,
  encodeFlexibly,
  encodeRequest,
  findFormatByPath,
  formatFacts,
  formatNames,
  getAskedModel,
  getAuthUseFormat,
  keyFacts,
  loadFormat,
  replaceModel,
  requirePictures,
} from './formats/format.ts';
export type { AnyApiRequest, ApiRequest, Format, RequestLimits } from './formats/format.ts';
export { isOpenAiFormat } from './formats/openai-format.ts';
export { getTurnBlocks, lastTurn, readTurns } from './formats/plain-request.ts';
export type { Media, PlainRequest, Turn } from './formats/plain-request.ts';
export {
  fieldEntries,
  findField,
  getFieldFlag,
  jsonNames,
  lackedFields,
  plainNames,
  requestFields,
} from './formats/request-fields.ts';
export type {
  FieldKind,
  FieldName,
  JsonFields,
  PlainFields,
  PlainValues,
  RequestField,
} from './formats/request-fields.ts';
export { measureRequest } from './formats/request-size.ts';
export type { AuthUse, FormatName, Quirks } from './formats/types.ts';

export { fitsAspect, isAspect, matchesSize } from './images/aspect.ts';
export { findTypeByName, imageFacts, isImageExtension, pixelsOf, sniffType } from './images/image-type.ts';
export { makeRereadable, readFirstBytes, readInputImage, spool } from './images/input.ts';
export type { Spooling } from './images/input.ts';
export { refuseEmptyMask } from './images/mask.ts';
export { sniffMedia } from './images/media-type.ts';
export { candidateNames, fileWord, planOutput } from './images/naming.ts';
export type { CandidateNames, OutputPlan } from './images/naming.ts';
export type { Bitmap, Color, Size } from './images/pixels/bitmap.ts';
export { encodePng } from './images/pixels/codec.ts';
export { decodePreview, describeTooLarge, halfBlocks, hasTrueColor } from './images/preview.ts';
export { checkFile, checkOutput, isMediaPlace, publishImage, writeSidecar } from './images/publish.ts';
export { createEmptyStore, createFileStore, createMemoryStore } from './images/store.ts';
export type { BlobStore, StoredBlob } from './images/types.ts';
export { isCutImage } from './images/whole.ts';

export { openCache } from './recordings/cache.ts';
export {
  modelVariableNames,
  recordedModels,
  recordedModelsByUse,
  savedVariables,
  saveVariables,
} from './recordings/models.ts';
export type { ModelsByUse } from './recordings/models.ts';
export { openExchangeRecorder } from './recordings/recorder.ts';
export type { ExchangeRecorder, ExchangeRecorderOptions } from './recordings/recorder.ts';
export { openReplay } from './recordings/replay.ts';
export { findRequestModel } from './recordings/request-name.ts';

export { keepTempFiles, readRecovery, readRecoveryHead, writeRecovery } from './recovery/recovery-file.ts';
export type { RecoveryHead, SavedBatch, SavedReply } from './recovery/recovery-file.ts';

export { openHttpConnection } from './transport/connection.ts';
export { openInputFetcher } from './transport/fetch-input.ts';
export { createGate, sleepByTimer } from './transport/gate.ts';
export type { Gate, GateOptions, SharedGate, Sleep } from './transport/gate.ts';
export { proxyFor } from './transport/proxy.ts';
export { isLoopback, parseBaseUrl, requireSafeUrl } from './transport/request.ts';
export { requireCertificate } from './transport/trust.ts';
export type {
  Connection,
  ConnectionOptions,
  Fetch,
  FetchedInput,
  FetchWrapper,
  HttpReply,
  HttpRequest,
  InputFetcher,
  RetryPolicy,
} from './transport/types.ts';

export { effortNames, findEffortField, listEfforts } from './vendors/effort.ts';
export type { Effort, ModelEfforts } from './vendors/effort.ts';
export { classifyReason, isUnfinished } from './vendors/finish-reasons.ts';
export { imagesFields, notInBatches } from './vendors/image-types.ts';
export {
  chooseDefault,
  daysLeft,
  describeEnd,
  endsWithin,
  isEnding,
  kindOf,
  servesUse,
} from './vendors/model-rules.ts';
export type { ModelEnd, ModelFacts } from './vendors/model-rules.ts';
export { serviceTiers } from './vendors/service-tiers.ts';
export {
  authForms,
  chooseFormat,
  fillTemplate,
  findServiceByUrl,
  firstServiceNames,
  getQuirks,
  hasOwnHost,
  isOwnHost,
  listUses,
  listVendors,
  otherModel,
  serviceNames,
  services,
  useNames,
  vendorHeaderNames,
  withoutFormat,
} from './vendors/services.ts';
export type { AuthForm, Service, ServiceName, Use } from './vendors/services.ts';
