import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { randomNonce, writeNew } from '../files/temp-file.ts';
import { isObject, type JsonObject } from '../json.ts';
import { makeFolder } from '../files/make-folder.ts';
import { cannotWrite } from '../files/synced-file.ts';
import { batchFiles } from './types.ts';

/** A longer line is hard on every reader, of which ours takes four times as much. */
const mostLineBytes = 64 * 1024 * 1024;
/** Values of a long result that are longer stand in its own file alone. */
const mostValueLength = 1024 * 1024;
/** Strings are cut for JSON, and pieces gathered for the disk, to about this length. */
const pieceLength = 1024 * 1024;

/** One line of results.jsonl, before it is text. */
export interface ResultRecord extends JsonObject {
  id: string;
  request: string;
}

/**
 * The text of a result's line. One that is too long to be read again goes to a file of its own, which is on the disk when this
 * resolves; its line then leaves the long values out and names the file. Throws GatewayError not-written.
 */
export function resultLine(
  folder: string,
  record: ResultRecord,
  { mostBytes = mostLineBytes }: { mostBytes?: number } = {},
): string | Promise<string> {
  const line = lineOf(record);
  if (line !== undefined && (line.length * 3 <= mostBytes || Buffer.byteLength(line) <= mostBytes)) return line;
  return moveLong(folder, record, Math.min(mostValueLength, mostBytes / 64));
}

/** Undefined where no string of V8 could hold it. */
function lineOf(record: object): string | undefined {
  try {
    return JSON.stringify(record);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

async function moveLong(folder: string, record: ResultRecord, mostLength: number): Promise<string> {
  const wholeResult = `${batchFiles.large}/${randomNonce()}.json`;
  try {
    await makeFolder(join(folder, batchFiles.large));
    await writeNew(join(folder, wholeResult), (file) => writeJson(file, record));
  } catch (error) {
    throw cannotWrite(join(folder, wholeResult), error);
  }
  const short = Object.entries(record).filter(([, value]) => (lineOf({ value })?.length ?? Infinity) <= mostLength);
  const warnings = [...warningsOf(record), `the result is too long for a line: all of it is in ${wholeResult}`];
  return JSON.stringify({ ...Object.fromEntries(short), wholeResult, warnings });
}

function warningsOf({ warnings }: ResultRecord): readonly unknown[] {
  return Array.isArray(warnings) ? warnings : [];
}

async function writeJson(file: FileHandle, value: unknown): Promise<void> {
  let gathered = '';
  for (const piece of jsonPieces(value)) {
    gathered += piece;
    if (gathered.length < pieceLength) continue;
    await file.appendFile(gathered);
    gathered = '';
  }
  await file.appendFile(`${gathered}\n`);
}

/** JSON text of any length, in pieces of which each is a string. */
function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > pieceLength) {
    yield '"';
    // Of a pair that is cut in two JSON escapes both halves, and its readers join them again.
    for (let at = 0; at < value.length; at += pieceLength)
      yield JSON.stringify(value.slice(at, at + pieceLength)).slice(1, -1);
    yield '"';
  } else if (Array.isArray(value))
    yield* listPieces(
      '[]',
      value.map((item) => jsonPieces(item ?? null)),
    );
  else if (isObject(value)) {
    const fields = Object.entries(value).filter(([, item]) => item !== undefined);
    yield* listPieces(
      '{}',
      fields.map(([key, item]) => fieldPieces(key, item)),
    );
  } else yield JSON.stringify(value);
}

function* fieldPieces(key: string, value: unknown): Generator<string> {
  yield `${JSON.stringify(key)}:`;
  yield* jsonPieces(value);
}

function* listPieces(brackets: string, items: readonly Iterable<string>[]): Generator<string> {
  yield brackets.charAt(0);
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ',';
    yield* item;
  }
  yield brackets.charAt(1);
}
