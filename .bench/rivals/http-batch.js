// The least that many small requests can cost in Node: node:http, 32 at once, one line of output a job, no journal.
import { appendFileSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

const [jobs = '', output = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 32 });
const url = `${process.env['BENCH_URL']}/v1beta/models/bench-model:generateContent`;
const headers = { 'content-type': 'application/json', 'x-vendor-a-api-key': 'bench-key' };
const waiting = readFileSync(jobs, 'utf8').trim().split('\n').values();

/** @param {string} prompt @returns {Promise<string>} */
function ask(prompt) {
  return new Promise((resolve, reject) => {
    const call = request(url, { method: 'POST', headers, agent });
    call.on('error', reject).on('response', (reply) => {
      let body = '';
      reply.setEncoding('utf8').on('data', (text) => (body += text));
      reply.on('end', () => resolve(JSON.parse(body).candidates[0].content.parts[0].text));
    });
    call.end(JSON.stringify({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }));
  });
}

async function work() {
  for (const line of waiting) {
    const { id, prompt } = JSON.parse(line);
    appendFileSync(output, `${JSON.stringify({ id, text: await ask(prompt) })}\n`);
  }
}

await Promise.all(Array.from({ length: 32 }, work));
agent.destroy();
