import { basename } from 'node:path/posix';
import { usageError } from '../../errors.ts';
import { spool } from '../../images/input.ts';
import type { FetchedInput } from '../../transport/types.ts';
import type { Upload } from '../../body.ts';
import { quote } from '../flags/flag.ts';
import type { Context } from '../context.ts';
import { isUrl, shownUrl, urlForFile } from './input-files.ts';

/** Fetches a URL, `label` in messages; undefined if it is fetched later. Throws GatewayError. */
export type FetchUrl = (url: URL, label: string) => Promise<FetchedInput | undefined>;

/** Largest input. */
const maxMebibytes = 64;

/** An opened input: a file, or a URL that is fetched later. */
export interface OpenedInput {
  /** Undefined if it is fetched later. */
  path: string | undefined;
  /** For messages: a URL without its query, which may contain a secret. */
  name: string;
  /** The last part of its name, for formats that have one. */
  title?: string | undefined;
  /** The Content-Type header of its server. */
  declaredType?: string | undefined;
  origin: Pick<Upload, 'isTemporary' | 'url'>;
}

/** Fetches a URL; undefined for a path. Throws GatewayError usage if it is not https. */
export async function openUrlInput(
  flag: string,
  typed: string,
  { context, fetchUrl }: { context: Context; fetchUrl: FetchUrl },
): Promise<OpenedInput | undefined> {
  if (!isUrl(typed)) return undefined;
  const url = parseInputUrl(flag, typed);
  const name = shownUrl(url);
  const origin = { isTemporary: true, url: url.href };
  const input = { name, title: basename(url.pathname) || url.host, origin };
  const label = `${flag} ${quote(name)}`;
  const fetched = await fetchUrl(url, label);
  if (fetched === undefined) return { ...input, path: undefined };
  const spooled = await spool(fetched.body, { label, capMebibytes: maxMebibytes });
  context.atEnd(spooled.cleanup);
  return { ...input, path: spooled.path, declaredType: fetched.mimeType };
}

function parseInputUrl(flag: string, typed: string): URL {
  if (!/^https?:/i.test(typed)) throw urlForFile(flag, typed);
  if (!URL.canParse(typed)) throw usageError(`${flag}: the URL is not valid`, 'it looks like https://host/photo.jpg');
  const url = new URL(typed);
  const label = `${flag} ${quote(shownUrl(url))}`;
  const instead = 'save the file, and name that';
  if (url.protocol !== 'https:') throw usageError(`${label}: only https:// is fetched`, `use https://, or ${instead}`);
  if (url.username !== '' || url.password !== '')
    throw usageError(`${label}: the URL holds a user name or password`, instead);
  url.hash = '';
  return url;
}
