import { isObject, type JsonObject, type JsonValue } from './json.ts';

const mark = Symbol('upload');

/** Bytes that a request body holds as plain Base64, read only while sending. */
export interface Upload {
  readonly [mark]: true;
  /** Size of the decoded bytes; known beforehand, so that Content-Length is too. */
  readonly bytes: number;
  /** A file's path, or the bytes themselves. */
  readonly source: string | Uint8Array;
  /** The file is gone when the program ends: it holds what came through stdin or a pipe. */
  readonly isTemporary?: boolean | undefined;
  /** Where the file was fetched from, or will be: then the bytes are not there yet. */
  readonly url?: string | undefined;
  /** What the Base64 follows in its string: `data:image/png;base64,`. */
  readonly prefix?: string | undefined;
  /** In a form the bytes are sent as they are, as a file of this name and type. */
  readonly file?: { readonly name: string; readonly mimeType: string } | undefined;
}

/** What is known of an upload's source beside its bytes. */
type Origin = Omit<Upload, typeof mark | 'bytes' | 'source'>;

/** A request body before it is written: JSON in which a string may be an Upload. */
export type BodyValue = JsonValue | Upload | BodyValue[] | { [key: string]: BodyValue };

/** A request body's top level. */
export interface Body {
  [key: string]: BodyValue;
}

/** Marks a file (with its size in bytes) or bytes in memory as the content of a Base64 string. */
export function createUpload(source: string | Uint8Array, bytes: number, origin?: Origin): Upload;
export function createUpload(source: Uint8Array): Upload;
export function createUpload(source: string | Uint8Array, bytes?: number, origin?: Origin): Upload {
  return { [mark]: true, source, bytes: bytes ?? (source as Uint8Array).byteLength, ...origin };
}

/** Tells an Upload from ordinary JSON. */
export function isUpload(value: unknown): value is Upload {
  return typeof value === 'object' && value !== null && mark in value;
}

/** Length of the Base64 text of so many bytes, padding included. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Lays fields over a body; a field that is undefined is not set and leaves the body as it is. */
export function setFields(body: Body, fields: Record<string, BodyValue | undefined>): Body {
  const set = { ...body };
  for (const key of Object.keys(fields)) if (fields[key] !== undefined) set[key] = fields[key];
  return set;
}

/** The object at a key of a body, to lay fields over; empty where there is none. */
export function objectAt(body: Body, key: string): Body {
  const value = body[key];
  return isBody(value) ? value : {};
}

/** A body, or undefined if it is empty: an empty object is not sent. */
export function unlessEmpty(body: Body): Body | undefined {
  return Object.keys(body).length === 0 ? undefined : body;
}

function isBody(value: BodyValue | undefined): value is Body & JsonObject {
  return isObject(value) && !isUpload(value);
}

/** A count that a body sets: a whole number from 0. */
export function countField(body: Body, key: string): number | undefined {
  const value = body[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
