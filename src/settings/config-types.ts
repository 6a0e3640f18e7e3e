import type { InferOutput } from 'valibot';
import type { pricesDefinition } from './definition.ts';
import type { SettingName, settings } from './table.ts';
import type { Distrust, Sourced, Use } from './types.ts';

/** The config file. `profile` names the one in use, or one for each use, where no flag or environment names another. */
export interface Config {
  $schema?: string;
  profile?: string | { [use in Use]?: string };
  profiles: { [name: string]: Profile };
  prices?: Prices;
}

type Rows = typeof settings;

/** One profile of the config file: the keys of the table. At most one of the three keys of the gateway is in it. */
export type Profile = {
  [N in SettingName as Rows[N] extends { key: infer K extends string } ? K : never]?: Rows[N] extends {
    fields: infer F;
  }
    ? { [field in keyof F]?: ConfigValue<Rows[N]> }
    : ConfigValue<Rows[N]>;
};

/** What a value is in the config file. */
export type ConfigValue<R> = R extends { values: readonly (infer V)[] }
  ? V
  : R extends { kind: infer K extends keyof ValueOfKind }
    ? ValueOfKind[K]
    : string;

interface ValueOfKind {
  command: string | [string, ...string[]];
  count: number;
  duration: number | string;
  headers: Record<string, string>;
  prices: Prices;
  switch: boolean;
}

/** What models cost, by name or pattern. */
export type Prices = InferOutput<typeof pricesDefinition>;

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

/** The profile in use. */
export interface PickedProfile {
  name: Sourced<string>;
  profile: Profile;
  /** How its values name their origin: `profile work (<path>)`. */
  label: string;
}
