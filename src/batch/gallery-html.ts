import { createHash } from 'node:crypto';
import type { Usage } from '../formats/content/types.ts';
import { countOf } from './summary.ts';
import type { Counts, JobState } from './types.ts';
import { totalTokens } from './usage.ts';

/** One job as the gallery shows it. */
export interface Card {
  id: string;
  state: Exclude<JobState, 'new' | 'sent'>;
  command?: string | undefined;
  prompt?: string | undefined;
  model?: string | undefined;
  text?: string | undefined;
  usage?: Usage | undefined;
  error?: { class: string; message: string } | undefined;
  pictures: readonly CardPicture[];
}

export interface CardPicture {
  /** Below the gallery's folder. */
  path: string;
  mimeType: string;
  width?: number | undefined;
  height?: number | undefined;
  bytes: number;
  /** A small picture as a data URL; absent where none could be made. */
  thumbnail?: string | undefined;
}

/** Longer texts are cut: the whole ones stand in results.jsonl. */
const mostText = 2000;

const style = `
:root{color-scheme:light dark;--line:#8884;--soft:#8882;--bad:#c33;--odd:#b70}
*{box-sizing:border-box}body{font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1500px;padding:1rem}
h1{font-size:1.2rem;margin:0 0 .2rem}header p{margin:0 0 .8rem;opacity:.8}
form{display:flex;gap:.5rem;flex-wrap:wrap;position:sticky;top:0;padding:.5rem 0;background:Canvas;z-index:1}
input,select{font:inherit;padding:.3rem .5rem;border:1px solid var(--line);border-radius:6px;background:Field;color:FieldText}
input{flex:1 1 16rem}main{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fill,minmax(240px,1fr))}
article{border:1px solid var(--line);border-radius:10px;overflow:hidden;display:flex;flex-direction:column}
article.failed{border-color:var(--bad)}article.unknown{border-color:var(--odd)}[hidden]{display:none!important}
figure{margin:0;background:var(--soft);border-bottom:1px solid var(--line)}figure img{display:block;width:100%;height:220px;object-fit:contain}
figure .none{display:grid;place-items:center;height:120px}figcaption{padding:.2rem .6rem;font-size:12px;opacity:.8}
.body{padding:.5rem .6rem;display:grid;gap:.35rem}.body>*{overflow-wrap:anywhere;margin:0}
.text{white-space:pre-wrap;max-height:11rem;overflow:auto;background:var(--soft);padding:.35rem .5rem;border-radius:6px}
.error{color:var(--bad)}.unknown .error{color:var(--odd)}.facts{font-size:12px;opacity:.75}`;

const script = `
const words=document.getElementById('words'),state=document.getElementById('state'),shown=document.getElementById('shown');
const cards=[...document.querySelectorAll('article')].map(card=>({card,text:card.textContent.toLowerCase()}));
function filter(){const want=words.value.toLowerCase().split(/\\s+/).filter(Boolean);let count=0;
for(const{card,text}of cards){const fits=(!state.value||card.className===state.value)&&want.every(word=>text.includes(word));
card.hidden=!fits;if(fits)count++}shown.textContent=count+' of '+cards.length}
words.addEventListener('input',filter);state.addEventListener('change',filter);
document.forms[0].addEventListener('submit',event=>event.preventDefault());filter();`;

/** Nothing is loaded, nothing runs but the script above: whatever a text says, it stays text. */
const policy = [
  "default-src 'none'",
  'img-src data:',
  `style-src 'sha256-${sha256(style)}'`,
  `script-src 'sha256-${sha256(script)}'`,
  "form-action 'none'",
  "base-uri 'none'",
].join('; ');

/** The page up to its first card. */
export function galleryHead({ title, counts, usage }: { title: string; counts: Counts; usage: Usage }): string {
  const { jobs, done, failed, unknown, pending } = counts;
  const facts = [countOf(jobs, 'job'), `${done} done`, `${failed} failed`, `${unknown} unknown`, `${pending} not sent`];
  const tokens = totalTokens(usage);
  if (tokens > 0) facts.push(`${tokens} tokens`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body>
<header><h1><bdi>${escapeHtml(title)}</bdi></h1><p>${facts.join(' · ')}</p></header>
<form><input id="words" type="search" placeholder="filter: prompt, model, id, error" aria-label="filter">
<select id="state" aria-label="state"><option value="">all</option><option>done</option><option>failed</option><option>unknown</option></select>
<output id="shown"></output></form>
<main>
`;
}

/** One job. */
export function galleryCard(card: Card): string {
  const { id, state, command, prompt, model, text, usage, error, pictures } = card;
  const tokens = totalTokens(usage ?? {});
  const facts = [command, model, tokens > 0 ? `${tokens} tokens` : undefined, state].filter(
    (fact) => fact !== undefined,
  );
  const body = [
    `<strong><bdi>${escapeHtml(id)}</bdi></strong>`,
    prompt && `<p><bdi>${escapeHtml(cut(prompt))}</bdi></p>`,
    text && `<div class="text"><bdi>${escapeHtml(cut(text))}</bdi></div>`,
    error && `<p class="error"><bdi>${escapeHtml(cut(`${error.class}: ${error.message}`))}</bdi></p>`,
    `<p class="facts"><bdi>${escapeHtml(facts.join(' · '))}</bdi></p>`,
  ];
  return `<article class="${state}">${pictures.map(figure).join('')}<div class="body">${body.filter(Boolean).join('')}</div></article>\n`;
}

/** The end of the page. */
export function galleryFoot(): string {
  return `</main><script>${script}</script></body></html>\n`;
}

function figure({ path, mimeType, width, height, bytes, thumbnail }: CardPicture): string {
  const size = width && height ? `${width}×${height}` : 'size unknown';
  const caption = `${size} · ${mimeType} · ${Math.ceil(bytes / 1000)} kB`;
  const shown = thumbnail
    ? `<img src="${escapeHtml(thumbnail)}" alt="" loading="lazy">`
    : `<span class="none">open the picture</span>`;
  return `<figure><a href="${escapeHtml(linkTo(path))}">${shown}</a><figcaption>${escapeHtml(caption)}</figcaption></figure>`;
}

/** A relative link that stays one: no scheme, no host, nothing above the folder. */
function linkTo(path: string): string {
  const segments = path.split(/[\\/]/).filter((segment) => segment !== '' && segment !== '.' && segment !== '..');
  return `./${segments.map((segment) => encodeURIComponent(Buffer.from(segment).toString())).join('/')}`;
}

/** Text in HTML, between tags or in a quoted attribute. What a browser cannot show is made visible. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]|(?![\t\n\r])\p{Cc}/gu, (char) => `&#${hiddenOr(char)};`);
}

function hiddenOr(char: string): number {
  const code = char.codePointAt(0) ?? 0;
  return /\p{Cc}/u.test(char) ? 0xfffd : code;
}

function cut(text: string): string {
  return text.length > mostText ? `${text.slice(0, mostText)}…` : text;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
