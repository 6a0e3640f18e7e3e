import type { Context } from '../../cli/context.ts';
import { type AuthForms, type Connection, openConnection } from '../../cli/run/connection.ts';
import { type ConnectionFlags, readSettingsInput } from '../../cli/run/settings.ts';
import { type ModelList, readModelList } from '../../client/model-list.ts';
import { GatewayError } from '../../errors.ts';
import type { ListedModel } from '../../formats/model-list.ts';
import { services } from '../../services.ts';
import type { ListOwner } from '../../settings/kept-models.ts';
import { missingError } from '../../settings/missing.ts';
import { surveySettings } from '../../settings/resolve.ts';
import { vendorWay } from '../../settings/service.ts';
import type { SettingsSurvey } from '../../settings/settings.ts';

type Format = 'content' | 'messages';

/** A model, and which of the service's lists name it. */
export interface Offered extends ListedModel {
  formats: Format[];
}

/** One list of a service. Two of one gateway have one owner. */
export interface FoundList {
  format: Format;
  owner: ListOwner;
  models: ListedModel[];
}

/** Whose settings a list is asked with. */
const useOf = { content: 'text', messages: 'chat' } as const;
const useOfAuth = { content: 'text', messages: 'messages' } as const;
const listFormats = ['content', 'messages'] as const;

/** A gateway, and the lists that it may have. */
interface Source {
  formats: Format[];
  forms: AuthForms;
  settings: SettingsSurvey;
}

/** What the lists of a service hold. */
export interface FoundLists {
  lists: FoundList[];
  /** Whether nothing is missing that the service has; a warning told what. */
  complete: boolean;
}

/** Asks for every list that there can be. Throws GatewayError where none comes: a list that is missing beside another is none. */
export async function askLists(flags: ConnectionFlags, context: Context): Promise<FoundLists> {
  const found: FoundList[] = [];
  const failures: GatewayError[] = [];
  const cuts: string[] = [];
  for (const { formats, forms, settings } of await sourcesOf(flags, context)) {
    const connection = await openConnection(settings, flags, context, { forms });
    context.atEnd(() => connection.close());
    for (const format of formats) {
      const list = await askList(format, connection);
      if (list instanceof GatewayError) {
        failures.push(list);
        continue;
      }
      found.push({ format, owner: settings, models: list.models });
      if (list.cut !== undefined) cuts.push(`the list of models is not whole: ${list.cut}`);
    }
  }
  const told = failures.filter((failure) => !isNoList(failure));
  if (found.length === 0) throw noneFound(told, failures);
  const warnings = [...told.map(({ message }) => `one of two lists: ${message}`), ...cuts];
  for (const warning of warnings) await context.ui.warn(warning);
  return { lists: found, complete: warnings.length === 0 };
}

/** One for each gateway: what text and chat share is opened once, with the form of authentication of each. */
async function sourcesOf(flags: ConnectionFlags, context: Context): Promise<Source[]> {
  const input = await readSettingsInput(flags, context);
  for (const warning of input.config.warnings) await context.ui.warn(warning);
  const known = listFormats
    .map((format) => ({ format, settings: surveySettings({ ...input, use: useOf[format] }) }))
    .filter(({ format, settings }) => services[settings.service.value].uses.includes(useOf[format]));
  const set = known.filter(({ settings }) => settings.baseUrl !== undefined || settings.offline.value);
  if (set.length === 0) {
    const uses = known.map(({ settings }) => settings.use);
    const use = uses.find((one) => vendorWay({ ...input, use: one }) !== undefined) ?? uses[0] ?? 'text';
    throw missingError({ ...input, use }, ['base URL']);
  }
  const sources: Source[] = [];
  for (const { format, settings } of set) {
    const shared = sources.find((source) => isSameGateway(source.settings, settings));
    const forms = { [useOfAuth[format]]: settings.auth.value };
    if (shared) {
      Object.assign(shared.forms, forms);
      shared.formats.push(format);
    } else sources.push({ formats: [format], forms, settings });
  }
  return sources;
}

function isSameGateway(one: SettingsSurvey, other: SettingsSurvey): boolean {
  return one.baseUrl?.value === other.baseUrl?.value && one.profile?.value === other.profile?.value;
}

async function askList(format: Format, connection: Connection): Promise<ModelList | GatewayError> {
  try {
    return await readModelList((get) => connection.send(get), format);
  } catch (error) {
    if (error instanceof GatewayError && error.details.status !== undefined) return error;
    throw error;
  }
}

/** A gateway need not have lists; one may answer any path with a page. */
function isNoList({ class: errorClass, details }: GatewayError): boolean {
  return [404, 405, 501].includes(details.status ?? 0) || errorClass === 'bad-reply';
}

/** One list is not there, and the key is refused for the other: the gateway may lack that format, and take the key. */
function noneFound(told: readonly GatewayError[], failures: readonly GatewayError[]): GatewayError {
  const [first] = told;
  if (first === undefined) return noList(failures[0]);
  if (first.class !== 'auth' || told.length === failures.length) return withoutModel(first);
  return noList(first).but({
    hint: `one of its two lists does not exist, and for the other: ${first.message}\ngateway-cli doctor --live tries the key, format by format`,
  });
}

/** This command names no model. */
function withoutModel(error: GatewayError): GatewayError {
  const { reason } = error.details;
  if (reason !== 'address' && reason !== 'no-such-path' && reason !== 'model') return error;
  return error.but({ hint: 'check --base-url', reason: undefined });
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
