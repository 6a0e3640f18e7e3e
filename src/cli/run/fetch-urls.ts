import { hintOf } from '../../advice.ts';
import { type ErrorClass, GatewayError, usageError } from '../../errors.ts';
import type { Deadline } from '../../client/index.ts';
import type { Progress } from '../../terminal/progress.ts';
import type { FetchedInput, InputFetcher } from '../../transport/types.ts';
import type { Context } from '../context.ts';
import { replayedFolder } from '../flags/shared.ts';
import { shownUrl } from '../input/input-files.ts';
import { sizeOf } from '../input/prompt.ts';
import type { OpenFetchUrl } from './client.ts';
import { type ConnectionFlags, connectionOptions } from './settings.ts';

/** Classes of errors of a fetch. The gateway has received nothing then. */
const fetchErrors = new Set<ErrorClass>(['not-sent', 'no-reply', 'bad-reply', 'incomplete']);

/** Fetches the URLs of inputs. The connection is opened with the first URL. */
export function urlFetcher(flags: ConnectionFlags, context: Context): OpenFetchUrl {
  /** One fetcher for each proxy and set of authorities: the jobs of a batch can differ in them. */
  const opened = new Map<string, Promise<InputFetcher>>();
  return (settings, deadline) => async (url, label) => {
    const offline = settings.offline.value ? '--offline' : replayedFolder(flags) !== undefined && '--replay';
    if (offline) throw usageError(`${label}: ${offline} uses no network`, 'save the file, and name that');
    if (deadline === undefined) return undefined;
    const time = deadline();
    const progress = context.ui.progress(`fetching ${url.host}`);
    try {
      const key = JSON.stringify([settings.proxy?.value, settings.systemCa.value]);
      const fetcher = opened.get(key) ?? openFetcher(settings, flags, context);
      opened.set(key, fetcher);
      const fetched = await (await fetcher).fetch(url, time.signal);
      await context.ui.detail(`fetched ${shownUrl(url)} (${fetched.mimeType ?? 'no content-type'})`);
      return { ...fetched, body: readExplained(fetched.body, { label, time, progress }) };
    } catch (error) {
      progress.stop();
      throw explain(error, label, time);
    }
  };
}

async function openFetcher(
  settings: Parameters<OpenFetchUrl>[0],
  flags: ConnectionFlags,
  context: Context,
): Promise<InputFetcher> {
  const options = await connectionOptions(settings, flags, context);
  const { openInputFetcher } = await import('../../transport/fetch-input.ts');
  const fetcher = openInputFetcher(options);
  context.atEnd(() => fetcher.close());
  return fetcher;
}

/** Reads a body; its errors are explained like those of the request. */
async function* readExplained(
  body: FetchedInput['body'],
  { label, time, progress }: { label: string; time: Deadline; progress: Progress },
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

/** The same error with the URL in front, without hints about the base URL, billing or the client's certificate. */
function explain(error: unknown, label: string, time: Deadline): unknown {
  const known = time.explain(error, 'unsent');
  if (!(known instanceof GatewayError)) return known;
  const { hint, reason, value, source } = known.details;
  // Fetching an input again is free.
  const retryable = known.class === 'no-reply' || known.details.retryable;
  const message = `${label}: ${known.message}`;
  if (known.class === 'usage') return new GatewayError('usage', message, { ...known.details, cause: error });
  if (!fetchErrors.has(known.class)) return known;
  const fits =
    known.class === 'not-sent' && !hintOf(known, 'library')?.includes('base URL') && reason !== 'client-certificate';
  const advice = fits ? { hint, reason, value, source } : ({ reason: 'input-url' } as const);
  return new GatewayError('not-sent', message, { ...advice, retryable, sent: 'no', billed: 'no', cause: error });
}
