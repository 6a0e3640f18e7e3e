import {
  type Body,
  describeUploads,
  formatFacts,
  type FormatName,
  type Hashing,
  keyRequest,
  listUploads,
} from '../library/index.ts';

/** The question of a row: the facts that its key depends on. */
interface Question {
  /** Scheme and host of the gateway, or `offline`. */
  origin: string;
  /** The path of the request: it names the format or the model. */
  path: string;
  format: FormatName;
  body: Body;
}

/** The key of a row, with the facts of its request. */
export interface RowKey {
  /** 32 hex digits. */
  key: string;
  /** Whether the request has URLs that are still to be fetched. */
  hasUrls: boolean;
}

/**
 * The key of a row: rows that ask the same have the same key, whatever bounds, routes or labels their requests. Files count by
 * their content, and URLs by their text. Throws GatewayError usage for an unreadable file.
 */
export async function keyRow({ origin, path, format, body }: Question, hashing: Hashing = {}): Promise<RowKey> {
  const uploads = listUploads(body);
  const asked = { path: `${origin}${path}`, body: await describeUploads(body, hashing) };
  const { key } = keyRequest(asked, formatFacts[format].unkeyed);
  return { key, hasUrls: uploads.some(({ url }) => url !== undefined) };
}
