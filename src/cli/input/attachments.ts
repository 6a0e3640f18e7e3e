import { createReadStream } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { usageError } from '../../errors.ts';
import type { MessageInline } from '../../formats/messages/types.ts';
import { readInputImage, spool } from '../../images/input.ts';
import { sniffType } from '../../images/sniff.ts';
import { decodeText } from '../../terminal/decode-text.ts';
import { createUpload, type Upload } from '../../upload.ts';
import type { Context } from '../context.ts';
import { quote } from '../flags/values.ts';
import { isUrl, unreadable, urlForFile } from './input-files.ts';
import { sizeOf } from './prompt.ts';

/** A picture or file that goes into the request, read while it is sent. */
export interface Attached {
  /** From the bytes of a picture, else from the name. */
  mimeType: string;
  data: Upload;
  /** The file's name, for formats that show one. */
  title?: string | undefined;
  /** Lower-case hex; for the sidecar. */
  sha256?: string | undefined;
}

/** Above this many bytes a gateway may refuse the request. */
const largeInput = 20_000_000;

/** The pictures of `-i`, or of the word that names them; `-` is stdin. Throws GatewayError usage for what is no picture. */
export async function readImages(
  paths: readonly string[],
  context: Context,
  { hash = false, flag = '-i' } = {},
): Promise<Attached[]> {
  const images: Attached[] = [];
  for (const typed of paths) {
    const { path, isTemporary } = await fileOf(flag, typed, context);
    const image = await readInputImage(path, { label: `${flag} ${quote(typed)}`, hash });
    context.atEnd(image.cleanup);
    await warnOfSize(typed, image.bytes, context);
    const data = createUpload(path, image.bytes, { isTemporary });
    images.push({ mimeType: image.mimeType, data, sha256: image.sha256 });
  }
  return images;
}

/** The files of `--attach`, of any type. Throws GatewayError usage where the type cannot be told. */
export async function readAttachments(paths: readonly string[], context: Context): Promise<Attached[]> {
  const files: Attached[] = [];
  for (const typed of paths) {
    const { path, isTemporary } = await fileOf('--attach', typed, context);
    const { bytes, head } = await lookAt(path, typed);
    await warnOfSize(typed, bytes, context);
    const mimeType = sniffType(head) ?? (await typeOf(typed, head));
    const data = createUpload(path, bytes, { isTemporary });
    files.push({ mimeType, data, title: isTemporary ? undefined : basename(typed) });
  }
  return files;
}

/** Text files as text, for the format that takes only PDF as Base64 documents. */
export async function readDocuments(paths: readonly string[], context: Context): Promise<MessageInline[]> {
  const files = await readAttachments(paths, context);
  return Promise.all(files.map(async (file) => (isText(file.mimeType) ? { ...file, data: await textOf(file) } : file)));
}

function isText(mimeType: string): boolean {
  return mimeType.startsWith('text/') || /^application\/(.+\+)?(json|xml|javascript|yaml|toml|x-sh)$/.test(mimeType);
}

async function textOf({ data, title = 'stdin' }: Attached): Promise<string> {
  const bytes = typeof data.source === 'string' ? await readFile(data.source) : data.source;
  return decodeText(bytes, `--attach ${quote(title)}`);
}

/** What can be read once only, stdin or a pipe such as bash's `<(…)`, goes to a file first: its size must be known. */
async function fileOf(flag: string, typed: string, context: Context): Promise<{ path: string; isTemporary: boolean }> {
  const path = resolve(context.io.cwd, typed);
  if (isUrl(typed)) throw urlForFile(flag, typed);
  const isStdin = typed === '-';
  const stream = isStdin ? context.stdin.claim(flag) : await openPipe(path);
  if (stream === undefined) return { path, isTemporary: false };
  const spooled = await spool(stream, { label: isStdin ? undefined : `${flag} ${quote(typed)}` });
  context.atEnd(spooled.cleanup);
  return { path: spooled.path, isTemporary: true };
}

async function openPipe(path: string): Promise<AsyncIterable<Uint8Array> | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats === undefined || stats.isFile() || stats.isDirectory() ? undefined : createReadStream(path);
}

async function lookAt(path: string, typed: string): Promise<{ bytes: number; head: Uint8Array }> {
  try {
    const { size } = await stat(path);
    const handle = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(4096) });
      return { bytes: size, head: buffer.subarray(0, bytesRead) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw unreadable('--attach', typed, error);
  }
}

async function typeOf(typed: string, head: Uint8Array): Promise<string> {
  if (Buffer.from(head.subarray(0, 5)).toString('latin1') === '%PDF-') return 'application/pdf';
  const { default: mimeTypes } = await import('mime-types');
  const named = mimeTypes.lookup(typed);
  if (named !== false) return named;
  if (!head.includes(0)) return 'text/plain';
  throw usageError(
    `--attach ${quote(typed)}: its type cannot be told`,
    'give it a name with an extension, such as notes.pdf',
  );
}

async function warnOfSize(typed: string, bytes: number, { ui }: Context): Promise<void> {
  if (bytes > largeInput)
    await ui.warn(`${quote(typed)} has ${sizeOf(bytes)}; gateways may refuse more than ${sizeOf(largeInput)}`);
}
