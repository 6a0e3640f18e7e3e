import { hash } from 'node:crypto';
import { formatCount, type Counts, type ReportRow, type RowState, totalTokens } from '../../batch/index.ts';
import type { Usage } from '../../formats/events.ts';

/** One job as the gallery shows it. */
export interface Card extends Pick<ReportRow, 'id' | 'version' | 'command' | 'prompt' | 'text' | 'usage' | 'error'> {
  state: Exclude<RowState, 'pending'>;
  model?: string | undefined;
  images: readonly CardImage[];
  /** Of a row with several answers: the number of the one that counts, and the others. */
  counting?: number;
  takes?: readonly CardTake[];
}

/** An answer of a row that does not count, and the command that has it count. */
interface CardTake extends Pick<Card, 'text' | 'images'> {
  number: number;
  command: string | undefined;
}

export interface CardImage {
  /** The way from the gallery's folder to that of the image's batch, if it is another one. */
  way?: string | undefined;
  /** Below that folder. */
  path: string;
  mimeType: string;
  width?: number | undefined;
  height?: number | undefined;
  bytes: number;
  /** Why the page shows no image. */
  hidden?: string | undefined;
}

/** Longer texts are cut: results.jsonl has them whole. */
const maxText = 2000;

const style = `
:root{color-scheme:light dark;--line:#8884;--soft:#8882;--bad:#c33;--odd:#b70;--gap:12px}
*{box-sizing:border-box}body{font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1800px;padding:1rem}
h1{font-size:1.2rem;margin:0 0 .2rem}header p{margin:0 0 .8rem;opacity:.8}
form{display:flex;gap:.4rem 1rem;flex-wrap:wrap;align-items:center;position:sticky;top:0;padding:.5rem 0;background:Canvas;z-index:1}
input,button{font:inherit;padding:.3rem .7rem;border:1px solid var(--line);border-radius:99px;background:Field;color:FieldText}
input{flex:1 1 16rem}#chips,#chips span{display:flex;gap:.4rem;flex-wrap:wrap}#chips{gap:.4rem 1rem}
button{cursor:pointer;max-width:20rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
button[aria-pressed=true]{background:Highlight;color:HighlightText;border-color:Highlight}
main{position:relative;display:grid;gap:var(--gap);align-items:start;grid-template-columns:repeat(auto-fill,minmax(260px,1fr))}
main.compared{display:block}section{display:grid;gap:var(--gap);grid-auto-flow:column;grid-auto-columns:minmax(0,1fr);align-items:start;margin-bottom:var(--gap)}
section:not(:has(article:not([hidden]))){display:none}section article[hidden]{display:block;visibility:hidden}
main.laid{display:block}main.laid article{position:absolute;width:var(--width)}
article{border:1px solid var(--line);border-radius:10px;overflow:hidden;background:Canvas}
article.failed{border-color:var(--bad)}article.unknown{border-color:var(--odd)}article[hidden]{display:none}
figure{margin:0;background:var(--soft);border-bottom:1px solid var(--line)}figure img{display:block;width:100%;height:auto;min-height:2rem}
figure .none{display:grid;place-items:center;text-align:center;min-height:90px;padding:.6rem}figcaption{padding:.2rem .6rem;font-size:12px;opacity:.8}
.body{padding:.5rem .6rem;display:grid;gap:.35rem}.body>*{overflow-wrap:anywhere;margin:0}
.text{white-space:pre-wrap;max-height:16rem;overflow:auto;background:var(--soft);padding:.35rem .5rem;border-radius:6px}
summary{cursor:pointer}details .text{margin:.35rem 0}code{font-size:12px;user-select:all}
.error{color:var(--bad)}.unknown .error{color:var(--odd)}.facts{font-size:12px;opacity:.75}`;

/** Each card goes to the column that ends highest, the left one of several: the order stays, and nothing gapes. */
const script = `
const main=document.querySelector('main'),words=document.getElementById('words'),shown=document.getElementById('shown'),
chips=document.getElementById('chips'),chosen={state:new Set(),command:new Set(),model:new Set()};
const cards=[...main.querySelectorAll('article')].map(card=>({card,text:card.textContent.toLowerCase()}));
function lay(){if(main.className==='compared')return;const gap=12,width=main.clientWidth,count=Math.max(1,Math.floor((width+gap)/(260+gap))),one=(width-gap*(count-1))/count;
main.style.setProperty('--width',one+'px');main.className='laid';
const seen=cards.filter(({card})=>!card.hidden),heights=seen.map(({card})=>card.offsetHeight),ends=Array(count).fill(0);
seen.forEach(({card},i)=>{const column=ends.indexOf(Math.min(...ends));
card.style.left=column*(one+gap)+'px';card.style.top=ends[column]+'px';ends[column]+=heights[i]+gap});
main.style.height=Math.max(...ends)+'px'}
function filter(){const want=words.value.toLowerCase().split(/\\s+/).filter(Boolean);let count=0;
for(const{card,text}of cards){const fits=Object.keys(chosen).every(key=>!chosen[key].size||chosen[key].has(card.dataset[key]))&&
want.every(word=>text.includes(word));card.hidden=!fits;if(fits)count++}shown.textContent=count+' of '+cards.length;lay()}
for(const key of Object.keys(chosen)){const counts=new Map();
for(const{card}of cards){const value=card.dataset[key];if(value)counts.set(value,(counts.get(value)||0)+1)}
if(counts.size<2)continue;const group=document.createElement('span');group.setAttribute('role','group');group.setAttribute('aria-label',key);
for(const[value,count]of counts){const chip=document.createElement('button');chip.type='button';chip.textContent=value+' '+count;
chip.setAttribute('aria-pressed','false');chip.addEventListener('click',()=>{const on=!chosen[key].delete(value);
if(on)chosen[key].add(value);chip.setAttribute('aria-pressed',String(on));filter()});group.append(chip)}chips.append(group)}
words.addEventListener('input',filter);document.forms[0].addEventListener('submit',event=>event.preventDefault());filter();
const sizes=new ResizeObserver(()=>requestAnimationFrame(lay));sizes.observe(main.parentElement);cards.forEach(({card})=>sizes.observe(card));`;

/** Nothing is loaded but images of its folder, nothing runs but the script above: whatever a text says, it stays text. */
const policy = [
  "default-src 'none'",
  // Browsers differ in whether the page of a file is of the same origin as the files beside it.
  "img-src 'self' file:",
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
  "form-action 'none'",
  "base-uri 'none'",
].join('; ');

/** How every gallery begins. */
export const galleryMark = '<!doctype html><!-- gateway-cli batch gallery -->';

/** What the page of a folder shows, if runs in that folder write it anew: the rows of its table, or all answers. */
export type Renewed = 'table' | 'all';

/** What the beginning of a page says of that; undefined for one that stays as it is. */
export function readRenewed(start: string): Renewed | undefined {
  const [, renewed] = /^<html lang="en" data-renewed="(table|all)">/.exec(start.slice(galleryMark.length + 1)) ?? [];
  return start.startsWith(galleryMark) ? (renewed as Renewed | undefined) : undefined;
}

/** The page of a batch up to its first card. */
export function galleryHead(
  { title, counts, usage, renewed }: { title: string; counts: Counts; usage: Usage; renewed?: Renewed | undefined },
  isCompared = false,
): string {
  const { jobs, done, failed, unknown, pending } = counts;
  const facts = [
    formatCount(jobs, 'job'),
    `${done} done`,
    `${failed} failed`,
    `${unknown} unknown`,
    `${pending} not sent`,
  ];
  const tokens = totalTokens(usage);
  if (tokens > 0) facts.push(`${tokens} tokens`);
  return pageHead(title, facts, { isCompared, renewed });
}

/** The page up to its first card; `facts` stand below its title. */
export function pageHead(
  title: string,
  facts: readonly string[],
  { isCompared = false, renewed }: { isCompared?: boolean; renewed?: Renewed | undefined } = {},
): string {
  return `${galleryMark}
<html lang="en"${renewed ? ` data-renewed="${renewed}"` : ''}><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body>
<header><h1><bdi>${escapeHtml(title)}</bdi></h1><p>${facts.join(' · ')}</p></header>
<form><input id="words" type="search" placeholder="filter: prompt, model, id, error" aria-label="filter">
<div id="chips"></div><output id="shown"></output></form>
<main${isCompared ? ' class="compared"' : ''}>
`;
}

/** One job. */
export function galleryCard(card: Card): string {
  const { id, version, state, command, prompt, model, text, usage, error, images, counting, takes = [] } = card;
  const tokens = totalTokens(usage ?? {});
  const facts = [
    version === 'earlier' ? version : undefined,
    command,
    model,
    tokens > 0 ? `${tokens} tokens` : undefined,
    state,
  ].filter((fact) => fact !== undefined);
  const body = [
    `<strong><bdi>${escapeHtml(id)}</bdi></strong>`,
    prompt && `<p><bdi>${escapeHtml(shortenCaption(prompt))}</bdi></p>`,
    text && `<div class="text"><bdi>${escapeHtml(shortenCaption(text))}</bdi></div>`,
    error && `<p class="error"><bdi>${escapeHtml(shortenCaption(`${error.class}: ${error.message}`))}</bdi></p>`,
    `<p class="facts"><bdi>${escapeHtml(facts.join(' · '))}</bdi></p>`,
    takes.length > 0 &&
      `<details><summary>answer ${counting} counts</summary>${takes.map(galleryTake).join('')}</details>`,
  ];
  const data = { state, command, model };
  const attributes = Object.entries(data).map(([name, value]) => value && ` data-${name}="${escapeHtml(value)}"`);
  return `<article class="${state}"${attributes.filter(Boolean).join('')}>${images.map(figure).join('')}<div class="body">${body.filter(Boolean).join('')}</div></article>\n`;
}

function galleryTake({ number, text, images, command }: CardTake): string {
  const parts = [
    `<p class="facts">answer ${number}</p>`,
    ...images.map(figure),
    text && `<div class="text"><bdi>${escapeHtml(shortenCaption(text))}</bdi></div>`,
    command && `<code>${escapeHtml(command)}</code>`,
  ];
  return parts.filter(Boolean).join('');
}

/** The cards of one row of a table side by side; a job without a card leaves its place empty. */
export function galleryRow(cards: readonly (string | undefined)[]): string {
  return `<section>${cards.map((card) => card ?? '<div></div>').join('')}</section>\n`;
}

/** The end of the page. */
export const galleryFoot = `</main><script>${script}</script></body></html>\n`;

function figure({ way, path, mimeType, width, height, bytes, hidden }: CardImage): string {
  const size = width && height ? `${width}×${height}` : 'size unknown';
  const caption = `${size} · ${mimeType} · ${Math.ceil(bytes / 1000)} kB`;
  const link = escapeHtml(toRelativeLink(path, way));
  // With both sides known the card has its height before the image is there.
  const sides = width && height ? ` width="${width}" height="${height}"` : '';
  const shown =
    hidden === undefined
      ? `<img src="${link}"${sides} alt="" loading="lazy" decoding="async">`
      : `<span class="none">${escapeHtml(hidden)}</span>`;
  return `<figure><a href="${link}">${shown}</a><figcaption>${escapeHtml(caption)}</figcaption></figure>`;
}

/** A relative link that stays one: no scheme, no host, nothing above the folder to which the way leads. */
function toRelativeLink(path: string, way = ''): string {
  const inside = path.split(/[\\/]/).filter((segment) => segment !== '.' && segment !== '..');
  const segments = [...way.split(/[\\/]/), ...inside].filter((segment) => segment !== '');
  return `./${segments.map((segment) => encodeURIComponent(Buffer.from(segment).toString())).join('/')}`;
}

/** Text in HTML, between tags or in a quoted attribute. What a browser cannot show is made visible. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`).replace(/(?![\t\n\r])\p{Cc}/gu, '&#65533;');
}

function shortenCaption(text: string): string {
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text;
}
