// Starts a gateway, loads it over 64 connections in all formats, and prints what these requests cost it, in ms of its processor.
// Its start and the first requests do not count. Usage: loaded.js <requests> whole|streamed <program> [arguments…]
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [, , count = '', kind = '', program = '', ...words] = process.argv;
const connections = 64;
const warmUp = 12_000;

const prompt = 'three names for a lighthouse cat';
const messages = [{ role: 'user', content: prompt }];
const contents = [{ role: 'user', parts: [{ text: prompt }] }];
const model = 'local-text';
/** @type {Record<string, ReturnType<typeof post>[]>} */
const kinds = {
  whole: [
    post(`/v1beta/models/${model}:generateContent`, { contents }),
    post('/v1/messages', { model, max_tokens: 100, messages }),
    post('/v1/chat/completions', { model, messages }),
    post('/v1/responses', { model, input: prompt }),
  ],
  streamed: [
    post(`/v1beta/models/${model}:streamGenerateContent?alt=sse`, { contents }),
    post('/v1/messages', { model, max_tokens: 100, messages, stream: true }),
    post('/v1/chat/completions', { model, messages, stream: true }),
    post('/v1/responses', { model, input: prompt, stream: true }),
  ],
};

/** @param {string} path @param {object} body */
function post(path, body) {
  const json = JSON.stringify(body);
  return (/** @type {number} */ port, /** @type {string} */ key) => {
    const keys = `authorization: Bearer ${key}\r\nx-api-key: ${key}\r\nx-goog-api-key: ${key}`;
    const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${keys}\r\nanthropic-version: 2023-06-01`;
    return `${head}\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`;
  };
}

/** Sends so many requests, the kinds in turn, the next one of a connection after its reply. @param {number} port @param {string[]} requests @param {number} wanted */
async function send(port, requests, wanted) {
  let sent = 0;
  /** @param {import('node:net').Socket} socket */
  const work = (socket) =>
    new Promise((resolve, reject) => {
      let reply = '';
      const next = () => {
        const request = requests[sent % requests.length] ?? '';
        if (sent++ < wanted) socket.write(request);
        else resolve(socket.destroy());
      };
      socket.setEncoding('latin1').on('error', reject).on('connect', next);
      socket.on('data', (text) => {
        reply += text;
        if (!isWhole(reply)) return;
        if (!reply.startsWith('HTTP/1.1 200 ')) return reject(new Error(reply.slice(0, 1000)));
        reply = '';
        next();
      });
    });
  await Promise.all(Array.from({ length: connections }, () => work(connect(port, '127.0.0.1'))));
}

/** @param {string} reply */
function isWhole(reply) {
  const end = reply.indexOf('\r\n\r\n') + 4;
  if (end < 4) return false;
  const [, length] = /^content-length: (\d+)/im.exec(reply.slice(0, end)) ?? [];
  return length === undefined ? reply.endsWith('\r\n0\r\n\r\n') : reply.length >= end + Number(length);
}

const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
let said = '';
/** @type {[port: number, key: string]} */
const [port, key] = await new Promise((resolve, reject) => {
  child.on('exit', () => reject(new Error(`it ended: ${said}`)));
  for (const output of [child.stdout, child.stderr])
    output.on('data', (chunk) => {
      said = (said + String(chunk)).slice(0, 10_000);
      const [, at] = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said) ?? [];
      if (at !== undefined) resolve([Number(at), /GATEWAY_API_KEY=(\S+)/.exec(said)?.[1] ?? 'bench-key']);
    });
});

/** User and system time of the child, ms. */
function readProcessor() {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  // In ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const requests = (kinds[kind] ?? []).map((build) => build(port, key));
await send(port, requests, warmUp);
const before = readProcessor();
await send(port, requests, Number(count));
const spent = readProcessor() - before;
child.removeAllListeners('exit').kill();
process.stdout.write(String(spent));
