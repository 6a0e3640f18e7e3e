// Asks a gateway, or a proxy, whose name has two addresses: the first never answers, the second does. Prints in which order
// a timer of one second and the connection to the second address came. Arguments: the built library, `direct` or `proxy`.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Worker } from 'node:worker_threads';

const [library, way] = process.argv.slice(2);
const { createClient } = await import(library);

// A listener whose thread stands still takes no connection; when its queue is full, the next one is never answered.
const silent = new Worker(
  `const { workerData, parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ host: '127.0.0.2', port: 0, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(workerData, 0, 0);
  });`,
  { eval: true, workerData: new Int32Array(new SharedArrayBuffer(4)) },
);
const [port] = await once(silent, 'message');
const waiting = [];
for (let n = 0; n < 2; n++) {
  waiting.push(connect({ host: '127.0.0.2', port }));
  await once(waiting[n], 'connect');
}

const order = [];
const server = createServer((socket) => {
  order.push('second address');
  socket.destroy();
}).listen({ host: '127.0.0.3', port });
await once(server, 'listening');
const client = createClient(
  way === 'proxy'
    ? { baseUrl: 'http://gateway.test', env: { HTTP_PROXY: `http://two.test:${port}` }, retries: 0 }
    : { baseUrl: `http://two.test:${port}`, retries: 0 },
);
// Begun before the request: a slow machine cannot put it behind an attempt of two seconds.
setTimeout(() => order.push('one second'), 1000);
await client.generate({ model: 'm', prompt: 'hi' }).catch(() => {});
process.stdout.write(order.join(', '));
process.exit();
