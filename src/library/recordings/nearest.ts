import { setImmediate as nextTurn } from 'node:timers/promises';
import { type GatewayError, settingError } from '../errors.ts';
import { isObject, type JsonValue } from '../json.ts';
import { findRecording, listFiles, listRequestFolders } from './folder.ts';
import type { RecordedRequest } from './format.ts';
import type { RequestName } from './request-name.ts';

/** A request is compared with at most this many recordings. */
const mostCompared = 200;

/**
 * The error for a request without a recording: it names the nearest recording, of the same operation and model first, and the
 * differences. Throws GatewayError usage if there is no recording, and the signal's reason.
 */
export async function noRecording(folder: string, name: RequestName, signal: AbortSignal): Promise<GatewayError> {
  const wanted = JSON.parse(name.text) as RecordedRequest;
  const folders = await listRequestFolders(folder);
  const [alike, others] = [
    folders.filter((each) => areAlike(each, name)),
    folders.filter((each) => !areAlike(each, name)),
  ];
  const compared = [...alike, ...others].slice(0, mostCompared);
  let nearest: { folder: string; found: Difference[] } | undefined;
  for (const other of compared) {
    // Signals and other requests have their turn here.
    await nextTurn();
    signal.throwIfAborted();
    const found = findDifferences(folder, other, wanted);
    if (found && (!nearest || distance(found) < distance(nearest.found))) nearest = { folder: other, found };
  }
  const message = `no recording in ${folder} fits ${wanted.method} ${wanted.path}`;
  if (!nearest)
    return settingError(`${message}: none of its ${folders.length} can be read`, { reason: 'no-recording' });
  const which = folders.length > mostCompared ? `the nearest of ${mostCompared} that were compared` : 'the nearest';
  const reason = nearest.found.some(({ place }) => place === 'path') ? 'other-path-recorded' : 'no-recording';
  const lines = describeDifferences(nearest.found).join('; ');
  return settingError(`${message}; ${which} is ${nearest.folder}: ${lines}`, { reason, value: nearest.folder });
}

/** Whether a folder is of a request of the same operation and model. */
function areAlike(folder: string, name: RequestName): boolean {
  const keyLength = 32;
  return folder.slice(0, -keyLength) === name.folder.slice(0, -keyLength);
}

/** The differences between a request and its first recording; undefined if that cannot be read. */
function findDifferences(folder: string, request: string, wanted: RecordedRequest): Difference[] | undefined {
  const [path] = listFiles(folder, request);
  const recorded = path === undefined ? undefined : findRecording(path)?.request;
  if (recorded === undefined) return undefined;
  try {
    const found: Difference[] = [];
    for (const member of ['method', 'path', 'body'] as const) compare(member, recorded[member], wanted[member], found);
    return found;
  } catch (error) {
    // A recording from a stranger can be nested beyond the stack.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A value that differs between two requests; undefined on the side that lacks it. */
interface Difference {
  /** The place of the value: `path`, `body.messages.0.content` */
  place: string;
  recorded: string | undefined;
  wanted: string | undefined;
}

const maxDifferences = 1000;
const describedDifferences = 5;
const shownLength = 60;

/** The distance of two requests: another path weighs more than any text. */
function distance(found: readonly Difference[]): number {
  return found.reduce((sum, { place }) => sum + (place === 'path' || place === 'method' ? 100 : 1), 0);
}

/** One text for each difference; long values are cut to the part in which they differ. */
function describeDifferences(found: readonly Difference[]): string[] {
  if (found.length === 0) return ['it asks the same, but its name is that of another request'];
  const lines = found.slice(0, describedDifferences).map(({ place, recorded, wanted }) => {
    const from = Math.max(0, commonStart(recorded ?? '', wanted ?? '') - 20);
    return `${place}: recorded ${excerpt(recorded, from)}, asked ${excerpt(wanted, from)}`;
  });
  const more = found.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/** Adds the differences between two values. */
function compare(
  place: string,
  recorded: JsonValue | undefined,
  wanted: JsonValue | undefined,
  out: Difference[],
): void {
  if (out.length >= maxDifferences) return;
  const areArrays = Array.isArray(recorded) && Array.isArray(wanted);
  if (areArrays || (isObject(recorded) && isObject(wanted))) {
    const [left, right] = [new Map(Object.entries(recorded)), new Map(Object.entries(wanted))];
    const names = new Set([...left.keys(), ...right.keys()]);
    for (const name of names) compare(`${place}.${name}`, left.get(name), right.get(name), out);
    return;
  }
  const [left, right] = [recorded, wanted].map((value) => (value === undefined ? undefined : JSON.stringify(value)));
  if (left !== right) out.push({ place, recorded: left, wanted: right });
}

function commonStart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

function excerpt(text: string | undefined, from: number): string {
  if (text === undefined) return 'nothing';
  if (text.length <= shownLength) return text;
  const part = text.slice(from, from + shownLength);
  return `${from > 0 ? '…' : ''}${part}${from + shownLength < text.length ? '…' : ''}`;
}
