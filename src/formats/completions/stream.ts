import { isObject, type JsonObject, listField } from '../../json.ts';
import { badReply, foreignReply, isCutData, parseEventData } from '../parse-reply.ts';
import { type ErrorBody } from '../error-body.ts';
import type { Decoder, Progress, ReplyEvent, ServerEvent, TextRun } from '../events.ts';
import { failureOfError } from '../failure.ts';
import { isImagesReply, readImages } from './images.ts';
import { createReplyReader, type ReplyReader } from './reply.ts';
import { findErrorInReply } from '../format.ts';

/** Far below what a string of V8 holds (512 Mi): a document has the text several times, with escapes. */
const maxCharacters = 64 * 1024 * 1024;

interface State {
  readonly reader: ReplyReader;
  isEnded: boolean;
}

/** Reads one reply of the format (formats 7, and deviations 47 to 60). */
export function createCompletionsDecoder(): Decoder {
  const state: State = { reader: createReplyReader(), isEnded: false };
  return {
    whole: (json) => [...readWhole(state, json), ...state.reader.end()],
    feed: (event) => bounded(state, feed(state, event)),
    end: () => state.reader.end(),
    get progress(): Progress {
      if (state.isEnded) return 'ended';
      return state.reader.isStopped ? 'stopped' : 'open';
    },
  };
}

function readWhole(state: State, json: unknown): ReplyEvent[] {
  const pieces = (Array.isArray(json) ? json : [json]).map(unwrap).filter((piece) => piece !== undefined);
  if (pieces.length === 0) throw foreignReply(json, 'completions');
  return take(state, pieces);
}

/** A reply, as it is or in a `response` (deviation 20). */
function unwrap(json: unknown): JsonObject | undefined {
  if (!isObject(json)) return undefined;
  return [json, json['response']].filter((value) => isObject(value)).find(isReply);
}

function isReply(json: JsonObject): boolean {
  return Array.isArray(json['choices']) || isImagesReply(json) || (json['error'] ?? '') !== '';
}

function feed(state: State, fed: ServerEvent | TextRun): ReplyEvent[] {
  if ('index' in fed) return take(state, [{ choices: [{ index: fed.index, delta: { content: fed.text } }] }]);
  const text = fed.data.trim();
  // A comment of the server that a gateway made data of (deviation 29).
  if (text === '' || text.startsWith(':') || state.isEnded) return [];
  if (text === '[DONE]') return end(state);
  // What the end of the body cut says nothing (deviation 33).
  if (fed.unterminated && isCutData(text)) return [];
  const parsed = parseEventData(text);
  return take(state, (Array.isArray(parsed) ? parsed : [parsed]).filter(isObject), fed.event);
}

/** It ends a reply that said why it stopped, and means nothing else: gateways send it after a cut one, too. */
function end(state: State): ReplyEvent[] {
  state.isEnded = state.reader.isStopped;
  return state.isEnded ? [{ type: 'end' }] : [];
}

/** An error comes after what the pieces say before it and beside it; alone it is thrown. */
function take({ reader }: State, pieces: readonly JsonObject[], event?: string): ReplyEvent[] {
  const events: ReplyEvent[] = [];
  for (const json of pieces) {
    const error = errorIn(json, event);
    const failure = error && failureOfError(error, { billed: reader.hasStarted ? 'unknown' : undefined });
    if (isImagesReply(json)) events.push(...readImages(json));
    if (!failure || listField(json, 'choices')?.length) events.push(...reader.take(json));
    if (failure && events.length === 0) throw failure;
    if (failure) return [...events, { type: 'broken', error: failure }];
  }
  return events;
}

function errorIn(json: JsonObject, event: string | undefined): ErrorBody | undefined {
  const isError = event === 'error' || json['type'] === 'error' || json['success'] === false;
  if (!isError && (json['error'] ?? '') === '') return undefined;
  return findErrorInReply(json) ?? (isError ? { message: '' } : undefined);
}

function bounded({ reader }: State, events: ReplyEvent[]): ReplyEvent[] {
  if (reader.held > maxCharacters) throw badReply(`the answer is longer than ${maxCharacters} characters`);
  return events;
}
