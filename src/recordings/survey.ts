import { lstat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Ended, parseLine, type RecordedRequest, type RecordingLine, readLines } from './format.ts';
import { modelOf } from './models.ts';
import { listHeads } from './recording-index.ts';

/** What is known of a recording without reading its reply. */
export interface SurveyedRecording {
  /** Its file's name without `.jsonl`. */
  id: string;
  path: string;
  /** When it was recorded, ms since 1970. */
  at: number;
  request: RecordedRequest;
  /** '' where the request names none. */
  model: string;
  /** Size of the file. */
  bytes: number;
}

/** A reply as it was recorded. */
export interface RecordedReply {
  /** Undefined where the connection was lost before the head of the reply. */
  status: number | undefined;
  headers: Readonly<Record<string, string>>;
  /** Undefined where the end is missing. */
  ended: Ended | undefined;
  chunks: readonly Uint8Array[];
}

/**
 * The recordings of a folder, the newest first; files that are none are left out, and links too. Throws GatewayError usage
 * where there is none.
 */
export async function surveyRecordings(folder: string): Promise<SurveyedRecording[]> {
  const found: SurveyedRecording[] = [];
  for (const { path, request, at } of await listHeads(folder)) {
    const stats = await lstat(path);
    if (!stats.isFile()) continue;
    const model = modelOf(request.path, request.body);
    found.push({ id: basename(path, '.jsonl'), path, at: at ?? stats.mtimeMs, request, model, bytes: stats.size });
  }
  return found.sort((a, b) => b.at - a.at);
}

/** The reply of a recording. Lines that cannot be read are left out. */
export async function readReply(path: string): Promise<RecordedReply> {
  const chunks: Uint8Array[] = [];
  let head: (RecordingLine & { kind: 'reply' }) | undefined;
  let ended: Ended | undefined;
  for await (const text of readLines(path)) {
    const line = parseLine(text);
    if (line?.kind === 'reply') head = line;
    if (line?.kind === 'ended') ended = line.ended;
    if (line?.kind === 'chunk') chunks.push(line.bytes);
  }
  return { status: head?.status, headers: head?.headers ?? {}, ended, chunks };
}
