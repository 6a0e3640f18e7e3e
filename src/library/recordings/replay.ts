import { badReply, describeRequest, GatewayError } from '../errors.ts';
import type { Fetch, HttpReply, HttpRequest } from '../transport/types.ts';
import { hasEnd, listFiles, listRequestFolders, readRecordings } from './folder.ts';
import { parseHead, parseRecordingLine, readRecordingLines, type RecordingEnd, type RecordingLine } from './format.ts';
import { noRecording } from './nearest.ts';
import { nameRequest, type RequestName } from './request-name.ts';

/**
 * Answers requests from the recordings of a folder, chunk by chunk without waits; nothing is sent or billed. Equal requests get their
 * recordings in the recorded order, then always the last one. Throws GatewayError usage if the folder has no recording. The fetch
 * throws GatewayError usage if no recording is of the request, bad-reply if it cannot be read.
 */
export async function openReplay(folder: string): Promise<Fetch> {
  await listRequestFolders(folder);
  /** The number of answers that were given, for requests that have several. */
  const given = new Map<string, number>();
  return async (request, { signal }) => {
    signal.throwIfAborted();
    const name = await nameRequest(request);
    const paths = findAnswers(folder, name);
    if (paths.length === 0) throw await noRecording(folder, name, signal);
    const own = `${name.folder} ${name.scope}`;
    const turn = Math.min(given.get(own) ?? 0, paths.length - 1);
    if (paths.length > 1) given.set(own, turn + 1);
    return playRecording(paths[turn] as string, request, { signal });
  };
}

/**
 * The recordings of a request. Of several, torn ones are left out, and those of the same gateway are preferred: a replay need not
 * name a gateway.
 */
function findAnswers(folder: string, name: RequestName): string[] {
  const files = listFiles(folder, name.folder);
  if (files.length < 2) return files;
  const recordings = readRecordings(files);
  const ofGateway = recordings.filter(({ scope }) => scope === name.scope);
  const paths = (ofGateway.length > 0 ? ofGateway : recordings).map(({ path }) => path).filter(hasEnd);
  return paths.length > 0 ? paths : files;
}

/** The parts of a request that errors name. */
type ToldRequest = Pick<HttpRequest, 'method' | 'url'>;

/**
 * The reply of a recording. With `endsWell`, a reply that was cut after its reader had all it needed ends without an error.
 * Throws GatewayError like `openReplay`'s fetch.
 */
export async function playRecording(
  path: string,
  request: ToldRequest,
  { signal, endsWell = false }: { signal: AbortSignal; endsWell?: boolean },
): Promise<HttpReply> {
  const texts = readRecordingLines(path);
  const head = await texts.next();
  const lines = readReplyLines(texts, path);
  async function* playBody(): AsyncGenerator<Uint8Array> {
    for await (const line of lines) {
      signal.throwIfAborted();
      if (line.kind === 'chunk') yield line.bytes;
      if (line.kind === 'reply') break;
      if (line.kind !== 'ended') continue;
      if (line.ended === 'end' || endsWell) return;
      throw lossIn('body', line.ended, request);
    }
    throw brokenRecording(path, undefined);
  }
  try {
    const { value: reply } = await lines.next();
    if (reply?.kind === 'ended' && reply.ended !== 'end') throw lossIn('head', reply.ended, request);
    if (reply?.kind !== 'reply') throw brokenRecording(path, 2);
    const recordedAt = (head.done ? undefined : parseHead(head.value)?.at) ?? 0;
    return { status: reply.status, headers: reply.headers, body: playBody(), recordedAt };
  } catch (error) {
    await lines.return(undefined);
    throw error;
  }
}

/** The lines of a recording after its first one. */
async function* readReplyLines(texts: AsyncGenerator<string>, path: string): AsyncGenerator<RecordingLine> {
  let number = 1;
  for await (const text of texts) {
    number++;
    if (text === '') continue;
    const line = parseRecordingLine(text);
    if (!line) throw brokenRecording(path, number);
    yield line;
  }
}

const lossReasons = {
  cut: 'the connection was closed',
  reset: 'the connection was reset (ECONNRESET)',
  left: 'the recording ends here',
};

/** The error of the recorded exchange, whose connection was lost in a part of the reply; after `left` there is nothing more to replay. */
function lossIn(part: 'head' | 'body', ended: Exclude<RecordingEnd, 'end'>, asked: ToldRequest): GatewayError {
  const words = lossReasons[ended];
  const code = ended === 'reset' ? 'ECONNRESET' : 'UND_ERR_SOCKET';
  const request = describeRequest(asked);
  const facts = { sent: 'no', billed: 'no', request, cause: Object.assign(new Error(words), { code }) } as const;
  if (part === 'body')
    return new GatewayError('incomplete', `the reply was cut: ${words}`, { ...facts, retryable: true });
  const more = { reason: 'recorded-loss', retryable: false } as const;
  return new GatewayError('no-reply', `no reply was recorded: ${words}`, { ...facts, ...more });
}

function brokenRecording(path: string, line: number | undefined): GatewayError {
  const where = line === undefined ? 'it has no end' : `line ${line} is not one of a recording`;
  return badReply(`cannot replay ${path}: ${where}`, { reason: 'recording-broken', sent: 'no', billed: 'no' });
}
