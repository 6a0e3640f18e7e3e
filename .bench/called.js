// Calls the tool `ask` of `gateway-cli mcp` so many times, four at once, and prints what a call cost the server and its commands, in
// ms of their processor, and the server's greatest resident memory in MiB. Its start does not count.
// Usage: called.js <calls> <program> [arguments…]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { smallText } from './server/bodies.js';

const [, , count = '', program = '', ...words] = process.argv;
const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
const replies = createInterface(child.stdout)[Symbol.asyncIterator]();

/** @param {object} message */
const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const receive = async () => JSON.parse((await replies.next()).value ?? 'null');

/** User and system time of the server and of the commands that it has ended, ms. */
function readProcessor() {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  // In ticks of 10 ms.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
}

const clientInfo = { name: 'bench', version: '1' };
send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
await receive();
send({ method: 'notifications/initialized' });
const before = readProcessor();
const call = (/** @type {number} */ id) =>
  send({ id, method: 'tools/call', params: { name: 'ask', arguments: { prompt: `number ${id}` } } });
const calls = Number(count);
for (let id = 1; id <= 4; id++) call(id);
for (let done = 1; done <= calls; done++) {
  const { result } = await receive();
  if (result?.structuredContent?.text !== smallText) throw new Error(`unexpected reply: ${JSON.stringify(result)}`);
  if (done + 4 <= calls) call(done + 4);
}
const cpuMs = (readProcessor() - before) / calls;
const [, peak] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
child.stdin.end();
await once(child, 'exit');
process.stdout.write(JSON.stringify({ cpuMs, peakMiB: Number(peak) / 1024 }));
