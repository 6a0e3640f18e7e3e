import type { Payment } from '../../client/payment.ts';
import { type Exchanges, openConnections, type PayingSender } from '../../client/send.ts';
import { type ErrorClass, GatewayError, usageError } from '../../errors.ts';
import type { Settings, SettingsSurvey } from '../../settings/types.ts';
import type { FetchedInput, InputFetcher, Transport, TransportOptions } from '../../transport/types.ts';
import type { Context } from '../context.ts';
import { type RecordingFlags, replayedFolder } from '../flags/shared.ts';
import { quote } from '../flags/flag.ts';
import { readUserFile, shownUrl } from '../input/input-files.ts';
import type { Credential } from './connection.ts';
import type { ConnectionFlags } from './settings.ts';
import type { Deadline } from '../../client/deadline.ts';
import type { Progress } from '../../terminal/progress.ts';
import { sizeOf } from '../input/prompt.ts';
import type { FetchUrl } from '../input/url-input.ts';

/** The way to each gateway, by its own proxy and its own certificates. */
export async function openTransports(
  gateways: readonly (Parameters<typeof transportOptions>[0] & Pick<SettingsSurvey, 'baseUrl'>)[],
  flags: Parameters<typeof transportOptions>[1],
  context: Context,
): Promise<Transport> {
  const ways = new Map(gateways.map((settings) => [originOf(settings), settings]));
  for (const { proxy, systemCa, baseUrl } of gateways) {
    const way = ways.get(originOf({ baseUrl }));
    if (way?.proxy?.value === proxy?.value && way?.systemCa.value === systemCa.value) continue;
    throw usageError('two profiles reach the same host in different ways', 'give both the same proxy and systemCa');
  }
  const opened = new Map<string, Transport>();
  for (const [origin, settings] of ways) {
    opened.set(origin, await openConnections(await transportOptions(settings, flags, context)));
  }
  const [only] = opened.values();
  if (only !== undefined && opened.size === 1) return only;
  return {
    exchange: (request, options) => (opened.get(request.url.origin) as Transport).exchange(request, options),
    close: async () => void (await Promise.all([...opened.values()].map((transport) => transport.close()))),
  };
}

/** What is asked over connections; with `--record` it is kept, without the credentials. Throws GatewayError usage. */
export async function openExchanges(
  transport: Transport,
  { record, ...flags }: RecordingFlags,
  asked: { context: Context; credentials: readonly Credential[] },
): Promise<Exchanges> {
  if (record === undefined) return { at: () => transport.exchange, close: () => transport.close() };
  const { openRecording } = await import('./recordings.ts');
  return openRecording(transport, { ...flags, record }, asked);
}

/** How the requests of each gateway are paid for. Nothing is loaded where no budget is set. */
export async function openBudgets(
  gateways: readonly { settings: SettingsSurvey }[],
  { tag }: ConnectionFlags,
  context: Context,
): Promise<PayingSender['pay'][]> {
  if (gateways.every(({ settings }) => settings.budget === undefined)) return [];
  const { openBudget, payFrom } = await import('./budget.ts');
  const budgets = [];
  for (const { settings } of gateways) budgets.push(await openBudget(settings, tag, context));
  return budgets.map((budget) => budget && ((operation) => payFrom(budget, operation)));
}

/** An attempt that is not paid for is not sent. */
export function countUnpaid<P extends Pick<Payment, 'reserve'>>(payment: P, { report }: Context): P {
  return {
    ...payment,
    reserve: (signal) =>
      payment.reserve(signal).catch((error: unknown) => {
        report.attempts--;
        throw error;
      }),
  };
}

/** Scheme and host of the gateway. */
export function originOf({ baseUrl }: Pick<SettingsSurvey, 'baseUrl'>): string {
  return new URL(baseUrl?.value ?? 'http://127.0.0.1').origin;
}

/** How to connect; the files that flags name are read. */
export async function transportOptions(
  { proxy, systemCa, offline }: Pick<SettingsSurvey, 'proxy' | 'systemCa' | 'offline'>,
  flags: Pick<ConnectionFlags, 'cacert' | 'clientCert' | 'clientKey'>,
  { io }: Context,
): Promise<TransportOptions> {
  if ((flags.clientCert === undefined) !== (flags.clientKey === undefined)) {
    throw usageError('--client-cert and --client-key go together', 'give both PEM files');
  }
  const { cacert, clientCert, clientKey } = flags;
  return {
    env: io.env,
    proxy,
    systemCa: systemCa.value && !offline.value,
    ca: cacert === undefined ? undefined : await readCertificate('--cacert', cacert, io.cwd),
    clientCert: clientCert === undefined ? undefined : await readCertificate('--client-cert', clientCert, io.cwd),
    clientKey: clientKey === undefined ? undefined : await readText('--client-key', clientKey, io.cwd),
  };
}

/** Throws GatewayError usage for a file without a certificate. */
async function readCertificate(flag: string, path: string, cwd: string): Promise<string> {
  const { requireCertificate } = await import('../../transport/trust.ts');
  const pem = await readText(flag, path, cwd);
  requireCertificate(pem, `${flag} ${quote(path)} contains`);
  return pem;
}

async function readText(flag: string, path: string, cwd: string): Promise<string> {
  return new TextDecoder().decode(await readUserFile(flag, path, cwd));
}

/** What fetches the URLs of a command, of one job, or of one turn. Without a deadline they are fetched later. */
export type OpenFetchUrl = (settings: FetchSettings, deadline?: () => Deadline) => FetchUrl;

type FetchSettings = Pick<Settings, 'offline' | 'proxy' | 'systemCa'>;

/** What goes wrong on the way to a URL: nothing of it has reached the gateway. */
const failures = new Set<ErrorClass>(['not-sent', 'no-reply', 'bad-reply', 'incomplete']);

/** Opens the way to URLs for the length of a command; nothing is connected before the first is fetched. */
export function openFetchUrls(flags: ConnectionFlags, context: Context): OpenFetchUrl {
  /** By the settings that the way depends on: the jobs of a batch can have several. */
  const opened = new Map<string, Promise<InputFetcher>>();
  const fetcherFor = (settings: FetchSettings): Promise<InputFetcher> => {
    const key = JSON.stringify([settings.proxy?.value, settings.systemCa.value]);
    const known = opened.get(key) ?? openFetcher(settings, flags, context);
    opened.set(key, known);
    return known;
  };
  return (settings, deadline) => async (url, label) => {
    const off = settings.offline.value ? '--offline' : replayedFolder(flags) !== undefined && '--replay';
    if (off) throw usageError(`${label}: ${off} uses no network`, 'save the file, and name that');
    if (deadline === undefined) return undefined;
    const time = deadline();
    const progress = context.ui.progress(`fetching ${url.host}`);
    try {
      const fetcher = await fetcherFor(settings);
      const fetched = await fetcher.fetch(url, time.signal);
      await context.ui.detail(`fetched ${shownUrl(url)} (${fetched.mimeType ?? 'no content-type'})`);
      return { ...fetched, body: explained(fetched.body, { label, time, progress }) };
    } catch (error) {
      progress.stop();
      throw explain(error, label, time);
    }
  };
}

async function openFetcher(settings: FetchSettings, flags: ConnectionFlags, context: Context): Promise<InputFetcher> {
  const options = await transportOptions(settings, flags, context);
  // The HTTP client is loaded where there is a URL, not at start-up.
  const { openInputFetcher } = await import('../../transport/fetch-input.ts');
  const fetcher = openInputFetcher(options);
  context.atEnd(() => fetcher.close());
  return fetcher;
}

interface Explaining {
  label: string;
  time: Deadline;
  progress: Progress;
}

async function* explained(
  body: FetchedInput['body'],
  { label, time, progress }: Explaining,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      progress.update(sizeOf(bytes));
      yield chunk;
    }
  } catch (error) {
    throw explain(error, label, time);
  } finally {
    progress.stop();
  }
}

/** The same failure with the URL in front. Hints that speak of the base URL, of billing or of the client's certificate do not fit. */
function explain(error: unknown, label: string, time: Deadline): unknown {
  const known = time.explain(error, 'unsent');
  if (!(known instanceof GatewayError)) return known;
  const { hint = '', reason, value } = known.details;
  // Fetching an input again is free.
  const retryable = known.class === 'no-reply' || known.details.retryable;
  const message = `${label}: ${known.message}`;
  if (known.class === 'usage') return new GatewayError('usage', message, { ...known.details, cause: error });
  if (!failures.has(known.class)) return known;
  const fits = known.class === 'not-sent' && !hint.includes('base URL') && reason !== 'client-certificate';
  const advice = fits ? { hint, reason, value } : ({ reason: 'input-url' } as const);
  return new GatewayError('not-sent', message, { ...advice, retryable, sent: 'no', billed: 'no', cause: error });
}
