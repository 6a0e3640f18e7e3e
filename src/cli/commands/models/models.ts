import type { Command } from 'commander';
import { addFlags, type FlagTable, type FlagValues, oneOfWords, setExamples, setNotes } from '../../flags/flag.ts';
import { connectionFlags } from '../../flags/shared.ts';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { type ConnectionFlags, readSettingsInput } from '../../run/settings.ts';
import { keepModels, type MemoryOwner, openFacts } from '../../settings/memory.ts';
import { cutToColumns, alignColumns } from '../../terminal/break-lines.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { type AuthForms, openClient } from '../../run/client.ts';
import {
  chooseAuthUse,
  daysLeft,
  type Deadline,
  deadlineOnce,
  endsWithin,
  type FormatName,
  type GatewayClient,
  GatewayError,
  type ListedModel,
  listUses,
  type ModelList,
  servesUse,
  services,
  useNames,
} from '../../../library/index.ts';
import { parseAge } from '../../settings/values.ts';
import { missingError, vendorWay } from '../../settings/missing.ts';
import { resolvePartialSettings } from '../../settings/resolve.ts';
import type { PartialSettings } from '../../settings/types.ts';

const unused = new Set(['model', 'record', 'replay']);

const modelsFlags = {
  use: {
    flags: '--use <use>',
    text: 'only models for text, image, edit or chat, by what the list or the name says',
    parse: oneOfWords(useNames),
    values: useNames,
  },
  ending: {
    flags: '--ending <time>',
    text: 'only models that end within this time, such as 60d, or are deprecated',
    parse: parseAge,
  },
} satisfies FlagTable;

/** The connection flags except those for requests to a model: a list is not recorded. */
const listFlags = Object.fromEntries(Object.entries(connectionFlags).filter(([name]) => !unused.has(name)));

/** `models [filter]`: the models of a service, by its own lists. */
export function modelsCommand(command: Command): Action {
  command.argument('[filter]', 'a part of the name').usage('[filter] [flags]');
  setExamples(command, [
    'gateway-cli models',
    'gateway-cli models flash --service gemini',
    'gateway-cli models --use image --ending 60d',
    'gateway-cli text -m "$(gateway-cli models | fzf)" hi',
    'gateway-cli models --json | jq -r .models[].id',
  ]);
  setNotes(command, [
    'A terminal gets a table of what the service says of each (end, limits, prices), a pipe one name per line; --json has all of it.',
    'The list is kept for a day: -m completes from it, an unknown model is answered with the nearest, and one that ends with a warning.',
  ]);
  addFlags(command, 'Flags', modelsFlags);
  addFlags(command, 'Connection', listFlags);
  return (context, [filter = ''], flags) => runModels(filter, flags as ModelsFlags, context);
}

type ModelsFlags = ConnectionFlags & FlagValues<typeof modelsFlags>;

async function runModels(filter: string, flags: ModelsFlags, context: Context): Promise<CommandEnd> {
  const { root, ui, io } = context;
  const { use, ending } = flags;
  const progress = ui.progress('waiting for the list of models');
  const { lists: told, complete } = await requestLists(flags, context).finally(() => progress.stop());
  const lists = told.map((list) => ({ ...list, models: ui.clean(list.models) }));
  await cacheNames(lists, context);
  const all = mergeModels(lists);
  const named = all.filter(({ id, title = '' }) => `${id}\n${title}`.toLowerCase().includes(filter.toLowerCase()));
  const models = named.filter(
    (model) =>
      (use === undefined || servesUse(model, use)) &&
      (ending === undefined || endsWithin(ending / 86_400_000, model, io.now())),
  );
  if (!root.json) await printModels(models, context);
  if (models.length === 0)
    await ui.notice(all.length === 0 ? 'the list is empty' : `none of ${all.length} models matches`);
  return { document: { schema: 'gateway-cli/models@1', complete, models } };
}

/** Sorts merged models by name, with numbers in names by their value. */
function mergeModels(lists: readonly FoundList[]): FoundModel[] {
  const byId = new Map<string, FoundModel>();
  for (const { format, models } of lists) {
    for (const model of models) {
      const { formats = [], ...known } = withoutUnknown(byId.get(model.id) ?? {});
      const { id, title, operations, ...facts } = { ...model, ...known };
      byId.set(id, { id, title, formats: [...new Set([...formats, format])], operations, ...facts });
    }
  }
  const { compare } = new Intl.Collator('en', { numeric: true });
  return [...byId.values()].toSorted((one, other) => compare(one.id, other.id));
}

function withoutUnknown(facts: Partial<FoundModel>): Partial<FoundModel> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

/** Caches the names of each gateway and profile. A cache that cannot be written does not fail the command. */
async function cacheNames(lists: readonly FoundList[], { io, ui }: Context): Promise<void> {
  for (const owner of new Set(lists.map((list) => list.owner))) {
    const own = lists.filter((list) => list.owner === owner).flatMap(({ models }) => models);
    await keepModels(await openFacts(owner, io.now), own, io.now()).catch((error: Error) =>
      ui.detail(`the names are not kept: ${error.message}`),
    );
  }
}

async function printModels(models: readonly FoundModel[], { io }: Context): Promise<void> {
  const names = models.map(({ id }) => escapeLine(id));
  const { isTTY, columns } = io.stdout;
  if (!isTTY) return io.stdout.write(names.map((name) => `${name}\n`).join(''));
  const all = models.map((model, at) => [names[at] ?? '', ...describeListedModel(model, io.now()).map(escapeLine)]);
  // A column is left out if it is empty or the same for all models.
  const tells = (all[0] ?? []).map((_, column) => column === 0 || all.some((row) => row[column] !== ''));
  const isOneFormat = new Set(models.map(({ formats }) => formats.join())).size === 1;
  const rows = all.map((row) => row.filter((_, column) => tells[column] && !(isOneFormat && column === 1)));
  const lines = alignColumns(rows).map((line, at) => {
    const [name, cut] = [names[at] ?? '', cutToColumns(line, columns)];
    // A name is there to be copied, so it stays whole.
    return cut.startsWith(name) ? cut : name;
  });
  await io.stdout.write(lines.map((line) => `${line}\n`).join(''));
}

/** The columns of the table after the name, the formats first. */
function describeListedModel(model: FoundModel, now: number): string[] {
  const { formats, endsOn, lifecycle = '', line = '', context, outputLimit, prices, inputs, outputs, title } = model;
  const { efforts = [] } = model;
  const end = endsOn === undefined ? '' : `${(daysLeft(model, now) ?? 0) < 0 ? 'ended' : 'ends'} ${endsOn}`;
  const { input, output } = prices ?? {};
  return [
    formats.join(', '),
    end,
    lifecycle,
    line,
    context === undefined ? '' : `${shortCount(context)} in`,
    outputLimit === undefined ? '' : `${shortCount(outputLimit)} out`,
    input === undefined && output === undefined ? '' : `$${input ?? '?'}/$${output ?? '?'}`,
    efforts.length === 0 ? '' : `effort ${efforts.length > 2 ? `${efforts[0]}…${efforts.at(-1)}` : efforts.join('/')}`,
    outputs || inputs ? `${(inputs ?? ['?']).join('+')}→${(outputs ?? ['text']).join('+')}` : '',
    title ?? '',
  ];
}

/** `1M`, `128K`: tokens in thousands. */
function shortCount(count: number): string {
  if (count >= 1e6) return `${Math.floor(count / 1e5) / 10}M`;
  return count >= 1000 ? `${Math.floor(count / 1000)}K` : String(count);
}

/** A model, and the formats of the lists that contain it. */
interface FoundModel extends ListedModel {
  formats: FormatName[];
}

/** One list of a service. Both lists of a gateway have the same owner. */
interface FoundList {
  format: FormatName;
  owner: MemoryOwner;
  models: ListedModel[];
}

/** A gateway, and the lists that it can have. */
interface ModelSource {
  formats: FormatName[];
  forms: AuthForms;
  settings: PartialSettings;
}

/**
 * Requests every possible list. `complete`: none is missing or cut; otherwise there was a warning. Throws GatewayError if none
 * exists; one missing list of two is not an error.
 */
export async function requestLists(
  flags: ConnectionFlags,
  context: Context,
): Promise<{ lists: FoundList[]; complete: boolean }> {
  const found: FoundList[] = [];
  const failures: GatewayError[] = [];
  const cuts: string[] = [];
  for (const { formats, forms, settings } of await listModelSources(flags, context)) {
    const deadline = deadlineOnce(settings.timeoutMs, context.signal);
    const client = await openClient(settings, flags, context, { forms, deadline });
    context.atEnd(() => client.close());
    for (const format of formats) {
      const list = await requestList(format, client, { settings, deadline: deadline() });
      if (list instanceof GatewayError) {
        failures.push(list);
        continue;
      }
      found.push({ format, owner: settings, models: list.models });
      if (list.cut !== undefined) cuts.push(`the list of models is not whole: ${list.cut}`);
    }
  }
  const reported = failures.filter((failure) => !isMissingList(failure));
  if (found.length === 0) throw noneFound(reported, failures);
  const warnings = [...reported.map(({ message }) => `one of two lists: ${message}`), ...cuts];
  for (const warning of warnings) await context.ui.warn(warning);
  return { lists: found, complete: warnings.length === 0 };
}

/** One source for each gateway: if text and chat share a gateway, it is opened once, with both forms of authentication. */
async function listModelSources(flags: ConnectionFlags, context: Context): Promise<ModelSource[]> {
  const input = await readSettingsInput(flags, context);
  for (const warning of input.config.warnings) await context.ui.warn(warning);
  const surveyed = (['text', 'chat'] as const)
    .map((use) => resolvePartialSettings({ ...input, use }))
    .filter(({ service, use }) => listUses(service).includes(use));
  const set = surveyed.filter(({ baseUrl, offline }) => baseUrl !== undefined || offline);
  if (set.length === 0) {
    const uses = surveyed.map(({ use }) => use);
    const use = uses.find((one) => vendorWay({ ...input, use: one }) !== undefined) ?? uses[0] ?? 'text';
    throw missingError({ ...input, use }, ['base URL']);
  }
  const sources: ModelSource[] = [];
  for (const settings of set) {
    const { baseUrl, profile, auth } = settings;
    const format = settings.format;
    const shared = sources.find(({ settings: other }) => other.baseUrl === baseUrl && other.profile === profile);
    if (shared?.formats.includes(format)) continue;
    const forms = { [chooseAuthUse(format, 'text')]: auth };
    if (shared) {
      Object.assign(shared.forms, forms);
      shared.formats.push(format);
    } else sources.push({ formats: [format], forms, settings });
  }
  return sources;
}

async function requestList(
  format: FormatName,
  client: GatewayClient,
  { settings, deadline }: { settings: PartialSettings; deadline: Deadline },
): Promise<ModelList | GatewayError> {
  const { listQuery } = services[settings.service];
  try {
    return await client.listModels(format, { deadline, query: listQuery });
  } catch (error) {
    if (error instanceof GatewayError && error.details.status !== undefined) return error;
    throw error;
  }
}

/** Whether the gateway has no such list; it can answer any path with a web page. */
function isMissingList({ class: errorClass, details }: GatewayError): boolean {
  const isPage = errorClass === 'bad-reply' && details.reason !== 'compressed';
  return isPage || [404, 405, 501].includes(details.status ?? 0);
}

/**
 * The error if no list was found. If one list is missing and the key is refused for the other, the gateway may support only the
 * first format, and accept the key.
 */
function noneFound(reported: readonly GatewayError[], failures: readonly GatewayError[]): GatewayError {
  const [first] = reported;
  if (first === undefined) return noList(failures[0]);
  if (first.class !== 'auth' || reported.length === failures.length) return withoutModelHint(first);
  return noList(first).withDetails({
    hint: `one of its two lists does not exist, and for the other: ${first.message}\ngateway-cli doctor --live tries the key, format by format`,
  });
}

/** Replaces a hint about the model, which this command does not have. */
function withoutModelHint(error: GatewayError): GatewayError {
  const { reason } = error.details;
  if (reason !== 'address' && reason !== 'no-such-path' && reason !== 'model') return error;
  return error.withDetails({ hint: 'check --base-url' });
}

function noList(failure: GatewayError | undefined): GatewayError {
  return new GatewayError('rejected', 'this gateway has no list of models', {
    hint: 'ask whoever runs it for the names, then give one: -m <model>; gateway-cli doctor --live tries it',
    status: failure?.details.status,
    sent: 'yes',
    retryable: false,
    cause: failure,
  });
}
