import { type FlagTable, type FlagValues, parseJson, quoteWord } from '../flags/flag.ts';
import { resolve } from 'node:path';
import {
  type GatewayError,
  isLoopback,
  type Prices,
  services,
  shellWord,
  usageError,
  type Use,
} from '../../library/index.ts';
import { configPath, readConfig } from '../settings/config-file.ts';
import { readHeaderFlags } from '../settings/headers.ts';
import { findKeptEfforts, openFacts } from '../settings/memory.ts';
import { resolveSettings, resolvePartialSettings } from '../settings/resolve.ts';
import type { KeptModel, Settings, SettingsFlags, SettingsInput } from '../settings/types.ts';
import { addressNames } from '../settings/vendor-variables.ts';
import type { Context } from '../context.ts';
import {
  type connectionFlags,
  isCache,
  type outputFlags,
  type priceFlags,
  type RecordingFlags,
  replayedFolder,
} from '../flags/shared.ts';
import type { RequestFlags } from '../request/build-request.ts';
import { decodeText, readUserFile } from '../input/input-files.ts';
import type { TextPlaces } from '../input/prompt.ts';
import { checkPrices } from '../settings/parse.ts';
import { findListedModel } from './listed-model.ts';

/** The flags of `connectionFlags` and `priceFlags`, as they were typed. */
export type ConnectionFlags = FlagValues<typeof connectionFlags> & FlagValues<typeof priceFlags>;

/** The flags of a command that asks a model, as they were typed; `Own` are the flags of this command alone. */
export type AskFlags<Own extends FlagTable> = ConnectionFlags &
  RequestFlags &
  Omit<FlagValues<Own & typeof outputFlags>, keyof RequestFlags>;

/** All flags of settings, as they were typed. */
export type TypedSettings = ConnectionFlags &
  Omit<SettingsFlags, keyof ConnectionFlags | 'modelFrom' | 'replay'> & {
    places?: Pick<TextPlaces, 'model'>;
    dryRun?: true;
    curl?: true;
  };

/** The error for `--api-key`: a key in argv is public, and the flag exists to say so. */
export function keyInArgv(): GatewayError {
  return usageError(
    '--api-key would show the key to every user of this machine',
    'set GATEWAY_API_KEY, or use --api-key-file <path>',
  );
}

/** Reads the sources of settings: flags, environment and config file, without the use. Throws GatewayError usage. */
export async function readSettingsInput(flags: TypedSettings, context: Context): Promise<Omit<SettingsInput, 'use'>> {
  if (flags.apiKey !== undefined) throw keyInArgv();
  checkRecordingFlags(flags);
  const config = await readConfig(await configPath(context.io));
  return { env: context.io.env, config, flags: await readSettingsFlags(flags, context) };
}

/** The flags of settings with the files that they name. Throws GatewayError usage. */
export async function readSettingsFlags(flags: TypedSettings, { io, root }: Context): Promise<SettingsFlags> {
  return {
    ...flags,
    // These two flags can be typed before the name of the command.
    stdin: root.stdin,
    profile: root.profile,
    modelFrom: flags.places?.model,
    replay: replayedFolder(flags) !== undefined,
    header: flags.header && (await readHeaderFlags(flags.header, (path) => readTextFile('--header', path, io.cwd))),
    prices: flags.prices === undefined ? undefined : await readPrices(flags.prices, io.cwd),
  };
}

/** Reads `--prices`. Throws GatewayError usage. */
async function readPrices(word: string, cwd: string): Promise<Prices> {
  const isJson = word.trimStart().startsWith('{');
  const value = parseJson('--prices', isJson ? word : await readTextFile('--prices', word, cwd));
  return checkPrices(value, isJson ? '--prices' : `--prices ${word}`);
}

/** The settings of one use. Throws GatewayError usage or auth. */
export async function readSettings(
  flags: TypedSettings,
  context: Context,
  use: Use,
  kept?: KeptModel,
): Promise<Settings> {
  const input = { ...(await readSettingsInput(flags, context)), use, kept };
  const replayed = replayedFolder(flags);
  let found = resolvePartialSettings(input);
  if (replayed !== undefined && !found.model) {
    const { noModelToReplay } = await import('./recordings.ts');
    throw await noModelToReplay(replayed, context, use);
  }
  const { isKeyless, formats } = services[found.service];
  if (!found.model && isKeyless && formats[use] !== undefined) {
    const model = await findListedModel(found, flags, context);
    const origin = { kind: 'service', from: `the list of ${services[found.service].title}` } as const;
    found = { ...found, model, origins: { ...found.origins, model: origin } };
  }
  const resolved = resolveSettings(input, found);
  const settings = { ...resolved, findEfforts: openEfforts(resolved, context) };
  const { key, warnings, lane } = settings;
  if (flags.laneFallback !== undefined && lane !== 'flex')
    throw usageError('--lane-fallback is for the flex lane', 'add --lane flex');
  // Stdin is reserved before the prompt looks at it; the key itself is read last, and for `--dry-run` never.
  if (key.kind === 'file' && key.path === '-' && replayed === undefined) context.stdin.reserve('--api-key-file');
  for (const warning of warnings) await context.ui.warn(warning);
  await logChoices(settings, context);
  return settings;
}

/** Reads the kept list of models once for all requests with the same settings. */
function openEfforts(settings: Settings, { io }: Context): NonNullable<Settings['findEfforts']> {
  let opened: ReturnType<typeof openFacts> | undefined;
  return async () => findKeptEfforts(await (opened ??= openFacts(settings, io.now)), settings.model);
}

/** The use of each command that asks a model once. */
export const usesByCommand = {
  text: 'text',
  chat: 'chat',
  'image gen': 'image',
  'image edit': 'edit',
} as const satisfies Record<string, Use>;

/** Logs why a service was chosen if the user named none; with `--verbose`, also the effects of the base URL. */
async function logChoices({ service, model, proxy, baseUrl, key, origins }: Settings, { ui }: Context): Promise<void> {
  const { title } = services[service];
  const byVariable = origins.baseUrl?.kind === 'variable' ? origins.baseUrl.name : '';
  const at = addressNames(service).includes(byVariable) ? ` at ${new URL(baseUrl ?? '').origin} (${byVariable})` : '';
  const chosenBy = origins.service;
  const otherKey = 'origin' in key && key.origin.from !== chosenBy.from ? `; the key is of ${key.origin.from}` : '';
  if (chosenBy.kind === 'variable' && chosenBy.name !== 'GATEWAY_SERVICE')
    await ui.notice(`using ${title}${at}, ${model} (${chosenBy.name}${otherKey})`);
  else if (at !== '') await ui.notice(`using ${title}${at}`);
  if (chosenBy.kind === 'host') await ui.detail(`service ${service}, by ${chosenBy.from}`);
  if (proxy && baseUrl && isLoopback(new URL(baseUrl)))
    await ui.detail(`the gateway is on this machine: the proxy of ${origins.proxy?.from} is not used`);
}

/** Throws GatewayError usage for flags that cannot be combined. */
export function checkRecordingFlags(flags: RecordingFlags): void {
  const { record, replay, maxAge } = flags;
  if (record !== undefined && replay !== undefined && resolve(record) !== resolve(replay)) {
    const folder = shellWord(replay);
    throw usageError(
      '--record and --replay name two folders; together they are a cache, which is one',
      `for a cache: --record ${folder} --replay ${folder}`,
    );
  }
  if (maxAge !== undefined && !isCache(flags)) {
    throw usageError(
      '--max-age needs a cache: --record and --replay with the same folder',
      'for example: --record recordings --replay recordings --max-age 7d',
    );
  }
}

async function readTextFile(flag: string, path: string, cwd: string): Promise<string> {
  return decodeText(await readUserFile(flag, path, cwd), `${flag}: ${quoteWord(path)}`);
}
