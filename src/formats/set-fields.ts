import { isObject } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { isUpload } from '../upload.ts';
import type { Body, BodyValue } from '../upload.ts';

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

/** A body, or undefined when nothing is in it: an empty object that nobody asked for is not sent. */
export function unlessEmpty(body: Body): Body | undefined {
  return Object.keys(body).length === 0 ? undefined : body;
}

function isBody(value: BodyValue | undefined): value is Body & JsonObject {
  return isObject(value) && !isUpload(value);
}
