import { isObject, type JsonValue, readPriceList, startDeadline, usageError } from '../../../library/index.ts';
import { readUserFile } from '../../input/input-files.ts';
import { parseJson, quoteWord } from '../../flags/flag.ts';
import { openUrlFetcher } from '../../run/fetch-urls.ts';
import type { Context } from '../../context.ts';
import { resolvePartialSettings } from '../../settings/resolve.ts';
import type { Config, LoadedConfig, PartialSettings } from '../../settings/types.ts';

/** The limit is larger than any of the lists; the config file holds one megabyte. */
const maxListBytes = 32 * 1024 * 1024;
const maxModels = 2000;

/** The prices of `config set prices @<file|url>`, and a message about them. */
interface PriceFile {
  /** The profile's own prices, replaced by those of the file. */
  word: (config: Config) => string;
  told: string;
}

/**
 * Reads a file of prices: in our own form, or the list of models.dev, from which the models of the service are taken. Throws
 * GatewayError.
 */
export async function readPriceFile(
  place: string,
  { loaded, profile }: { loaded: LoadedConfig; profile: string },
  context: Context,
): Promise<PriceFile> {
  const label = 'config set prices';
  const flags = { profile: Object.hasOwn(loaded.config.profiles, profile) ? profile : undefined };
  const settings = resolvePartialSettings({ flags, env: context.io.env, config: loaded, use: 'text' });
  const bytes = await readPlace(label, place, settings, context);
  if (bytes.byteLength > maxListBytes) throw usageError(`${quoteWord(place)} is too large for a list of prices`);
  const text = new TextDecoder().decode(bytes).replace(/^\uFEFF/, '');
  const json = parseJson(`${label} ${quoteWord(place)}`, text) as JsonValue;
  const service = settings.service;
  const read = readPriceList(json, service === 'gateway' ? undefined : service);
  const prices = read?.prices ?? (isObject(json) ? json : {});
  const count = Object.keys(prices).length;
  const whose = service === 'gateway' ? '' : ` of ${service}`;
  if (count === 0)
    throw usageError(
      `${quoteWord(place)} has no prices${whose}`,
      read ? 'it is the list of models.dev; set them one by one' : 'name a list of prices, or set them one by one',
    );
  if (count > maxModels)
    throw usageError(
      `${quoteWord(place)} has prices of ${count} models, and a profile holds ${maxModels}`,
      read
        ? `say which service the profile is for, and set them again: gateway-cli config set service gemini --profile ${profile}`
        : 'how a list of others becomes one of ours, of one service: gateway-cli help costs',
    );
  return {
    word: ({ profiles }) => JSON.stringify({ ...profiles[profile]?.prices, ...prices }),
    told: read
      ? `${count} of the ${read.listed} models of models.dev have a price${whose}, in USD`
      : `${count} ${count === 1 ? 'price is' : 'prices are'} taken`,
  };
}

async function readPlace(
  label: string,
  place: string,
  settings: PartialSettings,
  context: Context,
): Promise<Uint8Array> {
  if (!/^https?:/i.test(place)) return readUserFile(label, place, context.io.cwd);
  const deadline = startDeadline(settings.timeoutMs, context.signal);
  context.atEnd(async () => deadline.end());
  const fetched = await openUrlFetcher({}, context).fetchAll([{ flag: label, typed: place }], {
    settings,
    deadline,
    atEnd: context.atEnd,
  });
  return readUserFile(label, fetched.get(place)?.path ?? '', context.io.cwd);
}
