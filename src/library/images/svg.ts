import { readFile } from 'node:fs/promises';
import type { StoredBlob } from './types.ts';

/** Larger files are not searched, and count as having a script. */
const longestSvg = 16 * 1024 * 1024;

/** A browser runs scripts in an SVG that it opens: elements, handlers, and links that are more than a place or a picture. */
const scripts = [
  /<[\w:-]*(?:script|foreignobject|iframe|embed|object|handler|listener|set|animate)[\s/>]/i,
  /[\s"'/]on\w+\s*=/i,
  /href\s*=\s*(?!["']?\s*(?:#|https?:|data:image\/(?:png|jpe?g|gif|webp)[;,]))/i,
  /(?:javascript|vbscript)\s*:/i,
  /<!entity|<!doctype[^>]*\[|<\?xml-stylesheet/i,
  /<\?xml[^>]*encoding\s*=\s*["'](?!utf-8["']|us-ascii["'])/i,
];

/** Whether an SVG has no script that a browser would run, as far as it can be seen. */
export async function isHarmlessSvg({ content, bytes }: Pick<StoredBlob, 'content' | 'bytes'>): Promise<boolean> {
  if (bytes > longestSvg) return false;
  const data = 'data' in content ? content.data : await readFile(content.file);
  const text = Buffer.from(data).toString('utf8');
  return !scripts.some((pattern) => pattern.test(text));
}
