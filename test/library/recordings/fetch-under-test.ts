import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  openExchangeRecorder,
  type ExchangeRecorder,
  type ExchangeRecorderOptions,
} from '../../../src/library/recordings/recorder.ts';
import type { Fetch, HttpReply, HttpRequest } from '../../../src/library/transport/types.ts';
import { recordedFiles } from '../../helpers/recorded-files.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const base = new URL('http://127.0.0.1:9/');

/** A request of the messages format with a given body. */
export function messagesRequest(body: object | string = { model: 'm', n: 1 }): HttpRequest {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const headers = { 'x-api-key': 'not-kept' };
  return { url: new URL('/v1/messages', base), base, headers, body: { segments: [bytes], bytes: bytes.length } };
}

/** A step of a body: bytes, or an error. */
export type BodyStep = string | Uint8Array | Error;

/** A fetch that answers with the next of the given bodies. */
export function answers(...bodies: readonly (readonly BodyStep[])[]): Fetch {
  const queue = [...bodies];
  return async (): Promise<HttpReply> => {
    const steps = queue.shift() ?? [];
    async function* body(): AsyncGenerator<Uint8Array> {
      for (const step of steps) {
        if (step instanceof Error) throw step;
        yield Buffer.from(step);
      }
    }
    return { status: 200, headers: { 'content-type': 'text/plain', 'set-cookie': 'session=1' }, body: body() };
  };
}

const noMask = { hide: (text: string) => text, reach: 0 };

/** A recorder with a folder of its own. */
export async function recorderFor(
  options: Partial<ExchangeRecorderOptions> = {},
): Promise<{ recorder: ExchangeRecorder; folder: string }> {
  const folder = options.folder ?? join(scratchFolder(), 'made');
  const onFailure = (error: unknown): never => {
    throw error;
  };
  return {
    recorder: await openExchangeRecorder({ mask: noMask, onFailure, now: () => 5, ...options, folder }),
    folder,
  };
}

/** The files of a folder with their lines, in order of their names: `<folder of the request>/1.jsonl`. */
export function recordingsIn(folder: string): { name: string; lines: unknown[] }[] {
  return recordedFiles(folder).map((name) => ({ name, lines: parsedLines(join(folder, name)) }));
}

function parsedLines(path: string): unknown[] {
  const text = readFileSync(path, 'utf8');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

/** Reads a body to its end: the chunks, and the error if it failed. */
export async function readBody({ body }: HttpReply): Promise<{ chunks: string[]; error: unknown }> {
  const chunks: string[] = [];
  try {
    for await (const chunk of body) chunks.push(Buffer.from(chunk).toString('latin1'));
    return { chunks, error: undefined };
  } catch (error) {
    return { chunks, error };
  }
}

/** A signal that is never aborted. */
export const calm = { signal: new AbortController().signal };
