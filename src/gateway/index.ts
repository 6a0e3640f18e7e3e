/* The door of the local gateway: what serve and --offline use of it. Tests of users import `testing/index.ts`. */
export { createApp, createKey, startOffline } from './app.ts';
export { inUrl, listen } from './listen.ts';
export type { Listening } from './listen.ts';
export { Problem } from './problem.ts';
export { misleadingVariables, serviceRules, unpaid, vendorEnvironment } from './service.ts';
export type { ServedService } from './service.ts';
export { createTranslator } from './translate.ts';
export type { ServiceFormats } from './translate.ts';
export type { GatewayRequest, Handler, LogEntry, ServedHeaderNames } from './types.ts';
export { createReplayHandler, createUpstreamHandler } from './upstream.ts';
export type { UpstreamOptions } from './upstream.ts';

export { isForm, readForm } from './http/body.ts';
