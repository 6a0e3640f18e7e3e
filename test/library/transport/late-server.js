// A server in a thread of its own, which goes on while the tests' thread is busy. It echoes a body; when it is told to, it sends
// that once more or hangs up: 20 ms later, so that the connection counts as rested. `shared`: how far it is, and its port.
import { createServer } from 'node:net';
import { workerData } from 'node:worker_threads';

const { shared, hangsUp } = workerData;
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    const request = chunk.toString();
    const body = request.slice(request.indexOf('\r\n\r\n') + 4);
    const reply = `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    socket.write(reply);
    const finish = () => (hangsUp ? socket.end(() => tell(3)) : socket.write(reply, () => tell(3)));
    const { value: told } = Atomics.waitAsync(shared, 0, 1);
    void Promise.resolve(told).then(() => setTimeout(finish, 20));
  });
});

server.listen(0, '127.0.0.1', () => {
  shared[1] = server.address().port;
  tell(1);
});

function tell(state) {
  Atomics.store(shared, 0, state);
  Atomics.notify(shared, 0);
}
