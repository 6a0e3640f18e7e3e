import type { Job } from '../../../../batch/index.ts';
import { digestText, version } from '../../../../library/index.ts';
import type { Context } from '../../../context.ts';
import type { TextPlaces } from '../../../input/prompt.ts';
import { type ConnectionFlags, readSettings, usesByCommand } from '../../../run/settings.ts';
import type { Settings } from '../../../settings/types.ts';
import { atPlace } from './job-line.ts';

/** The settings that a job can give itself. */
interface OwnSettings {
  model?: string;
  profile?: string;
  places?: TextPlaces;
}

/** Opens the settings of the jobs of a file: those that jobs share are read, and hashed, once. */
export function openJobSettings({ context, flags, file }: { context: Context; flags: ConnectionFlags; file: string }) {
  const known = new Map<string, Settings | Promise<Settings>>();
  const digests = new WeakMap<Settings, string>();
  return {
    /** Reads the settings of a job. Returns no promise if they were read before. */
    read({ command, values, line, place }: Pick<Job, 'command' | 'values' | 'line' | 'place'>) {
      const { model, profile } = values as OwnSettings;
      const isPlain = model === undefined && profile === undefined;
      const key = isPlain ? command : JSON.stringify([command, model, profile]);
      let read = known.get(key);
      if (read === undefined) {
        // Warnings of the settings are printed once, not for each model.
        const ui = known.size === 0 ? context.ui : { ...context.ui, warn: silent, detail: silent };
        read = readSettings(withJob(flags, values), { ...context, ui }, usesByCommand[command]).then((found) => {
          const settings = { ...found, noStdin: true };
          known.set(key, settings);
          return settings;
        });
        known.set(key, read);
      }
      if (profile === undefined || !(read instanceof Promise)) return read;
      return read.catch((error: unknown) => {
        throw atPlace(file, { line, place }, error);
      });
    },
    /** Hashes the parts that the request of a job is built from. */
    digestSource({ command, values }: Pick<Job, 'command' | 'values'>, settings: Settings): string {
      // Another version of this program may build another request of the same parts.
      const rest = digests.get(settings) ?? digestText(JSON.stringify([version, settings]));
      digests.set(settings, rest);
      return digestText(`${rest} ${command} ${JSON.stringify(values)}`);
    },
  };
}

const silent = async (): Promise<void> => undefined;

/** The flags of the batch, with those of a job in their place. */
function withJob(flags: ConnectionFlags, { model, profile, places }: OwnSettings): Parameters<typeof readSettings>[0] {
  const modelFrom = places?.model ?? (model === flags.model ? undefined : 'the jobs');
  return {
    ...flags,
    ...(model !== undefined && { model }),
    ...(modelFrom !== undefined && { places: { model: modelFrom } }),
    ...(profile !== undefined && { jobProfile: profile }),
  };
}
