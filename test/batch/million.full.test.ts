import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, start } from '../faults/program.ts';
import { textReply } from '../helpers/with-server.ts';
import { isFull } from '../helpers/full.ts';

/** How many jobs are sent before the run is ended: many more than are built ahead. */
const sentJobs = 6000;

/** What the kernel knows of a process: bytes that it has read, and its greatest memory so far. */
interface Look {
  read: number;
  peakKib: number;
}

function lookAt(pid: number): Look {
  const of = (name: string, pattern: RegExp) => Number(pattern.exec(readFileSync(`/proc/${pid}/${name}`, 'utf8'))?.[1]);
  return { read: of('io', /rchar: (\d+)/), peakKib: of('status', /VmHWM:\s+(\d+)/) };
}

/** Writes a number of jobs, a block at a time. Returns the size of the file. */
function writeJobs(path: string, count: number): number {
  const file = openSync(path, 'w');
  for (let at = 0; at < count; at += 1000)
    writeSync(
      file,
      Array.from({ length: 1000 }, (_, i) => `{"id":"job-${at + i}","prompt":"number ${at + i}"}\n`).join(''),
    );
  closeSync(file);
  return statSync(path).size;
}

/** Runs a batch until it has sent some thousand jobs, looked at with its first request and with its last one. */
async function runSome(count: number): Promise<{ size: number; first: Look; last: Look }> {
  const cwd = folder();
  const size = writeJobs(join(cwd, 'jobs.jsonl'), count);
  const looks: Look[] = [];
  let requests = 0;
  const reply = JSON.stringify(textReply('done'));
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if ([1, sentJobs].includes(++requests)) looks.push(lookAt(started.child.pid as number));
      if (requests === sentJobs) started.child.kill('SIGKILL');
      response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const started = start(['batch', 'jobs.jsonl', '-o', 'out', '--concurrency', '16'], { url }, { cwd });
  expect((await started.ended).signal).toBe('SIGKILL');
  server.close();
  return { size, first: looks[0] as Look, last: looks[1] as Look };
}

test.skipIf(!isFull)(
  'a million jobs: all are checked, and then written down, before the first is sent, in some hundred bytes a job',
  { timeout: 900_000 },
  async () => {
    const few = await runSome(250_000);
    const many = await runSome(1_000_000);
    for (const { size, first } of [few, many]) {
      expect(first.read).toBeGreaterThan(2 * size);
      // Read twice; a quarter more for the program itself and for what is read ahead.
      expect(first.read - 2 * size).toBeLessThan(0.25 * many.size);
    }
    // What the index keeps of a job: its id in a Map, and its columns.
    expect(((many.first.peakKib - few.first.peakKib) * 1024) / 750_000).toBeLessThan(500);
    expect(many.last.peakKib / many.first.peakKib).toBeLessThan(1.3);
  },
);
