import {
  chooseHint,
  type Deadline,
  type ErrorClass,
  type FetchedInput,
  GatewayError,
  type InputFetcher,
  openInputFetcher,
  spool,
  usageError,
} from '../../library/index.ts';
import type { Progress } from '../terminal/progress.ts';
import type { Context, InputContext } from '../context.ts';
import { replayedFolder } from '../flags/shared.ts';
import { type FetchedFile, type FetchedFiles, parseInputUrl } from '../input/attachments.ts';
import { type InputUrl, shownUrl } from '../input/input-files.ts';
import { formatSize } from '../input/prompt.ts';
import { type ConnectionFlags } from './settings.ts';
import { connectionOptions, type NetworkSettings } from './connection.ts';

/** Classes of errors of a fetch. The gateway has received nothing then. */
const fetchErrors = new Set<ErrorClass>(['not-sent', 'no-reply', 'bad-reply', 'incomplete']);

interface FetchOptions {
  settings: NetworkSettings;
  deadline: Deadline;
  /** Registers the removal of the files. */
  atEnd: InputContext['atEnd'];
}

/** Fetches the inputs that are URLs, into temporary files. */
export interface UrlFetcher {
  fetchAll(urls: readonly InputUrl[], options: FetchOptions): Promise<FetchedFiles>;
  /** Fetches a picture that a reply links to: from a public address, without redirects to others. */
  fetchLinked(url: URL, options: FetchOptions): Promise<FetchedFile>;
}

/** Opens the fetcher for URLs of a command, or of the jobs of a batch, which can differ in proxy and authorities. */
export function openUrlFetcher(flags: ConnectionFlags, context: Context): UrlFetcher {
  const opened = new Map<string, Promise<InputFetcher>>();
  const getFetcher = (settings: FetchOptions['settings'], linked = false): Promise<InputFetcher> => {
    const key = JSON.stringify([settings.proxy, settings.systemCa, linked]);
    const fetcher = opened.get(key) ?? openFetcher(settings, flags, { context, linked });
    opened.set(key, fetcher);
    return fetcher;
  };
  return {
    async fetchLinked(url, { settings, deadline, atEnd }) {
      const label = `the picture at ${shownUrl(url)}`;
      if (url.username !== '' || url.password !== '')
        throw usageError(`${label}: the URL holds a user name or password`);
      return fetchFile({ url, label }, { fetcher: getFetcher(settings, true), context, deadline, atEnd });
    },
    async fetchAll(urls, { settings, deadline, atEnd }) {
      requireNetwork(urls, settings, flags);
      const files = new Map<string, FetchedFile>();
      for (const { flag, typed } of urls) {
        if (files.has(typed)) continue;
        const fetcher = getFetcher(settings);
        files.set(typed, await fetchFile(parseInputUrl(flag, typed), { fetcher, context, deadline, atEnd }));
      }
      return files;
    },
  };
}

/** Throws GatewayError usage for URLs if no network is used. */
export function requireNetwork(
  [first]: readonly InputUrl[],
  { offline }: Pick<NetworkSettings, 'offline'>,
  flags: ConnectionFlags,
): void {
  const flag = offline ? '--offline' : replayedFolder(flags) !== undefined && '--replay';
  if (first === undefined || !flag) return;
  const { label } = parseInputUrl(first.flag, first.typed);
  throw usageError(`${label}: ${flag} uses no network`, 'save the file, and name that');
}

/** Largest input that is fetched. */
const maxFetchedMebibytes = 64;

async function fetchFile(
  { url, label }: ReturnType<typeof parseInputUrl>,
  {
    fetcher,
    context,
    deadline,
    atEnd,
  }: Omit<FetchOptions, 'settings'> & { fetcher: Promise<InputFetcher>; context: Context },
): Promise<FetchedFile> {
  const progress = context.ui.progress(`fetching ${url.host}`);
  let fetched: FetchedInput;
  try {
    fetched = await (await fetcher).fetch(url, deadline.signal);
    await context.ui.detail(`fetched ${shownUrl(url)} (${fetched.mimeType ?? 'no content-type'})`);
  } catch (error) {
    progress.stop();
    throw explainFetchError(error, label, deadline);
  }
  const body = readExplained(fetched.body, { label, deadline, progress });
  const path = await spool(body, { label, capMebibytes: maxFetchedMebibytes, atEnd });
  return { path, mimeType: fetched.mimeType };
}

async function openFetcher(
  settings: FetchOptions['settings'],
  flags: ConnectionFlags,
  { context, linked }: { context: Context; linked: boolean },
): Promise<InputFetcher> {
  const options = await connectionOptions(settings, flags, context);
  const fetcher = openInputFetcher(options, { linked });
  context.atEnd(() => fetcher.close());
  return fetcher;
}

/** Reads a body; its errors are explained in the same way as errors of the request. */
async function* readExplained(
  body: FetchedInput['body'],
  { label, deadline, progress }: { label: string; deadline: Deadline; progress: Progress },
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      progress.update(formatSize(bytes));
      yield chunk;
    }
  } catch (error) {
    throw explainFetchError(error, label, deadline);
  } finally {
    progress.stop();
  }
}

/** Puts the URL in front of an error, and removes hints about the base URL, billing or the client's certificate. */
function explainFetchError(error: unknown, label: string, deadline: Deadline): unknown {
  const known = deadline.explain(error, 'unsent');
  if (!(known instanceof GatewayError)) return known;
  const { hint, reason, value, source } = known.details;
  // Fetching an input again is free.
  const retryable = known.class === 'no-reply' || known.details.retryable;
  const message = `${label}: ${known.message}`;
  if (known.class === 'usage') return new GatewayError('usage', message, { ...known.details, cause: error });
  if (!fetchErrors.has(known.class)) return known;
  const fits =
    known.class === 'not-sent' &&
    !chooseHint(known, 'library')?.includes('base URL') &&
    reason !== 'client-certificate';
  const advice = fits ? { hint, reason, value, source } : ({ reason: 'input-url' } as const);
  return new GatewayError('not-sent', message, { ...advice, retryable, sent: 'no', billed: 'no', cause: error });
}
