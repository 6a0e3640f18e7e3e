// Asks a gateway that answers from recordings a hundred times, and prints what a request costs this process, in ms of its processor.
// The first requests, which load the program, do not count.
import { createRequire } from 'node:module';

const [, , testing = '', replay, kind] = process.argv;
const { startGateway } = createRequire(import.meta.url)(testing);
const gateway = await startGateway({ replay });

/** @param {number} number */
async function ask(number) {
  const reply = await fetch(`${gateway.url}/v1beta/models/bench-model:generateContent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-goog-api-key': gateway.key },
    body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: `number ${number}` }] }] }),
  });
  await reply.text();
  if (reply.ok !== (number >= 0 && kind === 'found')) throw new Error(`status ${reply.status}`);
}

for (let at = 1; at <= 50; at++) await ask(-at);
const before = process.cpuUsage();
for (let at = 0; at < 100; at++) await ask(kind === 'found' ? at : -51 - at);
const { user, system } = process.cpuUsage(before);
await gateway.stop();
process.stdout.write(String((user + system) / 1000 / 100));
