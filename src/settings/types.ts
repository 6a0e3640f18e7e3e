import type { InferOutput } from 'valibot';
import type { configDefinition } from './definition.ts';
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

/** The config file. `profile` names the one in use, or one for each use, where no flag or environment names another. */
export type Config = Omit<InferOutput<typeof configDefinition>, 'profiles'> & { profiles: { [name: string]: Profile } };

/** One profile of the config file. At most one of the three keys stands in it. */
export type Profile = NonNullable<InferOutput<typeof configDefinition>['profiles']>[string];

/** What models cost, by name or pattern. */
export type Prices = NonNullable<Profile['prices']>;

/** What one model costs: amounts for a million tokens, and for one image. */
export type Price = Prices[string];

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
