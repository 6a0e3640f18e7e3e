import type { AuthForm, ServiceName, Use } from '../services.ts';
import type { LoadedConfig, Price, Prices } from './config-types.ts';
import type { Secret } from './secret.ts';

/** What the flags say; absent where a flag was not given. */
export interface SettingsFlags {
  service?: string | undefined;
  baseUrl?: string | undefined;
  model?: string | undefined;
  /** Where the model stands, if nobody typed it as a flag. */
  modelFrom?: string | undefined;
  apiKeyFile?: string | undefined;
  auth?: string | undefined;
  /** As `readHeaderFlags` gives them. */
  headers?: readonly Header[] | undefined;
  /** `<content-key>,<version>`, or `vendors` */
  headerNames?: string | undefined;
  timeout?: string | undefined;
  allowHttp?: boolean | undefined;
  proxy?: string | undefined;
  systemCa?: boolean | undefined;
  offline?: boolean | undefined;
  /** Recorded replies answer: no base URL is needed. */
  replay?: boolean | undefined;
  profile?: string | undefined;
  /** The `"profile"` of a batch job, which wins. */
  jobProfile?: string | undefined;
  maxTokens?: number | undefined;
  noStdin?: boolean | undefined;
  preview?: boolean | undefined;
  noMarkdown?: boolean | undefined;
  prices?: Prices | undefined;
}

/** What `resolveSettings` decides from. */
export interface SettingsInput {
  flags: SettingsFlags;
  env: Readonly<Record<string, string | undefined>>;
  config: LoadedConfig;
  use: Use;
}

/** Everything a request needs beside its content, each value with its origin. */
export interface Settings {
  use: Use;
  profile: Sourced<string> | undefined;
  offline: Sourced<boolean>;
  service: Sourced<ServiceName>;
  /** As it was given; absent when offline. */
  baseUrl: Sourced<string> | undefined;
  model: Sourced<string>;
  key: KeySource;
  auth: Sourced<AuthForm>;
  headerNames: { apiKey: Sourced<string> | undefined; version: Sourced<string> | undefined };
  headers: Sourced<Header>[];
  /** ms for the whole command */
  timeoutMs: Sourced<number>;
  allowHttp: Sourced<boolean>;
  /** Before the proxy variables. */
  proxy: Sourced<string> | undefined;
  systemCa: Sourced<boolean>;
  /** Absent where nobody asked for a limit; chat always has one, for its format requires it. */
  maxTokens: Sourced<number> | undefined;
  noStdin: Sourced<boolean>;
  preview: Sourced<boolean>;
  /** Whether a terminal shows the Markdown of an answer as type. */
  markdown: Sourced<boolean>;
  /** The flags that led to this gateway, for commands in hints: ` --service gemini`. */
  typedFlags: string;
  /** By the name or the pattern of a model; empty where nobody set one. */
  prices: Readonly<Record<string, Sourced<Price>>>;
  /** Those of the config file too. */
  warnings: string[];
}

/** Settings as far as they are set: what `doctor` and `config list` show. */
export interface SettingsSurvey extends Omit<Settings, 'model'> {
  model: Sourced<string> | undefined;
}

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
