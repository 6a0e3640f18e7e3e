import { type GatewayError, usageError } from '../../errors.ts';
import { readConfig, configPath } from '../../settings/config-file.ts';
import { readHeaderFlags } from '../../settings/headers.ts';
import { resolveSettings, surveySettings } from '../../settings/resolve.ts';
import type { Settings, SettingsInput, Use } from '../../settings/types.ts';
import { services } from '../../services.ts';
import type { Prices } from '../../settings/types.ts';
import { isLoopback } from '../../transport/request.ts';
import type { Context } from '../context.ts';
import { type FlagValues, parseJson } from '../flags/flag.ts';
import { checkRecordingFlags, replayedFolder, type connectionFlags, type priceFlags } from '../flags/shared.ts';
import { readUserFile } from '../input/input-files.ts';
import type { TextPlaces } from '../input/prompt.ts';

/** The flags of `connectionFlags` and `priceFlags`, as they were typed. */
export type ConnectionFlags = FlagValues<typeof connectionFlags> & FlagValues<typeof priceFlags>;

type SettingFlags = ConnectionFlags & {
  maxTokens?: number;
  preview?: boolean | undefined;
  markdown?: boolean;
  jobProfile?: string;
  places?: Pick<TextPlaces, 'model'>;
};

/** A key in argv is public: the flag exists to say so. Throws GatewayError usage. */
export function refuseKeyInArgv({ apiKey }: ConnectionFlags): void {
  if (apiKey !== undefined) throw keyInArgv();
}

/** What `--api-key` means wherever it stands. */
export function keyInArgv(): GatewayError {
  return usageError(
    '--api-key would show the key to every user of this machine',
    'set GATEWAY_API_KEY, or use --api-key-file <path>',
  );
}

/** What settings are decided from, but for the use. Throws GatewayError usage. */
export async function readSettingsInput(
  flags: SettingFlags,
  { io, root }: Context,
): Promise<Omit<SettingsInput, 'use'>> {
  refuseKeyInArgv(flags);
  checkRecordingFlags(flags);
  const readText = async (path: string) => new TextDecoder().decode(await readUserFile('--header', path, io.cwd));
  const config = await readConfig(await configPath({ env: io.env, cwd: io.cwd }));
  return {
    env: io.env,
    config,
    flags: {
      ...flags,
      modelFrom: flags.places?.model,
      stdin: root.stdin,
      replay: replayedFolder(flags) !== undefined,
      profile: root.profile,
      header: await readHeaderFlags(flags.header ?? [], readText),
      prices: await readPrices(flags.prices, io.cwd),
    },
  };
}

/** Reads `--prices`. Throws GatewayError usage. */
async function readPrices(word: string | undefined, cwd: string): Promise<Prices | undefined> {
  if (word === undefined) return undefined;
  const isJson = word.trimStart().startsWith('{');
  const text = isJson ? word : new TextDecoder().decode(await readUserFile('--prices', word, cwd));
  const value = parseJson('--prices', text.replace(/^\uFEFF/, ''));
  const { checkPrices } = await import('../../settings/parse.ts');
  return checkPrices(value, isJson ? '--prices' : `--prices ${word}`);
}

/** Settings for one use: flag > environment > profile > default. Throws GatewayError usage or auth. */
export async function readSettings(flags: SettingFlags, context: Context, use: Use): Promise<Settings> {
  const input = { ...(await readSettingsInput(flags, context)), use };
  const replayed = replayedFolder(flags);
  if (replayed !== undefined && !surveySettings(input).model) {
    const { noModelToReplay } = await import('./recordings.ts');
    throw await noModelToReplay(replayed, context, use);
  }
  const settings = resolveSettings(input);
  const { ui } = context;
  const { key } = settings;
  // Before the prompt looks at stdin; the key itself is read last, and for `--dry-run` never.
  if (key.kind === 'file' && key.path === '-' && replayed === undefined) context.stdin.reserve('--api-key-file');
  for (const warning of settings.warnings) await ui.warn(warning);
  await logChoices(settings, context);
  return settings;
}

/** What chose the service, if nothing named it; for `--verbose`, what the base URL decides. */
async function logChoices({ service, model, proxy, baseUrl }: Settings, { ui }: Context): Promise<void> {
  if (service.origin.kind === 'variable' && service.origin.name !== 'GATEWAY_SERVICE')
    await ui.note(`using ${services[service.value].title}, ${model.value} (${service.origin.name})`);
  if (service.origin.kind === 'host') await ui.detail(`service ${service.value}, by ${service.from}`);
  if (proxy && baseUrl && isLoopback(new URL(baseUrl.value)))
    await ui.detail(`the gateway is on this machine: the proxy of ${proxy.from} is not used`);
}
