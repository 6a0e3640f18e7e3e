import {
  type AuthUse,
  chooseAuthUse,
  createMemoryStore,
  deadlineOnce,
  drainDeltas,
  encodeRequest,
  endSignals,
  type FormatName,
  formatNames,
  GatewayError,
  getQuirks,
  keyFacts,
  loadFormat,
  type PreparedRequest,
  readHeaderNames,
  services,
  type Use,
  vendorHeaderNames,
} from '../../../library/index.ts';
import { openClient } from '../../run/client.ts';
import { findListedModel } from '../../run/listed-model.ts';
import type { Secret } from '../../settings/redact.ts';
import type { PartialSettings } from '../../settings/types.ts';
import {
  attempt,
  type Check,
  configCommand,
  failedCheck,
  type Gateway,
  listServedUses,
  once,
  withKey,
} from './checks.ts';

/** A way to authenticate a request: the form of the key, and the names of the headers that differ between services. */
interface AuthScheme {
  form: 'api-key' | 'bearer';
  apiKey: string;
  version: string;
}

/** The header of each format whose name differs between services. */
const headerOf: { readonly [name in FormatName]?: 'apiKey' | 'version' } = { content: 'apiKey', messages: 'version' };

/** The schemes that a gateway of one's own may accept, by their descriptions. */
function listSchemes(format: FormatName, own: AuthScheme): Map<string, AuthScheme> {
  const header = headerOf[format];
  const names =
    header === undefined
      ? [{}]
      : [own, services.gateway.headerNames, vendorHeaderNames].map((all) => ({ [header]: all[header] }));
  const schemes = new Map<string, AuthScheme>();
  for (const form of ['api-key', 'bearer'] as const) {
    for (const name of names) {
      const scheme = { ...own, ...name, form };
      const about = describeScheme(format, scheme);
      // Of equal schemes the first one counts, whose names are those of the settings.
      schemes.set(about, schemes.get(about) ?? scheme);
    }
  }
  return schemes;
}

/** The differences of a scheme from others of its format. With Bearer the name of the key's header does not matter. */
function describeScheme(format: FormatName, { form, apiKey, version }: AuthScheme): string {
  if (format === 'messages') return `${form} ${version}`;
  return format === 'content' && form === 'api-key' ? `${form} ${apiKey}` : form;
}

/** The scheme of the settings; `own` is the form if they leave it to the format. */
function chooseScheme({ auth, headerNames, service }: PartialSettings, own: AuthScheme['form']): AuthScheme {
  return { form: auth === 'auto' ? own : auth, ...readHeaderNames(headerNames, service) };
}

/** The schemes of the settings by their descriptions, each with its uses under their names in `auth` of a profile. */
function listConfigured(
  format: FormatName,
  uses: readonly Use[],
  { gateway }: Live,
): Map<string, Pick<Tried, 'scheme' | 'users'>> {
  const configured = new Map<string, Pick<Tried, 'scheme' | 'users'>>();
  for (const [user, use] of new Map(uses.map((each) => [chooseAuthUse(format, each), each]))) {
    const scheme = chooseScheme(gateway.surveyed.byUse[use], keyFacts[user].form);
    const about = describeScheme(format, scheme);
    const known = configured.get(about) ?? { scheme, users: [] };
    configured.set(about, { ...known, users: [...known.users, user] });
  }
  return configured;
}

/** The outcome of a request with one scheme, and the uses of the scheme under their names in `auth` of a profile. */
interface Tried {
  scheme: AuthScheme;
  users: readonly AuthUse[];
  check: Check;
  /** The gateway does not have the path: perhaps it does not have the format. */
  isAbsent: boolean;
}

/** The checks of one format. */
interface ExaminedFormat {
  checks: Check[];
  /** Whether one scheme was accepted. */
  answers: boolean;
  isAbsent: boolean;
}

/**
 * Sends the smallest request of each format, with the schemes of the settings. If one is refused, the other forms and header
 * names are tried until one is accepted. An accepted request may be billed. A gateway need not have every format.
 */
export async function examineLive(gateway: Gateway, key: Secret | undefined): Promise<Check[]> {
  const { byUse } = gateway.surveyed;
  const examined: ExaminedFormat[] = [];
  for (const name of formatNames) {
    const uses = listServedUses(gateway).filter((use) => byUse[use].format === name);
    if (uses.length > 0) examined.push(await examineFormat(name, uses, { gateway, key }));
  }
  const isServed = examined.some(({ answers }) => answers);
  const other = !isServed && examined.some(({ isAbsent }) => isAbsent) ? await findFormat({ gateway, key }) : [];
  const checks = examined.flatMap((format) =>
    format.checks.map((check): Check => {
      if (!format.isAbsent || !(isServed || other.length > 0)) return check;
      const text = `${check.text}; perhaps the gateway does not have this format`;
      return { name: check.name, state: 'warning', text, fix: check.fix };
    }),
  );
  return [...checks, ...other];
}

interface Live {
  gateway: Gateway;
  key: Secret | undefined;
}

/** The format that a gateway without a known service speaks in place of missing ones, and the command that sets it. */
async function findFormat(live: Live): Promise<Check[]> {
  const { surveyed, uses, context } = live.gateway;
  const { byUse } = surveyed;
  const use = uses.find((one) => byUse[one].service === 'gateway' && byUse[one].model !== undefined);
  const inUse = new Set(uses.map((one) => byUse[one].format));
  for (const name of formatNames) {
    if (use === undefined || inUse.has(name)) continue;
    const { answers } = await examineFormat(name, [use], live);
    const fix = configCommand(`format ${name}`, context);
    const text = `the gateway speaks the ${name} format`;
    if (answers) return [{ name: 'format', state: 'failed', class: 'usage', text, fix }];
  }
  return [];
}

async function examineFormat(format: FormatName, uses: readonly Use[], live: Live): Promise<ExaminedFormat> {
  const { gateway } = live;
  const { byUse } = gateway.surveyed;
  const use = uses.find((one) => byUse[one].model !== undefined) ?? (uses[0] as Use);
  const settings = byUse[use];
  const found = await attempt(format, () => findModel(settings, gateway), gateway.context.signal);
  const model = 'failed' in found ? undefined : found.value;
  if (model === undefined) {
    const text = 'failed' in found ? found.failed.text : 'no model to ask';
    const fix = configCommand(`models.${use} <model>`, gateway.context);
    return { checks: [{ name: format, state: 'skipped', text, fix }], answers: false, isAbsent: false };
  }
  const smallest = { use: 'text', model, prompt: 'hi', maxTokens: leastTokens, stream: undefined } as const;
  const quirks = getQuirks(settings.service, format, settings.baseUrl);
  const request = { post: encodeRequest(smallest, await loadFormat(format), quirks), model };
  const ask = async (scheme: AuthScheme): Promise<Pick<Tried, 'check' | 'isAbsent'>> => {
    const name = format === 'content' ? `content, ${scheme.form}` : format;
    return askWith(scheme, request, { live, use, name });
  };
  const configured = listConfigured(format, uses, live);
  const tried: Tried[] = [];
  for (const one of configured.values()) tried.push({ ...one, ...(await ask(one.scheme)) });
  let works = tried.find(({ check }) => check.state === 'ok')?.scheme;
  // A service with a host of its own accepts only the scheme that is set.
  const isOpen = works === undefined && settings.service === 'gateway' && tried.some(isRefusal);
  for (const [about, scheme] of isOpen ? listSchemes(format, chooseScheme(settings, 'api-key')) : []) {
    if (works !== undefined || configured.has(about)) continue;
    if ((await ask(scheme)).check.state === 'ok') works = scheme;
  }
  return {
    checks: tried.map((one) => (works !== undefined && isRefusal(one) ? withFix(one, works, gateway) : one.check)),
    answers: works !== undefined,
    // If the other format accepts the key, a gateway that refuses the key here does not have this format.
    isAbsent: works === undefined && tried.every(({ isAbsent, check }) => isAbsent || check.class === 'auth'),
  };
}

/** The model of the settings, or the one with which a local server answers. Throws GatewayError. */
async function findModel(settings: PartialSettings, { flags, context }: Gateway): Promise<string | undefined> {
  if (settings.model !== undefined || !services[settings.service].isKeyless) return settings.model;
  return findListedModel(settings, flags, context);
}

/** The least limit of tokens that every service takes. */
const leastTokens = 16;

/** Whether another scheme could be accepted. A missing version header is a bad request. */
function isRefusal({ check }: Tried): boolean {
  return check.state === 'failed' && (check.class === 'auth' || check.class === 'rejected');
}

/** A refusal, with the commands that set a scheme that is accepted. */
function withFix({ scheme, users, check }: Tried, works: AuthScheme, { context, surveyed }: Gateway): Check {
  const { origins } = Object.values(surveyed.byUse).find(
    ({ format, use }) => chooseAuthUse(format, use) === users[0],
  ) as PartialSettings;
  const { apiKey, version } = origins.headerNames;
  const changes = [
    { origin: origins.auth, from: scheme.form, to: works.form, keys: users.map((user) => `auth.${user}`) },
    { origin: apiKey, from: scheme.apiKey, to: works.apiKey, keys: ['headerNames.apiKey'] },
    { origin: version, from: scheme.version, to: works.version, keys: ['headerNames.version'] },
  ].filter(({ from, to }) => from !== to);
  const commands = changes.flatMap(({ keys, to }) => keys.map((key) => configCommand(`${key} ${to}`, context)));
  // Flags and variables win over the profile.
  const stronger = new Set(changes.flatMap(({ origin }) => (origin && 'name' in origin ? [origin.name] : [])));
  const lines = [...(stronger.size > 0 ? [`leave out ${[...stronger].join(' and ')}, and type:`] : []), ...commands];
  return { ...check, text: `refused, but ${users.join(' and ')} would use it: ${check.text}`, fix: lines.join('\n') };
}

/** Sends a request with a scheme. Throws only errors that end the program: a signal, a closed output. */
async function askWith(
  scheme: AuthScheme,
  request: PreparedRequest,
  { live: { gateway, key }, use, name }: { live: Live; use: Use; name: string },
): Promise<Pick<Tried, 'check' | 'isAbsent'>> {
  const { flags, context } = gateway;
  const settings = {
    ...withKey(gateway.surveyed.byUse[use], key),
    auth: scheme.form,
    headerNames: { apiKey: scheme.apiKey, version: scheme.version },
  };
  const deadline = deadlineOnce(settings.timeoutMs, context.signal);
  const client = await openClient(settings, flags, context, { deadline });
  try {
    const options = { ...once, deadline: deadline(), store: createMemoryStore() };
    const { error } = await drainDeltas(client.ask(request, options));
    return error ? refused(name, error) : accepted(name, 'accepted');
  } catch (error) {
    if (error instanceof GatewayError && endSignals.has(error.class)) throw error;
    return refused(name, error);
  } finally {
    await client.close();
  }
}

function accepted(name: string, text: string): Pick<Tried, 'check' | 'isAbsent'> {
  return { check: { name, state: 'ok', text }, isAbsent: false };
}

const absentStatuses = new Set([404, 405, 501]);

function refused(name: string, error: unknown): Pick<Tried, 'check' | 'isAbsent'> {
  const { status, reason, value } = error instanceof GatewayError ? error.details : {};
  // Key, path and model were accepted: only the limit of this request was not.
  if (reason === 'max-tokens') return accepted(name, `accepted; ${leastTokens} tokens were not enough for an answer`);
  if (reason === 'other-field') return accepted(name, `accepted; the model takes ${value} in place of max_tokens`);
  const isAbsent = reason === 'no-such-path' || (absentStatuses.has(status ?? 0) && reason !== 'model');
  return { check: failedCheck(name, error), isAbsent };
}
