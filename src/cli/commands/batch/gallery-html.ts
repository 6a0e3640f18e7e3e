import { hash } from 'node:crypto';
import type { ReportRow } from '../../../batch/index.ts';

/** The card of an answer, or of a job without one, on the page. */
export interface Card extends Pick<ReportRow, 'id' | 'version' | 'state' | 'prompt' | 'text' | 'error'> {
  /** Links to the pictures, relative to the page. */
  images: readonly string[];
  /** The command that has the answer count, if another one does. */
  command?: string | undefined;
}

/** The beginning of pages that this program wrote, and may write again. */
export const galleryStart = '<!doctype html><!-- gateway-cli batch gallery -->';

const style = `
:root{color-scheme:light dark}
body{font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1800px;padding:1rem}
h1{font-size:1.2rem}
main{display:grid;gap:12px;align-items:start;grid-template-columns:repeat(auto-fill,minmax(260px,1fr))}
article{border:1px solid #8884;border-radius:10px;padding:.6rem;overflow-wrap:anywhere}
article.failed,article.unknown{border-color:#c33}
img{display:block;width:100%;height:auto;min-height:2rem}
p{margin:.35rem 0}
.text{white-space:pre-wrap;max-height:16rem;overflow:auto}
.error{color:#c33}`;

/** The policy of the page: nothing runs, and nothing is loaded but images of its folder, whatever a text says. */
const policy = [
  "default-src 'none'",
  // Browsers differ in whether the page of a file is of the same origin as the files beside it.
  "img-src 'self' file:",
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  "form-action 'none'",
  "base-uri 'none'",
].join('; ');

/** The page up to its first card. */
export function galleryHead({ title, summary }: { title: string; summary: string }): string {
  return `${galleryStart}
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body>
<h1><bdi>${escapeHtml(title)}</bdi></h1><p>${escapeHtml(summary)}</p>
<main>
`;
}

/** The end of the page. */
export const galleryFoot = '</main></body></html>\n';

export function galleryCard({ id, state, version, prompt, text, error, images, command }: Card): string {
  const mark = version === undefined ? state : `${version}, ${state}`;
  return `<article class="${state}">${[
    ...images.map(picture),
    `<strong><bdi>${escapeHtml(id)}</bdi></strong> ${mark}`,
    prompt && paragraph('prompt', prompt),
    text && paragraph('text', text),
    error && paragraph('error', `${error.class}: ${error.message}`),
    command && `<code>${escapeHtml(command)}</code>`,
  ]
    .filter(Boolean)
    .join('')}</article>\n`;
}

function picture(link: string): string {
  const address = escapeHtml(link);
  return `<a href="${address}"><img src="${address}" alt="${address}" loading="lazy"></a>`;
}

/** Longer texts are cut: results.jsonl has them whole. */
const maxText = 2000;

function paragraph(name: 'prompt' | 'text' | 'error', text: string): string {
  const shown = text.length > maxText ? `${text.slice(0, maxText)}…` : text;
  return `<p class="${name}"><bdi>${escapeHtml(shown)}</bdi></p>`;
}

/** A path below a folder, or between two, as a link that stays relative: no scheme, no host. */
export function toRelativeLink(path: string): string {
  const segments = path.split(/[\\/]/).filter((segment) => segment !== '' && segment !== '.');
  return `./${segments.map((segment) => encodeURIComponent(Buffer.from(segment).toString())).join('/')}`;
}

/** Text in HTML, between tags or in a quoted attribute. Characters that a browser cannot show are made visible. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`).replace(/(?![\t\n\r])\p{Cc}/gu, '&#65533;');
}
