import { imageSize } from 'image-size';

/** Bytes that are searched for the size of an image. */
const sizeBytes = 256 * 1024;
/** The limit for HEIF is smaller: the time of the search grows with the square of the number of boxes. */
const heifBytes = 64 * 1024;

const heifBrands: Record<string, string> = {
  avif: 'image/avif',
  avis: 'image/avif',
  heic: 'image/heic',
  heix: 'image/heic',
  hevc: 'image/heic',
  hevx: 'image/heic',
  heim: 'image/heic',
  heis: 'image/heic',
  mif1: 'image/heif',
  msf1: 'image/heif',
};

/** The media type by the first bytes; undefined if they are of no known image type (SVG is text). */
export function sniffType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 64)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return 'image/webp';
  if (head.startsWith('ftyp', 4)) return heifType(head);
  if (head.startsWith('BM') && head.length >= 26 && head.startsWith('\0\0\0\0', 6)) return 'image/bmp';
  if (['II*\0', 'MM\0*', 'II+\0', 'MM\0+'].some((mark) => head.startsWith(mark))) return 'image/tiff';
  return undefined;
}

/** Whether bytes begin an SVG in UTF-8: comments and a declaration can be in front of its element. */
export function isSvg(head: Uint8Array): boolean {
  const text = Buffer.from(head.subarray(0, 4096)).toString('utf8');
  return /^\uFEFF?\s*(?:<\?xml[^>]*\?>\s*|<!--(?:(?!-->)[^])*-->\s*|<!doctype svg[^>[]*>\s*)*<svg[\s/>]/i.test(text);
}

/** The type of a compatible brand, if the major brand is generic. */
function heifType(head: string): string | undefined {
  const major = heifBrands[head.slice(8, 12)];
  if (major !== 'image/heif') return major;
  const compatible = Array.from({ length: 6 }, (_, i) => heifBrands[head.slice(16 + 4 * i, 20 + 4 * i)]);
  return compatible.find((type) => type !== undefined && type !== 'image/heif') ?? major;
}

/** The type and size of an image by its first bytes. */
interface ImageFacts {
  /** Undefined if the bytes are of no known image type. */
  mimeType: string | undefined;
  /** Pixels of the image as it is shown; undefined if the header does not have them. */
  width: number | undefined;
  height: number | undefined;
}

/** Reads type and size by the first bytes. Never throws: a header that is cut or damaged has no size. */
export function imageFacts(head: Uint8Array): ImageFacts {
  const mimeType = sniffType(head);
  if (mimeType !== undefined) {
    const isHeif = mimeType === 'image/avif' || mimeType.startsWith('image/hei');
    try {
      // A copy: the package reads from the underlying memory, beyond the end of a view.
      const {
        width,
        height,
        orientation = 1,
      } = imageSize(new Uint8Array(head.subarray(0, isHeif ? heifBytes : sizeBytes)));
      // Orientations from 5 on in the EXIF data turn the image by a quarter.
      if (width > 0 && height > 0)
        return orientation >= 5 ? { mimeType, width: height, height: width } : { mimeType, width, height };
    } catch {
      // The size stays unknown.
    }
  }
  return { mimeType, width: undefined, height: undefined };
}

/** `WxH`, if both are known. */
export function pixelsOf({ width, height }: Pick<ImageFacts, 'width' | 'height'>): string | undefined {
  return width === undefined ? undefined : `${width}x${height}`;
}

/** The extensions of each type; images are saved with the first, a user may have chosen another. */
const extensions: Record<string, readonly [string, ...string[]]> = {
  'image/png': ['png'],
  'image/jpeg': ['jpg', 'jpeg', 'jpe', 'jfif'],
  'image/webp': ['webp'],
  'image/gif': ['gif'],
  'image/avif': ['avif'],
  'image/heic': ['heic', 'heif'],
  'image/heif': ['heif', 'heic'],
  'image/bmp': ['bmp', 'dib'],
  'image/tiff': ['tiff', 'tif'],
  'image/svg+xml': ['svg'],
};

const svgType = 'image/svg+xml';

/** The extensions of images of the known types. */
export function knownExtensions(): string[] {
  return Object.values(extensions).map(([extension]) => extension);
}

/** Whether an extension belongs to a known image type, in any case. */
export function isImageExtension(extension: string): boolean {
  return Object.values(extensions).some((names) => names.includes(extension.toLowerCase()));
}

/** The image type of a name, by its extension. */
export function findTypeByName(name: string): string | undefined {
  const [, extension = ''] = /\.([^.]+)$/.exec(name) ?? [];
  return Object.keys(extensions).find((type) => extensions[type]?.includes(extension.toLowerCase()));
}

/** Whether two extensions are of the same type: jpeg and jpg, tif and tiff, in any case. */
export function sameExtension(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a === b || Object.values(extensions).some((names) => names.includes(a) && names.includes(b));
}

const longestType = 127;

/** A declared media type in lower case without parameters (deviation 12); undefined if the text is none. */
export function mediaType(declared: string): string | undefined {
  const start = declared.slice(0, longestType + 1).split(';', 1)[0] ?? '';
  const type = start.trim().toLowerCase();
  return type.length <= longestType && /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+*-]+$/.test(type) ? type : undefined;
}

/** The extension of an image's file, and a warning if it differs from the gateway's declared type. */
interface Extension {
  /** Without the dot, lower case: safe in any file name. */
  extension: string;
  /** The type of the bytes; the declared one if the bytes are of no known type. */
  mimeType: string;
  warning?: string | undefined;
}

/** Types whose files neither a double click nor a browser executes. */
const harmless = /^(?:(?:image|audio|video)\/|application\/(?:pdf|json)$|text\/(?:plain|csv|markdown)$)/;

/**
 * The extension of a reply's image or file: by its first bytes, otherwise by the declared type (deviation 13). Types that can
 * contain a script never get an extension of their own: they are `bin`, and so is an SVG whose bytes were not searched.
 */
export async function extensionFor({
  declaredType,
  head,
  isHarmlessSvg = false,
}: {
  declaredType: string | undefined;
  head: Uint8Array;
  isHarmlessSvg?: boolean;
}): Promise<Extension> {
  const declared = declaredType === undefined ? undefined : mediaType(declaredType);
  const named = declared === undefined ? undefined : (aliases[declared] ?? declared);
  const real = isHarmlessSvg ? svgType : sniffType(head);
  if (real !== undefined)
    return { extension: knownExtension(real), mimeType: real, warning: typeWarning(declaredType, named, real) };
  if (named !== undefined && Object.hasOwn(extensions, named) && named !== svgType) {
    const warning = `the image is declared ${named}, but its bytes are of no known image type`;
    return { extension: knownExtension(named), mimeType: named, warning };
  }
  const extension = named !== undefined && harmless.test(named) ? await registeredExtension(named) : undefined;
  const isOfImage = named === undefined || named.startsWith('image/') || unspecific.has(named);
  if (named !== undefined && extension !== undefined) {
    const mimeType = `${named}${sampleRate(declaredType)}`;
    return { extension, mimeType, warning: isOfImage ? undefined : `a file came: ${mimeType}` };
  }
  const type = declaredType === undefined ? 'without a type' : `as ${quoteType(declaredType)}`;
  return {
    extension: 'bin',
    mimeType: 'application/octet-stream',
    warning: isOfImage
      ? `the image came ${type}, and its bytes are of no known image type`
      : `a file came ${type}, whose extension is not known`,
  };
}

/** Whether a type means samples without a header. Services send them in pieces, which are one sound. */
export function isSamples(declaredType = ''): boolean {
  return /^\s*audio\/(?:l16|pcm)\s*(?:;|$)/i.test(declaredType.slice(0, longestType));
}

/** Samples without a header can be played only with their rate. */
function sampleRate(declaredType = ''): string {
  const [, rate] = /^audio\/[^;]{1,40};(?:[^;]{0,40};){0,4}\s*rate=(\d{1,7})\s*(?:;|$)/i.exec(declaredType) ?? [];
  return rate === undefined ? '' : `;rate=${rate}`;
}

const aliases: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/apng': 'image/png',
  'image/x-ms-bmp': 'image/bmp',
  'image/x-bmp': 'image/bmp',
  'image/x-webp': 'image/webp',
  'image/svg': svgType,
};

function knownExtension(type: string): string {
  return extensions[type]?.[0] ?? 'bin';
}

/** Types that say nothing about the bytes. */
const unspecific = new Set(['application/octet-stream', 'binary/octet-stream', 'image/*']);

function typeWarning(declaredType: string | undefined, named: string | undefined, real: string): string | undefined {
  if (declaredType === undefined || named === real || (named !== undefined && unspecific.has(named))) return undefined;
  if (named !== undefined && sameExtension(knownExtension(named), knownExtension(real)) && named in extensions)
    return undefined;
  return `the image is declared ${quoteType(declaredType)}, but its bytes are ${real}`;
}

/** Extensions that players know; the registered ones of sound and film are mpga, oga and qt. */
const usualExtensions = new Map([
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
  ['audio/ogg', 'ogg'],
  ['audio/wave', 'wav'],
  ['audio/mp4', 'm4a'],
  ['audio/l16', 'pcm'],
  ['audio/pcm', 'pcm'],
  ['video/quicktime', 'mov'],
  ['video/mpeg', 'mpg'],
]);

/** The extensions of sound and film that people give to a file. */
const playedExtensions = new Set('aac aiff flac m4a mov mp3 mp4 mpg ogg opus pcm wav webm'.split(' '));

/** Whether an extension belongs to an image, a sound or a film: such a file has no text. */
export function isMediaExtension(extension: string): boolean {
  return isImageExtension(extension) || playedExtensions.has(extension.toLowerCase());
}

/** The extension of other types, by the package mime-types, which takes 11 to 25 ms to load. */
async function registeredExtension(type: string): Promise<string | undefined> {
  const usual = usualExtensions.get(type);
  if (usual !== undefined) return usual;
  if (type.includes('svg') || type.includes('xml')) return undefined;
  const { default: mimeTypes } = await import('mime-types');
  const extension = mimeTypes.extension(type);
  return extension !== false && /^[a-z0-9]{1,5}$/.test(extension) ? extension : undefined;
}

/** A declared type in a message: shortened, and only printable ASCII. */
function quoteType(type: string): string {
  const start = type.slice(0, 60).replace(/[^ -~]/g, '?');
  return JSON.stringify(type.length > 60 ? `${start}…` : start);
}
