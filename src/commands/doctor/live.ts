import { contentPost } from '../../client/content.ts';
import { messagesPost } from '../../client/messages.ts';
import { type Operation, outcomeOf, perform } from '../../client/perform.ts';
import { deadlineOnce } from '../../client/deadline.ts';
import type { Check } from './types.ts';
import { GatewayError } from '../../errors.ts';
import { createMemoryStore } from '../../images/store.ts';
import { services, vendorHeaderNames } from '../../services.ts';
import type { Secret } from '../../settings/secret.ts';
import type { SettingsSurvey, AuthUse, KeySource, Use } from '../../settings/types.ts';
import { byDefault } from '../../settings/sources.ts';
import type { Context } from '../../cli/context.ts';
import { failedCheck, profileFlag, type Surveyed } from './settings.ts';
import { openConnection } from '../../cli/run/connection.ts';
import type { ConnectionFlags } from '../../cli/run/settings.ts';

/** What a live examination needs. */
export interface Live {
  surveyed: Surveyed;
  /** The uses whose format is tried. */
  uses: readonly Use[];
  /** Absent: it is read as the settings say. */
  key: Secret | undefined;
  flags: ConnectionFlags;
  context: Context;
}

/** How a request is authenticated: the form of the key, and the names of the headers that differ between services. */
interface AuthScheme {
  form: 'api-key' | 'bearer';
  apiKey: string;
  version: string;
}

/** What came of a request. */
interface Asked {
  check: Check;
  /** The gateway does not have the path: perhaps it does not have the format. */
  isAbsent: boolean;
}

/** A request of one format with one scheme, and what came of it. */
interface Tried extends Asked {
  scheme: AuthScheme;
  /** What would use this scheme, as a profile's `auth` names it. */
  users: AuthUse[];
}

/** How a format is asked: with the settings of a use, and a scheme. */
type Ask = (scheme: AuthScheme) => Promise<Asked>;

/** What came of all requests of one format. */
interface Examined {
  checks: Check[];
  /** Whether one scheme was taken. */
  answers: boolean;
  isAbsent: boolean;
}

/**
 * Sends the smallest request of each format, with the schemes that the settings say. Where one is refused, the other forms and
 * header names are tried until one is taken. A request that is taken may be billed. A gateway need not have both formats.
 */
export async function examineLive(live: Live): Promise<Check[]> {
  const formats = [await examineContent(live), await examineMessages(live)];
  const isServed = formats.some(({ answers }) => answers);
  return formats.flatMap(({ checks, isAbsent }) => (isServed && isAbsent ? checks.map(asWarning) : checks));
}

/** The other format answers: the gateway works, and perhaps has that one alone. */
function asWarning({ name, text, fix }: Check): Check {
  return { name, state: 'warning', text: `${text}; perhaps the gateway does not have this format`, fix };
}

/** Those whose forms of authentication can differ; edits are as images. */
function contentUses({ uses }: Live): ('text' | 'image')[] {
  const own = (['text', 'image'] as const).filter((use) => uses.includes(use));
  return own.length === 0 && uses.includes('edit') ? ['image'] : own;
}

async function examineContent(live: Live): Promise<Examined> {
  const { of } = live.surveyed;
  const users = contentUses(live);
  if (users.length === 0) return unasked();
  const use = users.find((one) => of[one].model !== undefined) ?? users[0] ?? 'image';
  const model = of[use].model?.value;
  if (!services[of[use].service.value].uses.includes(use)) return unasked();
  if (model === undefined) return unasked(skipped('content', `models.${use}`, live));
  const post = contentPost(model, 'text', contentBody);
  const ask: Ask = (scheme) => askIn({ post, model }, live, { scheme, use, name: `content, ${scheme.form}` });
  const tried: Tried[] = [];
  for (const user of users) {
    const scheme = schemeOf(of[user], user === 'text' ? 'api-key' : 'bearer');
    const same = tried.find((one) => isSame(one.scheme, scheme));
    if (same) same.users.push(user);
    else tried.push({ scheme, users: [user], ...(await ask(scheme)) });
  }
  return judge(tried, await findScheme(tried, ask, contentSchemes(of[use])), live);
}

async function examineMessages(live: Live): Promise<Examined> {
  const chat = live.surveyed.of.chat;
  const model = chat.model?.value;
  if (!live.uses.includes('chat') || !services[chat.service.value].uses.includes('chat')) return unasked();
  if (model === undefined) return unasked(skipped('messages', 'models.chat', live));
  const post = messagesPost({ model, max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] });
  const ask: Ask = (scheme) => askIn({ post, model }, live, { scheme, use: 'chat', name: 'messages' });
  const scheme = schemeOf(chat, 'api-key');
  const tried: Tried[] = [{ scheme, users: ['messages'], ...(await ask(scheme)) }];
  return judge(tried, await findScheme(tried, ask, messagesSchemes(chat)), live);
}

/** A format that was not asked for anything. */
function unasked(...checks: Check[]): Examined {
  return { checks, answers: false, isAbsent: false };
}

const contentBody = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 1 } };
const once = { policy: { retries: 0, maxWaitMs: 0, safeOnly: true } };

/** The scheme that the settings say; `own` is the form where they leave it to the specification. */
function schemeOf({ auth, headerNames }: SettingsSurvey, own: AuthScheme['form']): AuthScheme {
  const placeholders = services.gateway.headerNames;
  return {
    form: auth.value === 'auto' ? own : auth.value,
    apiKey: headerNames.apiKey?.value ?? placeholders.apiKey,
    version: headerNames.version?.value ?? placeholders.version,
  };
}

/** Every scheme that a gateway may take in the content format; a service of its own host takes the one that is set. */
function contentSchemes(survey: SettingsSurvey): AuthScheme[] {
  if (survey.service.value !== 'gateway') return [];
  const own = schemeOf(survey, 'api-key');
  const names = [own.apiKey, services.gateway.headerNames.apiKey, vendorHeaderNames.apiKey];
  return [...names.map((apiKey): AuthScheme => ({ ...own, form: 'api-key', apiKey })), { ...own, form: 'bearer' }];
}

function messagesSchemes(survey: SettingsSurvey): AuthScheme[] {
  if (survey.service.value !== 'gateway') return [];
  const own = schemeOf(survey, 'api-key');
  const versions = [own.version, services.gateway.headerNames.version, vendorHeaderNames.version];
  return versions.flatMap((version): AuthScheme[] => [
    { ...own, form: 'api-key', version },
    { ...own, form: 'bearer', version },
  ]);
}

/** Whether two schemes send the same headers. The name of the key's header says nothing where the key goes as Bearer. */
function isSame(one: AuthScheme, other: AuthScheme): boolean {
  const sameName = one.form === 'bearer' || one.apiKey === other.apiKey;
  return one.form === other.form && sameName && one.version === other.version;
}

/** A scheme that is taken: one that was tried already, else the first of the others. Undefined where none has to be found, or none is. */
async function findScheme(
  tried: readonly Tried[],
  ask: Ask,
  schemes: readonly AuthScheme[],
): Promise<AuthScheme | undefined> {
  if (!tried.some(({ check }) => isRefusal(check))) return undefined;
  const taken = tried.find(({ check }) => check.state === 'ok');
  if (taken) return taken.scheme;
  const asked = tried.map(({ scheme }) => scheme);
  for (const scheme of schemes) {
    if (asked.some((one) => isSame(one, scheme))) continue;
    asked.push(scheme);
    if ((await ask(scheme)).check.state === 'ok') return scheme;
  }
  return undefined;
}

/** Whether another scheme could be taken. A missing version header is a bad request. */
function isRefusal({ state, class: errorClass }: Check): boolean {
  return state === 'failed' && (errorClass === 'auth' || errorClass === 'rejected');
}

function judge(tried: readonly Tried[], works: AuthScheme | undefined, live: Live): Examined {
  return {
    checks: tried.map((one) => (works !== undefined && isRefusal(one.check) ? withFix(one, works, live) : one.check)),
    answers: works !== undefined || tried.some(({ check }) => check.state === 'ok'),
    // Where the other format takes the key, a gateway that refuses it here has no such format.
    isAbsent: works === undefined && tried.every((one) => one.isAbsent || one.check.class === 'auth'),
  };
}

/** A refusal, with the lines that lead to a scheme that is taken. */
function withFix({ scheme, users, check }: Tried, works: AuthScheme, { context, surveyed }: Live): Check {
  const text = `refused, but ${users.join(' and ')} would use it: ${check.text}`;
  const lines = fixOf({ from: scheme, to: works, users }, context);
  const [first = 'text'] = users;
  const stronger = strongerThanProfile(surveyed.of[first === 'messages' ? 'chat' : first], scheme, works);
  if (stronger.length > 0) lines.unshift(`leave out ${stronger.join(' and ')}, and type:`);
  return { ...check, text, fix: lines.join('\n') };
}

/** The lines that turn one scheme into another. */
function fixOf(
  { from, to, users }: { from: AuthScheme; to: AuthScheme; users: Tried['users'] },
  context: Context,
): string[] {
  const profile = profileFlag(context);
  const lines = from.form === to.form ? [] : users.map((user) => `auth.${user} ${to.form}`);
  if (to.form === 'api-key' && from.apiKey !== to.apiKey) lines.push(`headerNames.apiKey ${to.apiKey}`);
  if (from.version !== to.version) lines.push(`headerNames.version ${to.version}`);
  return lines.map((line) => `gateway-cli config set ${line}${profile}`);
}

/** Flags and variables that would undo the lines. */
function strongerThanProfile({ auth, headerNames }: SettingsSurvey, from: AuthScheme, to: AuthScheme): string[] {
  const changed = [
    from.form === to.form ? undefined : auth,
    from.apiKey === to.apiKey ? undefined : headerNames.apiKey,
    from.version === to.version ? undefined : headerNames.version,
  ].filter((setting) => setting !== undefined);
  return [...new Set(changed.flatMap(({ origin }) => ('name' in origin ? [origin.name] : [])))];
}

/** Opens a connection that shows the key with one scheme, and asks. Throws what ends the program: a signal, a closed output. */
async function askIn(
  operation: Operation,
  { surveyed, key, flags, context }: Live,
  { scheme, use, name }: { scheme: AuthScheme; use: Use; name: string },
): Promise<Asked> {
  const survey = surveyed.of[use];
  const settings = {
    ...survey,
    key: key === undefined ? survey.key : withSecret(survey.key, key),
    model: survey.model ?? byDefault(''),
    auth: byDefault(scheme.form),
    headerNames: { apiKey: byDefault(scheme.apiKey), version: byDefault(scheme.version) },
  };
  const deadline = deadlineOnce(settings.timeoutMs.value, context.signal);
  const connection = await openConnection(settings, flags, context, { deadline });
  try {
    const options = { ...once, deadline: deadline(), store: createMemoryStore() };
    const { error } = await outcomeOf(perform(operation, connection, options));
    return error ? refused(name, error) : { check: { name, state: 'ok', text: 'accepted' }, isAbsent: false };
  } catch (error) {
    if (error instanceof GatewayError && endings.has(error.class)) throw error;
    return refused(name, error);
  } finally {
    await connection.close();
  }
}

const absentStatuses = new Set([404, 405, 501]);

function refused(name: string, error: unknown): Asked {
  const { status, reason } = error instanceof GatewayError ? error.details : {};
  const isAbsent = reason === 'no-such-path' || (absentStatuses.has(status ?? 0) && reason !== 'model');
  return { check: failedCheck(name, error), isAbsent };
}

/** A key that was read already, so that no command runs twice. */
export function withSecret(source: KeySource, secret: Secret): KeySource {
  return source.kind === 'missing' ? source : { ...source, kind: 'value', secret };
}

const endings = new Set(['interrupted', 'terminated', 'hangup', 'closed']);

function skipped(name: string, key: string, { context }: Live): Check {
  const fix = `gateway-cli config set ${key} <model>${profileFlag(context)}`;
  return { name, state: 'skipped', text: 'no model to ask', fix };
}
