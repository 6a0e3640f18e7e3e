import {
  type AuthUse,
  chooseAuthUse,
  createMemoryStore,
  deadlineOnce,
  describeEnd,
  drainDeltas,
  encodeRequest,
  endSignals,
  type FormatName,
  formatNames,
  GatewayError,
  getQuirks,
  isEnding,
  isOwnHost,
  keyFacts,
  type ListedModel,
  listUses,
  loadFormat,
  type PreparedRequest,
  readHeaderNames,
  services,
  shellWord,
  type Use,
  useNames,
  vendorHeaderNames,
} from '../../../library/index.ts';
import { openClient } from '../../run/client.ts';
import { findListedModel } from '../../run/listed-model.ts';
import type { Secret } from '../../settings/redact.ts';
import type { KeySource, PartialSettings } from '../../settings/types.ts';
import { type Check, type GatewaySubject, failedCheck, type Finding, profileFlag, type CheckStep } from './checks.ts';

const once = { policy: { retries: 0, maxWaitMs: 0, safeOnly: true } };

/** Asks for the lists of models, which are free: a list means that the key is accepted. A gateway need not have any. */
export const keyTakenRow: CheckStep<GatewaySubject> = { name: 'key taken', check: findList };

const maxNamed = 5;

async function findList({ surveyed, uses, key, flags, context }: GatewaySubject): Promise<Finding> {
  const failures: GatewayError[] = [];
  const offered = uses.filter((use) => listUses(surveyed.byUse[use].service).includes(use));
  for (const format of new Set(offered.map((use) => surveyed.byUse[use].format))) {
    const settings = surveyed.byUse[offered.find((use) => surveyed.byUse[use].format === format) ?? 'text'];
    const deadline = deadlineOnce(settings.timeoutMs, context.signal);
    const client = await openClient(withKey(settings, key), flags, context, { deadline });
    try {
      const { models } = await client.listModels(format, { ...once, deadline: deadline() });
      const names = models.slice(0, maxNamed).map(({ id }) => id);
      const some = [...names, ...(models.length > maxNamed ? ['…'] : [])].join(', ');
      const { hasPublicList, title } = services[settings.service];
      const list = `list of ${models.length === 1 ? 'one model' : `${models.length} models`}`;
      if (hasPublicList)
        return { state: 'skipped', text: `${title} gives its ${list} to anyone: ${some}; --live tries the key` };
      return `the ${list} came ${key === undefined ? 'without one' : 'with it'}: ${some}`;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.details.status === undefined) throw error;
      failures.push(error);
    } finally {
      await client.close();
    }
  }
  // A list that does not exist says nothing about the key, and the gateway may lack the format of the other list.
  const [first] = failures;
  if (first !== undefined && failures.every((error) => error.class === 'auth')) throw first;
  const text = 'the gateway has no list of models, by which the key could be tried; --live sends requests';
  return { state: 'skipped', text };
}

/** The key was read already: no command runs twice. */
function withKey(settings: PartialSettings, secret: Secret | undefined): PartialSettings {
  if (secret === undefined || settings.key.kind === 'missing' || settings.key.kind === 'none') return settings;
  return { ...settings, key: { ...settings.key, kind: 'value', secret } satisfies KeySource };
}

/** A way to authenticate a request: the form of the key, and the names of the headers that differ between services. */
interface AuthScheme {
  form: 'api-key' | 'bearer';
  apiKey: string;
  version: string;
}

/** The authentication schemes that a gateway may accept, for formats that have several. They are made from the configured scheme. */
const schemesOf: { readonly [name in FormatName]?: (own: AuthScheme) => AuthScheme[] } = {
  content(own) {
    const names = [own.apiKey, services.gateway.headerNames.apiKey, vendorHeaderNames.apiKey];
    return [...names.map((apiKey): AuthScheme => ({ ...own, form: 'api-key', apiKey })), { ...own, form: 'bearer' }];
  },
  messages(own) {
    const versions = [own.version, services.gateway.headerNames.version, vendorHeaderNames.version];
    return versions.flatMap((version): AuthScheme[] => [
      { ...own, form: 'api-key', version },
      { ...own, form: 'bearer', version },
    ]);
  },
};

/** The outcome of one request. */
interface SchemeCheck {
  check: Check;
  /** The gateway does not have the path: perhaps it does not have the format. */
  isAbsent: boolean;
}

/** A request with one scheme. */
interface Tried extends SchemeCheck {
  scheme: AuthScheme;
  /** The uses of the scheme, under their names in `auth` of a profile. */
  users: AuthUse[];
}

/** The checks of one format, by all requests in it. */
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
export async function examineLive(live: GatewaySubject): Promise<Check[]> {
  const examined: ExaminedFormat[] = [];
  for (const name of formatNames) examined.push(await examineFormat(name, usesIn(name, live), live));
  const isServed = examined.some(({ answers }) => answers);
  const other = !isServed && examined.some(({ isAbsent }) => isAbsent) ? await findFormat(live) : [];
  const checks = examined.flatMap((format) =>
    format.checks.map((check): Check => {
      if (!format.isAbsent || !(isServed || other.length > 0)) return check;
      const text = `${check.text}; perhaps the gateway does not have this format`;
      return { name: check.name, state: 'warning', text, fix: check.fix };
    }),
  );
  return [...checks, ...other, ...(await examineEnds(live))];
}

/** The models in use that will be removed, by the lists of vendors at their own hosts: the date, and the replacement. */
async function examineEnds(live: GatewaySubject): Promise<Check[]> {
  const { uses, surveyed, flags, context } = live;
  const lists = new Map<FormatName, ListedModel[]>();
  const ends = new Map<string, Check>();
  for (const use of uses) {
    const { service, format, model, baseUrl, timeoutMs } = surveyed.byUse[use];
    if (model === undefined || baseUrl === undefined || !isOwnHost(service, baseUrl)) continue;
    if (!lists.has(format)) {
      const deadline = deadlineOnce(timeoutMs, context.signal);
      const client = await openClient(withKey(surveyed.byUse[use], live.key), flags, context, { deadline });
      const query = services[service].listQuery;
      // Without a list nothing is known.
      const list = await client
        .listModels(format, { ...once, query, deadline: deadline() })
        .catch(() => ({ models: [] }))
        .finally(() => client.close());
      lists.set(format, list.models);
    }
    const listed = lists.get(format)?.find(({ id }) => id === model);
    const now = context.io.now();
    if (listed === undefined || !isEnding(listed, now)) continue;
    const { id, endsOn, lifecycle, successor } = listed;
    const next = successor === undefined ? '<model>' : shellWord(successor);
    const setModel = `gateway-cli config set models.${use} ${next}${profileFlag(context)}`;
    const text = describeEnd({ model: id, endsOn, lifecycle, successor }, now);
    ends.set(id, ends.get(id) ?? { name: 'model', state: 'warning', text, fix: setModel });
  }
  return [...ends.values()];
}

/** The uses that a gateway has in a format. */
function usesIn(format: FormatName, { uses, surveyed: { byUse } }: GatewaySubject): Use[] {
  return uses.filter((use) => byUse[use].format === format && listUses(byUse[use].service).includes(use));
}

/** The format that a gateway without a known service speaks in place of missing ones, and the command that sets it. */
async function findFormat(live: GatewaySubject): Promise<Check[]> {
  const { byUse } = live.surveyed;
  const use = live.uses.find((one) => byUse[one].service === 'gateway' && byUse[one].model !== undefined);
  const inUse = new Set(live.uses.map((one) => byUse[one].format));
  for (const name of formatNames) {
    if (use === undefined || inUse.has(name)) continue;
    const { answers } = await examineFormat(name, [use], live);
    const fix = `gateway-cli config set format ${name}${profileFlag(live.context)}`;
    const text = `the gateway speaks the ${name} format`;
    if (answers) return [{ name: 'format', state: 'failed', class: 'usage', text, fix }];
  }
  return [];
}

async function examineFormat(name: FormatName, uses: readonly Use[], live: GatewaySubject): Promise<ExaminedFormat> {
  const { byUse } = live.surveyed;
  const use = uses.find((one) => byUse[one].model !== undefined) ?? uses[0];
  const notTried = { checks: [], answers: false, isAbsent: false };
  if (use === undefined) return notTried;
  const settings = byUse[use];
  const model = settings.model ?? (await findOwnModel(settings, live));
  if (typeof model !== 'string') {
    const fix = `gateway-cli config set models.${use} <model>${profileFlag(live.context)}`;
    return { ...notTried, checks: [{ name, state: 'skipped', text: model?.message ?? 'no model to ask', fix }] };
  }
  const smallest = { use: 'text', model, prompt: 'hi', maxTokens: leastTokens, stream: undefined } as const;
  const post = encodeRequest(smallest, await loadFormat(name), getQuirks(settings.service, name, settings.baseUrl));
  const ask: TryScheme = async (scheme, ...users) => {
    const shown = name === 'content' ? `content, ${scheme.form}` : name;
    return { scheme, users, ...(await askWith(scheme, { post, model }, { live, use, name: shown })) };
  };
  const tried: Tried[] = [];
  for (const [user, one] of new Map(uses.map((one) => [chooseAuthUse(name, one), one]))) {
    const scheme = chooseScheme(byUse[one], keyFacts[user].form);
    const same = tried.find((other) => isSame(other.scheme, scheme));
    if (same) same.users.push(user);
    else tried.push(await ask(scheme, user));
  }
  // A service with a host of its own accepts only the scheme that is set.
  const own = chooseScheme(settings, 'api-key');
  const usual = { ...own, form: keyFacts[chooseAuthUse(name, 'text')].form };
  const others = settings.service === 'gateway' ? (schemesOf[name]?.(own) ?? [usual]) : [];
  const works = await findScheme(tried, ask, others);
  return {
    checks: tried.map((one) => (works !== undefined && isRefusal(one) ? withFix(one, works, live) : one.check)),
    answers: works !== undefined || tried.some(({ check }) => check.state === 'ok'),
    // If the other format accepts the key, a gateway that refuses the key here does not have this format.
    isAbsent: works === undefined && tried.every(({ isAbsent, check }) => isAbsent || check.class === 'auth'),
  };
}

/** The model with which a local server answers if none is set, or the reason that there is none. */
async function findOwnModel(
  settings: PartialSettings,
  { flags, context }: GatewaySubject,
): Promise<string | GatewayError | undefined> {
  if (!services[settings.service].isKeyless) return undefined;
  try {
    return await findListedModel(settings, flags, context);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** The least limit of tokens that every service takes. */
const leastTokens = 16;

type TryScheme = (scheme: AuthScheme, ...users: AuthUse[]) => Promise<Tried>;

/** The scheme of the settings; `own` is the form if they leave it to the format. */
function chooseScheme({ auth, headerNames, service }: PartialSettings, own: AuthScheme['form']): AuthScheme {
  return { form: auth === 'auto' ? own : auth, ...readHeaderNames(headerNames, service) };
}

/** Whether two schemes send the same headers. With Bearer the name of the key's header does not matter. */
function isSame(one: AuthScheme, other: AuthScheme): boolean {
  const sameName = one.form === 'bearer' || one.apiKey === other.apiKey;
  return one.form === other.form && sameName && one.version === other.version;
}

/** An accepted scheme: a tried one, otherwise the first of the others. Undefined if no scheme was refused, or none is accepted. */
async function findScheme(
  tried: readonly Tried[],
  ask: TryScheme,
  schemes: readonly AuthScheme[],
): Promise<AuthScheme | undefined> {
  if (!tried.some(isRefusal)) return undefined;
  const accepted = tried.find(({ check }) => check.state === 'ok');
  if (accepted) return accepted.scheme;
  const known = tried.map(({ scheme }) => scheme);
  for (const scheme of schemes) {
    if (known.some((one) => isSame(one, scheme))) continue;
    known.push(scheme);
    if ((await ask(scheme)).check.state === 'ok') return scheme;
  }
  return undefined;
}

/** Whether another scheme could be accepted. A missing version header is a bad request. */
function isRefusal({ check }: Tried): boolean {
  return check.state === 'failed' && (check.class === 'auth' || check.class === 'rejected');
}

/** A refusal, with the commands that set a scheme that is accepted. */
function withFix({ scheme, users, check }: Tried, works: AuthScheme, { context, surveyed }: GatewaySubject): Check {
  const use = useNames.find((one) => chooseAuthUse(surveyed.byUse[one].format, one) === users[0]) ?? 'text';
  const { origins } = surveyed.byUse[use];
  const { apiKey, version } = origins.headerNames;
  const changes = [
    { origin: origins.auth, from: scheme.form, to: works.form, keys: users.map((user) => `auth.${user}`) },
    { origin: apiKey, from: scheme.apiKey, to: works.apiKey, keys: ['headerNames.apiKey'] },
    { origin: version, from: scheme.version, to: works.version, keys: ['headerNames.version'] },
  ].filter(({ from, to }) => from !== to);
  const lines = changes.flatMap(({ keys, to }) =>
    keys.map((key) => `gateway-cli config set ${key} ${to}${profileFlag(context)}`),
  );
  // Flags and variables win over the profile.
  const stronger = new Set(changes.flatMap(({ origin }) => (origin && 'name' in origin ? [origin.name] : [])));
  if (stronger.size > 0) lines.unshift(`leave out ${[...stronger].join(' and ')}, and type:`);
  return { ...check, text: `refused, but ${users.join(' and ')} would use it: ${check.text}`, fix: lines.join('\n') };
}

/** Sends a request with a scheme. Throws only errors that end the program: a signal, a closed output. */
async function askWith(
  scheme: AuthScheme,
  probe: PreparedRequest,
  { live, use, name }: { live: GatewaySubject; use: Use; name: string },
): Promise<SchemeCheck> {
  const partial = withKey(live.surveyed.byUse[use], live.key);
  const settings = {
    ...partial,
    model: partial.model ?? '',
    auth: scheme.form,
    headerNames: { apiKey: scheme.apiKey, version: scheme.version },
  };
  const deadline = deadlineOnce(settings.timeoutMs, live.context.signal);
  const client = await openClient(settings, live.flags, live.context, { deadline });
  try {
    const options = { ...once, deadline: deadline(), store: createMemoryStore() };
    const { error } = await drainDeltas(client.ask(probe, options));
    if (error) return refused(name, error);
    const { behindBase } = client.correct(probe.post);
    const works = behindBase && settings.baseUrl && withBehind(settings.baseUrl, behindBase);
    if (!works) return accepted(name, 'accepted');
    const fix = `gateway-cli config set baseUrl ${shellWord(works)}${profileFlag(live.context)}`;
    return {
      check: { name, state: 'ok', text: `accepted at ${works}, and not without its end`, fix },
      isAbsent: false,
    };
  } catch (error) {
    if (error instanceof GatewayError && endSignals.has(error.class)) throw error;
    return refused(name, error);
  } finally {
    await client.close();
  }
}

/** A base URL with the path that its service needs at the end. */
function withBehind(baseUrl: string, behind: string): string {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/*$/, behind);
  return url.href;
}

function accepted(name: string, text: string): SchemeCheck {
  return { check: { name, state: 'ok', text }, isAbsent: false };
}

const absentStatuses = new Set([404, 405, 501]);

function refused(name: string, error: unknown): SchemeCheck {
  const { status, reason, value } = error instanceof GatewayError ? error.details : {};
  // Key, path and model were accepted: only the limit of this request was not.
  if (reason === 'max-tokens') return accepted(name, `accepted; ${leastTokens} tokens were not enough for an answer`);
  if (reason === 'other-field') return accepted(name, `accepted; the model takes ${value} in place of max_tokens`);
  const isAbsent = reason === 'no-such-path' || (absentStatuses.has(status ?? 0) && reason !== 'model');
  return { check: failedCheck(name, error), isAbsent };
}
