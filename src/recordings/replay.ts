import { GatewayError } from '../errors.ts';
import type { Exchange, HttpReply, HttpRequest } from '../transport/types.ts';
import { type Ended, parseLine, readLines, type RecordingLine } from './format.ts';
import { describeRequest } from './request-key.ts';
import { openIndex } from './recording-index.ts';

/**
 * Answers requests from the recordings of a folder, chunk by chunk without waits; nothing is sent. The exchange throws
 * GatewayError usage if no recording matches, bad-reply if one cannot be read. `base` is the URL that the paths of requests are
 * below.
 */
export async function openReplay(folder: string): Promise<(base: URL) => Exchange> {
  const take = await openIndex(folder);
  return (base) =>
    async (request, { signal, onSent }) => {
      signal.throwIfAborted();
      const path = await take(await describeRequest(request, base));
      onSent?.();
      return playRecording(path, request, { signal });
    };
}

/** The part of a request that errors name. */
type RequestName = Pick<HttpRequest, 'method' | 'url'>;

/**
 * The reply of a recording. With `endsWell`, a reply that was cut after its reader had all it needed ends without an error.
 * Throws GatewayError like the exchange of `openReplay`.
 */
export async function playRecording(
  path: string,
  request: RequestName,
  { signal, endsWell = false }: { signal: AbortSignal; endsWell?: boolean },
): Promise<HttpReply> {
  const lines = readRecording(path);
  try {
    const { value: reply } = await lines.next();
    if (reply?.kind === 'ended' && reply.ended !== 'end') throw noReply(reply.ended, request);
    if (reply?.kind !== 'reply') throw broken(path, 2);
    const { status, headers } = reply;
    return { status, headers, body: playBody({ path, lines, signal, request, endsWell }) };
  } catch (error) {
    await lines.return(undefined);
    throw error;
  }
}

interface OpenRecording {
  path: string;
  lines: AsyncGenerator<RecordingLine>;
  signal: AbortSignal;
  request: RequestName;
  endsWell: boolean;
}

async function* playBody({ path, lines, signal, request, endsWell }: OpenRecording): AsyncGenerator<Uint8Array> {
  for await (const line of lines) {
    signal.throwIfAborted();
    if (line.kind === 'chunk') yield line.bytes;
    if (line.kind === 'reply') break;
    if (line.kind !== 'ended') continue;
    if (line.ended === 'end' || endsWell) return;
    throw cutShort(line.ended, request);
  }
  throw broken(path, undefined);
}

/** The lines after the first. */
async function* readRecording(path: string): AsyncGenerator<RecordingLine> {
  let number = 0;
  for await (const text of readLines(path)) {
    if (++number === 1 || text === '') continue;
    const line = parseLine(text);
    if (!line) throw broken(path, number);
    yield line;
  }
}

type Loss = Exclude<Ended, 'end'>;

const lossReasons = {
  cut: 'the connection was closed',
  reset: 'the connection was reset (ECONNRESET)',
  left: 'the recording ends here',
};

function causeOf(ended: Loss): Error {
  const code = ended === 'reset' ? 'ECONNRESET' : 'UND_ERR_SOCKET';
  return Object.assign(new Error(lossReasons[ended]), { code });
}

/** The error of the recorded exchange; after `left` there is nothing more to replay. */
function cutShort(ended: Loss, request: RequestName): GatewayError {
  return new GatewayError('incomplete', `the reply was cut: ${lossReasons[ended]}`, {
    sent: 'yes',
    retryable: true,
    request: placeOf(request),
    cause: causeOf(ended),
  });
}

/** The connection was lost before the head of the reply. */
function noReply(ended: Loss, request: RequestName): GatewayError {
  return new GatewayError('no-reply', `no reply was recorded: ${lossReasons[ended]}`, {
    reason: 'recorded-loss',
    sent: 'yes',
    retryable: false,
    request: placeOf(request),
    cause: causeOf(ended),
  });
}

function placeOf({ method = 'POST', url }: RequestName): string {
  return `${method} ${url.origin}${url.pathname}`;
}

function broken(path: string, line: number | undefined): GatewayError {
  const where = line === undefined ? 'it has no end' : `line ${line} is not one of a recording`;
  return new GatewayError('bad-reply', `cannot replay ${path}: ${where}`, {
    reason: 'recording-broken',
    sent: 'no',
    billed: 'no',
    retryable: false,
  });
}
