import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { basename as lastOfUrl } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import {
  createUpload,
  imageFacts,
  makeRereadable,
  type Media,
  pixelsOf,
  readInputImage,
  refuseEmptyMask,
  shellWord,
  sniffMedia,
  spool,
  type Spooling,
  type Upload,
  usageError,
} from '../../library/index.ts';
import { decodeText, isStdin, isUrl, isUtf16, readAgain, shownUrl, unreadableFile, urlForFile } from './input-files.ts';
import type { InputContext } from '../context.ts';
import { quoteWord } from '../flags/flag.ts';
import { formatSize } from './prompt.ts';
import type { ImageInputFlags } from './stray-files.ts';

/** An input image or file, which is read while the request is sent. */
export interface Attached {
  /** The media type, from the bytes of an image, otherwise from the file name. */
  mimeType: string;
  data: Upload;
  /** The file's name, for formats that have one. */
  title?: string | undefined;
  /** Lower-case hex; for the sidecar. */
  sha256?: string | undefined;
  /** `WxH`, in pixels. */
  pixels?: string | undefined;
}

/** Above this many bytes a gateway may refuse the request. */
const largeInput = 20_000_000;

/** The file of an input that is a URL. */
export interface FetchedFile {
  path: string;
  /** The Content-Type header of its server. */
  mimeType: string | undefined;
}

/** Fetched files by their URLs as they were typed. */
export type FetchedFiles = ReadonlyMap<string, FetchedFile>;

interface InputReading {
  context: InputContext;
  /** URLs that are not in the map are fetched later: a place is left for them. */
  fetched?: FetchedFiles | undefined;
  /** The time of the command; without it, only a signal ends the reading. */
  deadline?: (() => { signal: AbortSignal }) | undefined;
  /** The input is read once more later, so a pipe is refused. */
  isReadAgain?: true;
}

/** The files and images of a request. */
export interface Inputs {
  /** Images. */
  inputs: Attached[];
  /** The images, and files. */
  media: Media[];
  mask?: Attached;
}

/** Opens all inputs. A format that takes only some types as bytes gets text files as text. Throws GatewayError usage. */
export async function readInputs(
  { image = [], attach = [], mask, sidecar }: ImageInputFlags & { mask?: string; sidecar?: boolean | undefined },
  reading: InputReading & { takesTextFiles: boolean },
): Promise<Inputs> {
  const inputs = await openInputImages(image, reading, { hash: sidecar === true });
  const files = await readAttachments(attach, reading);
  const media = [...inputs, ...files];
  return { inputs, media, ...(mask !== undefined && { mask: await readMask(mask, inputs[0], reading) }) };
}

/** Opens the images of `-i`; `-` is stdin. Throws GatewayError usage for a file that is not an image. */
export async function openInputImages(
  words: readonly string[],
  reading: InputReading,
  { hash = false, flag = '-i' } = {},
): Promise<Attached[]> {
  const { context } = reading;
  const { known = readAgain } = context;
  const images: Attached[] = [];
  for (const typed of words) {
    const { path, name, declaredType, origin } = await openInput(flag, typed, reading);
    if (path === undefined) {
      images.push({ mimeType: 'image/*', data: createUpload(noBytes, 0, origin) });
      continue;
    }
    const label = `${flag} ${quoteWord(name)}`;
    const instead =
      flag === '-i' && takesFiles(context) ? `to send a file of another type: --attach ${shellWord(name)}` : undefined;
    const image = await known(path, 'picture', () => readInputImage(path, { label, hash, declaredType, instead }));
    await warnOfSize(name, image.bytes, context);
    images.push({
      mimeType: image.mimeType,
      data: createUpload(path, image.bytes, origin),
      sha256: image.sha256,
      pixels: pixelsOf(image),
    });
  }
  return images;
}

/** Whether the command has `--attach`. */
function takesFiles({ command }: InputContext): boolean {
  return !command.startsWith('image');
}

/** Opens the image of `--mask`. Throws GatewayError usage if it is not a PNG, or not as large as the image that it covers. */
async function readMask(typed: string, covered: Attached | undefined, reading: InputReading): Promise<Attached> {
  const [mask] = (await openInputImages([typed], reading, { flag: '--mask' })) as [Attached];
  // A URL may be fetched later, so its bytes are not known yet.
  if (mask.mimeType !== 'image/png' && mask.mimeType !== 'image/*')
    throw usageError(
      `--mask ${quoteWord(typed)} is ${mask.mimeType}, and a mask is a PNG`,
      'make the part that may change transparent, and save it as PNG',
    );
  if (mask.pixels !== undefined && covered?.pixels !== undefined && mask.pixels !== covered.pixels)
    throw usageError(
      `--mask ${quoteWord(typed)} has ${mask.pixels} pixels, and the first image has ${covered.pixels}`,
      'both must be of the same size',
    );
  await refuseEmptyMask(mask.data, `--mask ${quoteWord(typed)}`);
  return mask;
}

/** Opens the files of `--attach`, of any type. Throws GatewayError usage if one is empty, or its type cannot be told. */
export async function readAttachments(
  words: readonly string[],
  reading: InputReading & { takesTextFiles?: boolean },
  { flag = '--attach' } = {},
): Promise<Media[]> {
  const { known = readAgain } = reading.context;
  const files: Media[] = [];
  for (const typed of words) {
    const opened = await openInput(flag, typed, reading);
    const { path, name, title, origin } = opened;
    if (path === undefined) {
      files.push({ mimeType: 'application/octet-stream', data: createUpload(noBytes, 0, origin), title });
      continue;
    }
    const { bytes, mimeType, isText, pixels } = await known(path, 'facts', () =>
      readFileFacts(path, opened, flag),
    ).catch((error: unknown) => {
      throw unreadableFile(flag, name, error);
    });
    await warnOfSize(name, bytes, reading.context);
    const isSentAsText = isText && !reading.takesTextFiles;
    const data = isSentAsText
      ? await known(path, 'text', async () => decodeText(await readFile(path), `${flag} ${quoteWord(name)}`))
      : createUpload(path, bytes, origin);
    files.push({ mimeType, data, title, pixels });
  }
  return files;
}

/** The bytes of an input that is fetched later. */
const noBytes = new Uint8Array();

/** An opened input: a file, or a URL that is fetched later. */
interface OpenedInput {
  /** The path of the file; undefined if it is fetched later. */
  path: string | undefined;
  /** The name for messages: a URL without its query, which may contain a secret. */
  name: string;
  /** The last part of its name, for formats that have one. */
  title?: string | undefined;
  /** The Content-Type header of its server. */
  declaredType?: string | undefined;
  origin: Pick<Upload, 'isTemporary' | 'url'>;
}

/** stdin, a URL or a pipe such as bash's `<(…)` can be read only once: it goes to a file first, because its size is needed. */
async function openInput(flag: string, typed: string, reading: InputReading): Promise<OpenedInput> {
  if (isUrl(typed)) return openUrl(flag, typed, reading);
  const { context } = reading;
  if (isStdin(typed)) {
    const path = await spool(context.stdin.claim(flag), createSpooling(reading));
    return { path, name: typed, origin: { isTemporary: true } };
  }
  const path = resolve(context.io.cwd, parseInputPath(flag, typed));
  const label = `${flag} ${quoteWord(typed)}`;
  if (reading.isReadAgain) await refusePipe(path, label);
  const file = await makeRereadable(path, { ...createSpooling(reading), label });
  return file === path
    ? { path, name: typed, title: basename(typed), origin: {} }
    : { path: file, name: typed, origin: { isTemporary: true } };
}

/** Throws GatewayError usage for a pipe or a device. */
async function refusePipe(path: string, label: string): Promise<void> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || stats.isFile() || stats.isDirectory()) return;
  throw usageError(`${label} is a pipe or a device, which is read only once`, 'save what it holds, and name that file');
}

function createSpooling({ context, deadline }: InputReading): Spooling {
  return { signal: (deadline?.() ?? context).signal, atEnd: context.atEnd };
}

/** The file of a URL. Throws GatewayError usage if it is not https. */
function openUrl(flag: string, typed: string, { fetched }: InputReading): OpenedInput {
  const { url } = parseInputUrl(flag, typed);
  const { path, mimeType } = fetched?.get(typed) ?? {};
  const title = lastOfUrl(url.pathname) || url.host;
  return { path, name: shownUrl(url), title, declaredType: mimeType, origin: { isTemporary: true, url: url.href } };
}

/** A URL of an input, and its label in messages. Throws GatewayError usage if it is not https. */
export function parseInputUrl(flag: string, typed: string): { url: URL; label: string } {
  if (!/^https?:/i.test(typed)) throw urlForFile(flag, typed);
  if (!URL.canParse(typed)) throw usageError(`${flag}: the URL is not valid`, 'it looks like https://host/photo.jpg');
  const url = new URL(typed);
  const label = `${flag} ${quoteWord(shownUrl(url))}`;
  const instead = 'save the file, and name that';
  if (url.protocol !== 'https:') throw usageError(`${label}: only https:// is fetched`, `use https://, or ${instead}`);
  if (url.username !== '' || url.password !== '')
    throw usageError(`${label}: the URL holds a user name or password`, instead);
  url.hash = '';
  return { url, label };
}

/** The path of a word, which can be a `file:///…` URL. Throws GatewayError usage for a file on another host. */
function parseInputPath(flag: string, typed: string): string {
  if (!/^file:\/\//i.test(typed)) return typed;
  try {
    return fileURLToPath(typed);
  } catch (error) {
    throw usageError(
      `${flag} ${quoteWord(typed)} names no file of this machine`,
      `for example: ${flag} file:///tmp/a.png`,
      error,
    );
  }
}

/** Types that servers send for any file. */
const vagueTypes = new Set(['application/octet-stream', 'binary/octet-stream', 'text/plain']);

/**
 * Types of text that services know; other text is plain. The reason: Google refuses most types, and `.ts` is also the extension
 * of a film.
 */
const knownTexts = new Set([
  'text/csv',
  'text/css',
  'text/html',
  'text/javascript',
  'text/markdown',
  'text/xml',
  'application/json',
]);

/** Types of files that are text, by their name. */
const textTypes = /^text\/|^application\/(.+\+)?(json|xml|javascript|yaml|toml|x-sh)$/;

interface FileFacts {
  bytes: number;
  mimeType: string;
  isText: boolean;
  /** `WxH` of a picture, in pixels. */
  pixels?: string | undefined;
}

/** The type by the bytes, by the server's header, or by the name. Throws GatewayError usage, and errors of the system. */
async function readFileFacts(path: string, { name, declaredType }: OpenedInput, flag: string): Promise<FileFacts> {
  const label = `${flag} ${quoteWord(name)}`;
  const { bytes, head, isText } = await examineFile(path);
  if (bytes === 0) throw usageError(`${label} is empty`, 'name a file that has content');
  const { default: mimeTypes } = await import('mime-types');
  const named = !name.endsWith('/') && mimeTypes.lookup(name);
  const known = sniffMedia(head);
  if (known?.startsWith('image/')) return { bytes, mimeType: known, isText: false, pixels: pixelsOf(imageFacts(head)) };
  if (known !== undefined) return { bytes, mimeType: known, isText: false };
  if (declaredType === 'text/html' && named !== false && /pdf$|^(image|audio|video)\//.test(named))
    throw usageError(`${label} is a web page (text/html), not ${named}`, 'look at it in a browser');
  const types = [declaredType, named].filter((type) => type !== undefined && type !== false);
  if (isText) return { bytes, mimeType: types.find((type) => knownTexts.has(type)) ?? 'text/plain', isText };
  const type = types.find((type) => !vagueTypes.has(type)) ?? types.at(-1);
  if (isUtf16(head) || (type === undefined ? !hasControls(head) : textTypes.test(type)))
    return refuseOtherText(path, label);
  if (type !== undefined) return { bytes, mimeType: type, isText };
  throw usageError(`${label}: its type cannot be told`, 'give it a name with an extension, such as notes.pdf');
}

/** Whether a file is UTF-8 without NUL; it is read until that is decided. */
async function examineFile(path: string): Promise<{ bytes: number; head: Uint8Array; isText: boolean }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let head: Uint8Array = noBytes;
  let isText = true;
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    if (head === noBytes) head = chunk;
    isText = !chunk.includes(0) && sniffMedia(head) === undefined && decodes(decoder, chunk);
    if (!isText) break;
  }
  return { bytes: (await stat(path)).size, head, isText: isText && decodes(decoder) };
}

/** Whether a chunk is UTF-8 after the chunks before; without a chunk, whether the last character is whole. */
function decodes(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): boolean {
  try {
    decoder.decode(chunk, { stream: chunk !== undefined });
    return true;
  } catch {
    return false;
  }
}

/** Tab, line feed, form feed, carriage return, escape. */
const textControls = new Set([9, 10, 12, 13, 27]);

/** Whether the first bytes hold control characters that no text has, in any encoding of one byte. */
function hasControls(head: Uint8Array): boolean {
  return head.subarray(0, 4096).some((byte) => byte < 32 && !textControls.has(byte));
}

/** Throws GatewayError usage for text that is not UTF-8: services guess at its letters, or refuse it. */
async function refuseOtherText(path: string, label: string): Promise<never> {
  decodeText(await readFile(path), label);
  throw usageError(`${label} is not text: it holds NUL bytes`, 'if it is UTF-16, convert it: iconv -f UTF-16 -t UTF-8');
}

async function warnOfSize(typed: string, bytes: number, { ui }: InputContext): Promise<void> {
  if (bytes > largeInput)
    await ui.warn(
      `${quoteWord(typed)} has ${formatSize(bytes)}; gateways may refuse more than ${formatSize(largeInput)}`,
    );
}
