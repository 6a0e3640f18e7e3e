// The least that a text over HTTP can cost in Node: node:http, no check of anything.
import { request } from 'node:http';

const call = request(`${process.env.BENCH_URL}/v1beta/models/bench-model:generateContent`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-vendor-a-api-key': 'bench-key' },
});
call.on('response', (reply) => {
  let body = '';
  reply.setEncoding('utf8').on('data', (text) => (body += text));
  reply.on('end', () => process.stdout.write(`${JSON.parse(body).candidates[0].content.parts[0].text}\n`));
});
call.end(JSON.stringify({ contents: [{ role: 'user', parts: [{ text: process.argv[2] }] }] }));
