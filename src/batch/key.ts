import type { Body } from '../body.ts';
import { formatFacts } from '../formats/format.ts';
import type { FormatName } from '../formats/types.ts';
import { describeUploads, type Hashing, keyRequest, listUploads } from '../request-key.ts';

/** What a row asks. */
interface Question {
  /** Scheme and host of the gateway, or `offline`. */
  origin: string;
  /** Of the request: it names the format or the model. */
  path: string;
  format: FormatName;
  body: Body;
}

/** What is known of a row whose key is made. */
export interface RowKey {
  /** 32 hex digits. */
  key: string;
  /** Whether something in it is still to be fetched. */
  hasUrls: boolean;
  /** Length of the request; infinite if it has files or URLs. */
  characters: number;
}

/**
 * The key of a row: rows that ask the same have the same key, whatever bounds, routes or labels their requests. Files count by their
 * content, and URLs by their text. Throws GatewayError usage for an unreadable file.
 */
export async function keyRow({ origin, path, format, body }: Question, hashing: Hashing = {}): Promise<RowKey> {
  const uploads = listUploads(body);
  const asked = { path: `${origin}${path}`, body: await describeUploads(body, hashing) };
  const { key, text } = keyRequest(asked, formatFacts[format].unkeyed);
  const characters = uploads.length > 0 ? Number.POSITIVE_INFINITY : text.length;
  return { key, hasUrls: uploads.some(({ url }) => url !== undefined), characters };
}
