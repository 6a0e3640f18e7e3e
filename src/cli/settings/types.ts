import type { AuthForm, FormatName, ModelEfforts, Prices, ServiceName, Use } from '../../library/index.ts';
import type { Secret } from './redact.ts';
import type { SettingName, settings } from './table.ts';

type SettingTable = typeof settings;

/** The attribute of a flag, as `toAttribute` gives it. */
export type Attribute<F> = F extends `${string}--no-${infer W}`
  ? CamelCase<W>
  : F extends `${string}--${infer W}`
    ? CamelCase<W>
    : never;
type CamelCase<W> = W extends `${infer A} ${string}`
  ? CamelCase<A>
  : W extends `${infer A}-${infer B}`
    ? `${A}${Capitalize<CamelCase<B>>}`
    : W;

/** The types of a kind's value: resolved, of its flag, and in the config file. Kinds that are not here have texts. */
interface ValueTypes {
  command: { value: never; flag: never; config: string | [string, ...string[]] };
  count: { value: number; flag: number; config: number };
  /** In ms. */
  duration: { value: number; flag: string; config: number | string };
  headers: { value: readonly Header[]; flag: readonly Header[]; config: Record<string, string> };
  prices: { value: Prices; flag: Prices; config: Prices };
  switch: { value: boolean; flag: boolean; config: boolean };
}

type TypeIn<R, Place extends 'value' | 'flag' | 'config'> = R extends { kind: infer K extends keyof ValueTypes }
  ? ValueTypes[K][Place]
  : string;

/** The value of a setting. */
export type SettingValue<N extends SettingName> = SettingTable[N] extends { values: readonly (infer V)[] }
  ? V
  : TypeIn<SettingTable[N], 'value'>;

/** The value of a flag: most values are parsed when the settings are resolved. */
export type FlagValue<N extends SettingName> = TypeIn<SettingTable[N], 'flag'>;

/** The values of flags under the names that commander gives them; absent if a flag was not given. */
export type SettingsFlags = {
  [N in SettingName as SettingTable[N] extends { flag: infer F } ? Attribute<F> : never]?: FlagValue<N> | undefined;
} & {
  /** The source of the model, if it is not the flag. */
  modelFrom?: string | undefined;
  /** Recorded replies answer: no base URL is needed. */
  replay?: boolean | undefined;
  /** The `"profile"` of a batch job, which wins. */
  jobProfile?: string | undefined;
};

/** The config file. `profile` names the profile in use, or one for each use, if no flag or variable names another. */
export interface Config {
  $schema?: string;
  profile?: string | { [use in Use]?: string };
  profiles: { [name: string]: Profile };
  prices?: Prices;
}

/** One profile of the config file: the keys of the table. A profile has at most one of the three keys for the API key. */
export type Profile = {
  [N in SettingName as SettingTable[N] extends { key: infer K extends string } ? K : never]?: SettingTable[N] extends {
    fields: infer F;
  }
    ? { [field in keyof F]?: ConfigValue<SettingTable[N]> }
    : ConfigValue<SettingTable[N]>;
};

/** The type of a value in the config file. */
export type ConfigValue<R> = R extends { values: readonly (infer V)[] } ? V : TypeIn<R, 'config'>;

/** A config with the path it came from, or would be written to. */
export interface LoadedConfig {
  path: string;
  exists: boolean;
  config: Config;
  warnings: string[];
  /** The reason that its commands are not run, and how to fix it: other users own the file or can write it. */
  distrust?: { reason: string; hint: string } | undefined;
}

/** The profile in use. */
export interface PickedProfile {
  name: SourcedValue<string>;
  profile: Profile;
  /** The name of the config file's profile as an origin: `profile work (<path>)`. */
  label: string;
}

/** The sources from which `resolveSettings` decides. */
export interface SettingsInput {
  flags: SettingsFlags;
  env: Readonly<Record<string, string | undefined>>;
  config: LoadedConfig;
  use: Use;
  kept?: KeptModel | undefined;
}

/** The model that a conversation was with, as a session remembers it. */
export interface KeptModel {
  model?: string | undefined;
  /** The service and the format: `openai/responses`. */
  service?: string | undefined;
  /** `session trip` */
  from: string;
}

/** The settings without a rule of their own: flag > environment > profile > default. */
export type PlainSettings = {
  [N in SettingName as SettingTable[N] extends { rule: true } ? never : N]:
    | SettingValue<N>
    | (SettingTable[N] extends { default: unknown }
        ? SettingTable[N] extends { uses: unknown }
          ? undefined
          : never
        : undefined);
};

/** The origin of each value. Only messages, `doctor` and `config list` show it. */
export type Origins = {
  [N in keyof PlainSettings]: Origin | Extract<PlainSettings[N], undefined>;
} & { [N in 'service' | 'format' | 'auth']: Origin } & {
  [N in 'profile' | 'baseUrl' | 'model']: Origin | undefined;
} & {
  headerNames: { apiKey: Origin | undefined; version: Origin | undefined };
  /** Origins by the names of the headers, and of the models. */
  headers: Readonly<Record<string, Origin>>;
  prices: Readonly<Record<string, Origin>>;
};

/** Everything a request needs in addition to its content. */
export interface Settings extends PlainSettings {
  use: Use;
  profile: string | undefined;
  service: ServiceName;
  /** The wire format of the use. */
  format: FormatName;
  /** The base URL as it was given; absent when offline. */
  baseUrl: string | undefined;
  model: string;
  /** The models that the profile has names for. */
  aliases: Readonly<Record<string, string>>;
  /** Finds the efforts of the model in the kept list of the service. */
  findEfforts?: () => Promise<ModelEfforts | undefined>;
  key: KeySource;
  auth: AuthForm;
  headerNames: { apiKey: string | undefined; version: string | undefined };
  headers: readonly Header[];
  /** The flags that led to this gateway, for commands in hints: ` --service gemini`. */
  typedFlags: string;
  /** Prices by the name or the pattern of a model. */
  prices: Prices;
  /** Warnings, also those of the config file. */
  warnings: string[];
  origins: Origins;
}

/** The settings that are set, for `doctor` and `config list`. */
export interface PartialSettings extends Omit<Settings, 'model'> {
  model: string | undefined;
}

/** The source of a value; flags and variables by their names. */
export type Origin = (
  | { kind: 'flag' | 'variable'; name: string }
  | { kind: 'job' | 'session' | 'profile' | 'config' | 'service' | 'host' | 'default' }
) & {
  /** The origin for people: `flag --timeout`, `environment GATEWAY_TIMEOUT`, `profile work (<path>)` or `default`. */
  from: string;
};

/** A value with its origin, while the settings are resolved. */
export interface SourcedValue<T, O extends Origin = Origin> {
  value: T;
  origin: O;
}

/** The value of a variable. */
export type SourcedVariable = SourcedValue<string, Origin & { name: string }>;

/** The place of the key; nothing of it is read before `readKey`. */
export type KeySource =
  | { kind: 'value'; secret: Secret; origin: Origin }
  /** Path `-` is stdin. */
  | { kind: 'file'; path: string; origin: Origin }
  /** A command with `distrust` is never run. */
  | { kind: 'command'; argv: readonly string[]; origin: Origin; distrust?: LoadedConfig['distrust'] }
  /** The service needs no key. */
  | { kind: 'none' }
  | { kind: 'missing'; reason: string; hint: string };

/** A header that is sent in addition to the client's own. A credential's value is a Secret. */
export interface Header {
  /** Lower case. */
  name: string;
  value: string | Secret;
}
