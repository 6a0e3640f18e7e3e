// The least that a big picture on its way up can cost in Node: node:http, Base64 block by block, one block ahead of the socket.
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';

const [prompt, path = '', folder] = process.argv.slice(2);
/** A multiple of three: no block but the last one is padded. */
const block = Buffer.allocUnsafe(192 * 1024);
const file = openSync(path, 'r');
const [head = '', tail = ''] = JSON.stringify({
  contents: [{ role: 'user', parts: [{ text: prompt }, { inlineData: { mimeType: 'image/png', data: '?' } }] }],
}).split('?');
const length = head.length + Math.ceil(fstatSync(file).size / 3) * 4 + tail.length;
const call = request(`${process.env.BENCH_URL}/v1beta/models/bench-model:generateContent`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'content-length': length, 'x-vendor-a-api-key': 'bench-key' },
});
call.on('response', (reply) => {
  let body = '';
  reply.setEncoding('utf8').on('data', (text) => (body += text));
  reply.on('end', () => {
    const { data } = JSON.parse(body).candidates[0].content.parts[0].inlineData;
    writeFileSync(`${folder}/image-1.png`, Buffer.from(data, 'base64'));
  });
});
call.write(head);
for (let read; (read = readSync(file, block)) > 0;) {
  if (!call.write(block.toString('base64', 0, read), 'latin1')) await once(call, 'drain');
}
closeSync(file);
call.end(tail);
