// The least that pictures can cost in Node: node:http, the Base64 found by its quotes as it comes, decoded, hashed, written.
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { request } from 'node:http';

const [prompt, folder] = process.argv.slice(2);
const key = '"data":"';
const quote = key.charCodeAt(0);
let pictures = 0;
/** @type {{ file: number, hash: import('node:crypto').Hash } | undefined} */
let picture;
let rest = Buffer.alloc(0);

const call = request(`${process.env.BENCH_URL}/v1beta/models/bench-model:generateContent`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-vendor-a-api-key': 'bench-key' },
});
call.on('response', (reply) => {
  reply.on('data', (chunk) => {
    rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    while (picture ? decode() : find()) {}
  });
});
call.end(JSON.stringify({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }));

/** Goes on behind the next key. False where the chunk holds no whole one. */
function find() {
  const at = rest.indexOf(key);
  if (at < 0) {
    rest = rest.subarray(Math.max(0, rest.length - key.length));
    return false;
  }
  rest = rest.subarray(at + key.length);
  picture = { file: openSync(`${folder}/image-${++pictures}.png`, 'w'), hash: createHash('sha256') };
  return true;
}

/** Decodes whole fours up to the quote. False where the chunk ends before it. */
function decode() {
  const end = rest.indexOf(quote);
  const upTo = end < 0 ? rest.length - (rest.length % 4) : end;
  const bytes = Buffer.from(rest.toString('latin1', 0, upTo), 'base64');
  picture?.hash.update(bytes);
  if (picture) writeSync(picture.file, bytes);
  rest = rest.subarray(upTo);
  if (end < 0) return false;
  process.stdout.write(`${picture?.hash.digest('hex')}\n`);
  if (picture) closeSync(picture.file);
  picture = undefined;
  return true;
}
