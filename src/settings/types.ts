import type { Secret } from './secret.ts';

/** Defined beside the services, whose types are in the library's declarations: those refer to no package. */
export { type AuthForm, authForms, type Use, useNames } from '../services.ts';

/** The operations with a form of their own (formats 1), as a profile's `auth` names them. */
export type AuthUse = 'text' | 'image' | 'messages';

/** The real names behind vendor-a's key header and vendor-b's version header (formats 1). */
export interface HeaderNames {
  apiKey?: string | undefined;
  version?: string | undefined;
}

/** What is wrong with a file, and what mends it. */
export interface Distrust {
  reason: string;
  hint: string;
}

/** What kind of place a value comes from; flags and variables by their names. */
export type Origin =
  | { kind: 'flag' | 'variable'; name: string }
  | { kind: 'job' | 'profile' | 'config' | 'service' | 'host' | 'default' };

/** A value with its origin. */
export interface Sourced<T> {
  value: T;
  /** For people: `flag --timeout`, `environment GATEWAY_TIMEOUT`, `profile work (<path>)` or `default`. */
  from: string;
  origin: Origin;
}

/** Where the key is to be had; nothing of it is read before `readKey`. */
export type KeySource =
  | { kind: 'value'; secret: Secret; from: string; origin: Origin }
  /** Path `-` is stdin. */
  | { kind: 'file'; path: string; from: string; origin: Origin }
  /** With `distrust` it is never run. */
  | { kind: 'command'; argv: readonly string[]; from: string; origin: Origin; distrust?: Distrust | undefined }
  | { kind: 'missing'; reason: string; hint: string };

/** A header to send beside the client's own. A credential's value is a Secret. */
export interface Header {
  /** Lower case. */
  name: string;
  value: string | Secret;
}
