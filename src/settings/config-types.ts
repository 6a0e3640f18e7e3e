import type { InferOutput } from 'valibot';
import type { configDefinition } from './definition.ts';
import type { Distrust, Sourced } from './types.ts';

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

/** The profile in use. */
export interface PickedProfile {
  name: Sourced<string>;
  profile: Profile;
  /** How its values name their origin: `profile work (<path>)`. */
  label: string;
}
