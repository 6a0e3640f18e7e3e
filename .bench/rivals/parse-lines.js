// Reads files and parses each of their lines once: what it costs to know what they say.
import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

const block = Buffer.allocUnsafe(256 * 1024);
let lines = 0;
for (const path of process.argv.slice(2)) {
  const file = openSync(path, 'r');
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for (let read = readSync(file, block); read > 0; read = readSync(file, block)) {
    const whole = (rest + decoder.write(block.subarray(0, read))).split('\n');
    rest = whole.pop() ?? '';
    for (const line of whole) JSON.parse(line);
    lines += whole.length;
  }
  closeSync(file);
}
console.log(lines);
