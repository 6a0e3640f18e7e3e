// The least that a streamed answer can cost in Node: node:http, lines split by hand, one write for each chunk that came.
import { request } from 'node:http';

const call = request(`${process.env.BENCH_URL}/v1/messages`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-api-key': 'bench-key', 'vendor-b-version': '2023-06-01' },
});
call.on('response', (reply) => {
  let rest = '';
  reply.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    let out = '';
    for (const line of lines) {
      if (!line.startsWith('data: {"type":"content_block_delta"')) continue;
      out += JSON.parse(line.slice(6)).delta.text;
    }
    if (out !== '') process.stdout.write(out);
  });
});
const messages = [{ role: 'user', content: process.argv[2] }];
call.end(JSON.stringify({ model: 'bench-model', max_tokens: 4096, stream: true, messages }));
