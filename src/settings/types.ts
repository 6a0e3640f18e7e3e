import type { Secret } from './secret.ts';

/** How a request authenticates: the form of spec.md 5 for its use, or always one of the two. */
export const authForms = ['auto', 'api-key', 'bearer'] as const;
export type AuthForm = (typeof authForms)[number];

/** What a command asks a model for; it picks the model and the form of authentication. */
export type Use = 'text' | 'image' | 'edit' | 'chat';

/** The three rows of spec.md 5, as a profile's `auth` names them. */
export type AuthUse = 'text' | 'image' | 'messages';

/** The real names behind vendor-a's key header and vendor-b's version header (spec.md 5). */
export interface HeaderNames {
  apiKey?: string | undefined;
  version?: string | undefined;
}

/** One profile of the config file. At most one of the three keys stands in it. */
export interface Profile {
  baseUrl?: string;
  apiKey?: string;
  /** A path; relative ones start at the config file's folder, `~/` at the home folder. */
  apiKeyFile?: string;
  /** Program and arguments, run without a shell; its stdout is the key. */
  apiKeyCommand?: string[];
  models?: { [use in Use]?: string };
  auth?: { [use in AuthUse]?: AuthForm };
  headerNames?: HeaderNames;
  /** Extra headers; credentials are allowed here. */
  headers?: { [name: string]: string };
  /** `max_tokens` of chat, which the wire requires (spec.md 2.3). */
  maxTokens?: number;
  /** Seconds, or a duration such as `90s`. */
  timeout?: number | string;
  /** Allows http:// with a key for this profile's baseUrl. */
  allowHttp?: boolean;
  preview?: boolean;
}

/** The config file. `profile` names the one in use where no flag or environment names another. */
export interface Config {
  $schema?: string;
  profile?: string;
  profiles: { [name: string]: Profile };
}

/** A config with the path it came from, or would be written to. */
export interface LoadedConfig {
  path: string;
  exists: boolean;
  config: Config;
  warnings: string[];
  /** Why its commands are not run: others own the file or can write it. */
  distrust?: Distrust | undefined;
}

/** What is wrong with a file, and what mends it. */
export interface Distrust {
  reason: string;
  hint: string;
}

/** A value with its origin: `flag --timeout`, `environment GATEWAY_TIMEOUT`, `profile work (<path>)` or `default`. */
export interface Sourced<T> {
  value: T;
  from: string;
}

/** Where the key is to be had; nothing of it is read before `readKey`. */
export type KeySource =
  | { kind: 'value'; secret: Secret; from: string }
  /** Path `-` is stdin. */
  | { kind: 'file'; path: string; from: string }
  /** With `distrust` it is never run. */
  | { kind: 'command'; argv: readonly string[]; from: string; distrust?: Distrust | undefined }
  | { kind: 'missing'; reason: string; hint: string };

/** A header to send beside the client's own. A credential's value is a Secret. */
export interface Header {
  /** Lower case. */
  name: string;
  value: string | Secret;
}
