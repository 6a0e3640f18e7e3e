import type { GatewaySettings } from '../../../batch/index.ts';
import type { Settings } from '../../settings/types.ts';

/** The settings of a gateway, all of them: the engine reads a few, and keeps the others as the command gave them. */
export function ownSettings({ settings }: { settings: GatewaySettings }): Settings {
  return settings as Settings;
}
