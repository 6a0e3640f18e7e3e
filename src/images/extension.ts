import { sniffType } from './sniff.ts';

/** The only extensions that bytes of these types get; the first is ours, the others a user may have chosen. */
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
};

const aliases: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/apng': 'image/png',
  'image/x-ms-bmp': 'image/bmp',
  'image/x-bmp': 'image/bmp',
  'image/x-webp': 'image/webp',
};

/** Types that say nothing about the bytes. */
const vague = new Set(['application/octet-stream', 'binary/octet-stream', 'image/*']);

const longestType = 127;

/** Types whose files a double click does not run, and a browser does not. */
const harmless = /^(?:(?:image|audio|video)\/|application\/(?:pdf|json)$|text\/(?:plain|csv|markdown)$)/;

/** A declared media type in lower case without parameters (deviation 12); undefined when it is none. */
export function mediaType(declared: string): string | undefined {
  const type =
    declared
      .slice(0, longestType + 1)
      .split(';', 1)[0]
      ?.trim()
      .toLowerCase() ?? '';
  return type.length <= longestType && /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+*-]+$/.test(type) ? type : undefined;
}

/** What a picture's file is called, and why that may not be what the gateway declared. */
export interface Extension {
  /** Without the dot, lower case: safe in any file name. */
  extension: string;
  /** The type of the bytes, or the declared one where the bytes tell none. */
  mimeType: string;
  warning?: string | undefined;
}

/**
 * The extension of a reply's picture or file: from the declared type, but the leading bytes win where they
 * disagree (deviation 13). Types that can hold a script, SVG above all, never reach a file name: they are `bin`.
 */
export async function extensionFor({
  declaredType,
  head,
}: {
  declaredType: string | undefined;
  head: Uint8Array;
}): Promise<Extension> {
  const declared = declaredType === undefined ? undefined : mediaType(declaredType);
  const named = declared === undefined ? undefined : (aliases[declared] ?? declared);
  const real = sniffType(head);
  if (real !== undefined)
    return { extension: knownExtension(real), mimeType: real, warning: disagreement(declaredType, named, real) };
  if (named !== undefined && Object.hasOwn(extensions, named)) {
    return {
      extension: knownExtension(named),
      mimeType: named,
      warning: `the image is declared ${named}, but its bytes are of no known image type`,
    };
  }
  const extension = named !== undefined && harmless.test(named) ? await registeredExtension(named) : undefined;
  if (named !== undefined && extension !== undefined)
    return { extension, mimeType: named, warning: named.startsWith('image/') ? undefined : `a file came: ${named}` };
  const type = declaredType === undefined ? 'without a type' : `as ${shown(declaredType)}`;
  return {
    extension: 'bin',
    mimeType: 'application/octet-stream',
    warning: `the image came ${type}, and its bytes are of no known image type`,
  };
}

/** Whether two extensions mean the same kind of file: jpeg and jpg, tif and tiff, whatever their case. */
export function sameExtension(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a === b || Object.values(extensions).some((names) => names.includes(a) && names.includes(b));
}

/** Whether a picture of a known type may have this extension, whatever its case. */
export function isImageExtension(extension: string): boolean {
  return Object.values(extensions).some((names) => names.includes(extension.toLowerCase()));
}

/** The extensions that pictures of the known types get. */
export function knownExtensions(): string[] {
  return Object.values(extensions).map(([extension]) => extension);
}

function knownExtension(type: string): string {
  return extensions[type]?.[0] ?? 'bin';
}

function disagreement(declaredType: string | undefined, named: string | undefined, real: string): string | undefined {
  if (declaredType === undefined || named === real || (named !== undefined && vague.has(named))) return undefined;
  if (named !== undefined && sameExtension(knownExtension(named), knownExtension(real)) && named in extensions)
    return undefined;
  return `the image is declared ${shown(declaredType)}, but its bytes are ${real}`;
}

/** mime-types knows the rest; it costs 11 to 25 ms to load, so only now. */
async function registeredExtension(type: string): Promise<string | undefined> {
  if (type.includes('svg') || type.includes('xml')) return undefined;
  const { default: mimeTypes } = await import('mime-types');
  const extension = mimeTypes.extension(type);
  return extension !== false && /^[a-z0-9]{1,5}$/.test(extension) ? extension : undefined;
}

/** A foreign type in a message: short, and nothing but printable ASCII. */
function shown(type: string): string {
  const start = type.slice(0, 60).replace(/[^ -~]/g, '?');
  return JSON.stringify(type.length > 60 ? `${start}…` : start);
}
