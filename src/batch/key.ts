import { hash } from 'node:crypto';
import { type Body, type BodyValue, isUpload } from '../body.ts';
import { formatFacts } from '../formats/format.ts';
import type { FormatName } from '../formats/types.ts';
import { canonicalText, type Hashing } from './digest.ts';

/** What a row asks. */
interface Question {
  /** Scheme and host of the gateway, or `offline`. */
  origin: string;
  /** Of the request: it names the format or the model. */
  path: string;
  format: FormatName;
  body: Body;
}

/** What is known of a request whose key is made. */
interface RequestKey {
  /** 32 hex digits. */
  key: string;
  /** Whether something in it is still to be fetched. */
  hasUrls: boolean;
  /** Length of the body; infinite if it has files or URLs. */
  characters: number;
}

/**
 * The key of a request: rows that ask the same have the same key, whatever bounds, routes or labels their requests. Files count by their
 * content, and URLs by their text. Throws the system's error for an unreadable file.
 */
export async function keyRequest({ origin, path, format, body }: Question, hashing: Hashing = {}): Promise<RequestKey> {
  const { text, hasUrls, characters } = await canonicalText(withoutUnkeyed(body, formatFacts[format].unkeyed), hashing);
  return { key: hash('sha256', `${origin}\n${path}\n${text}`, 'hex').slice(0, 32), hasUrls, characters };
}

/** A body without some of its fields. An object in it that has no others is left out, too. */
function withoutUnkeyed(body: Body, fields: readonly string[]): Body {
  const left = { ...body };
  for (const field of fields) {
    const [name = '', inner] = field.split('.');
    const value = left[name];
    if (inner !== undefined && isPlainObject(value)) {
      const { [inner]: _, ...rest } = value;
      left[name] = rest;
      if (Object.keys(rest).length > 0) continue;
    } else if (inner !== undefined) continue;
    delete left[name];
  }
  return left;
}

function isPlainObject(value: BodyValue | undefined): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isUpload(value);
}
