import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A proxy that connects every name to one server, and the names that were requested. */
export async function proxyTo({ port }: { port: number }): Promise<{ env: Record<string, string>; asked: string[] }> {
  const asked: string[] = [];
  const proxy = createServer((client) => {
    client.on('error', () => {});
    client.once('data', (head) => {
      asked.push(/^CONNECT (\S+)/.exec(head.toString())?.[1] ?? '');
      const onward = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        client.pipe(onward).pipe(client);
      });
      onward.on('error', () => {});
    });
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return { env: { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }, asked };
}
