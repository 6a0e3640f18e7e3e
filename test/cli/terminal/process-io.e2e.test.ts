import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundle } from '../../helpers/bundle.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { isFull } from '../../helpers/full.ts';

const posix = process.platform !== 'win32';
const hasScript = posix && (isFull || spawnSync('script', ['--version']).status === 0);

let folder: string;
let entry: string;

beforeAll(async () => {
  folder = scratchFolder();
  entry = await bundle('test/cli/terminal/process-io-child.ts');
});

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));

const env = { PATH: process.env['PATH'], TERM: 'xterm' };

function start(args: string[], stdio: StdioOptions = 'pipe'): ChildProcess {
  return spawn(process.execPath, [entry, ...args], { stdio, env });
}

async function textOf(stream: ChildProcess['stdout']): Promise<string> {
  let text = '';
  for await (const chunk of stream ?? []) text += String(chunk);
  return text;
}

/** Runs a line of bash in which `$RUN` is the program. */
function bash(line: string): { stdout: string; stderr: string; status: number | null } {
  const RUN = `${process.execPath} ${entry}`;
  return spawnSync('bash', ['--norc', '-c', line], {
    env: { ...env, RUN, OUT: join(folder, 'out') },
    encoding: 'utf8',
    timeout: 60_000,
  });
}

describe.skipIf(!posix)('stdin is known by fstat', () => {
  const kinds: [name: string, line: string, kind: string][] = [
    ['a file', '$RUN kind < /etc/passwd', 'file'],
    ['a pipe', 'true | $RUN kind', 'pipe'],
    ['/dev/null', '$RUN kind < /dev/null', 'null'],
    ['/dev/zero', '$RUN kind < /dev/zero', 'null'],
    ['nothing, for which Node opens /dev/null', '$RUN kind <&-', 'null'],
    ['a folder', '$RUN kind < /', 'file'],
  ];

  test.each(kinds)('%s', (_name, line, kind) => {
    expect(JSON.parse(bash(line).stderr)).toEqual({ stdin: kind, stdout: false, stderr: false });
  });

  test('the pipe of a Node parent, which is a socket', async () => {
    const child = start(['kind']);
    expect(JSON.parse(await textOf(child.stderr))).toMatchObject({ stdin: 'socket' });
  });

  test.skipIf(!hasScript)('a terminal as stdin is known by fstat', () => {
    const { stdout } = bash('script -qec "$RUN kindOut" /dev/null < /dev/null');
    expect(JSON.parse(stdout)).toEqual({ stdin: 'terminal', stdout: true, stderr: true });
  });
});

describe.skipIf(!posix)('stdin is read', () => {
  test('exactly, from pipe and file', () => {
    writeFileSync(join(folder, 'in'), 'a\r\n😀');
    expect(bash(`$RUN echo < ${join(folder, 'in')}`).stdout).toBe('a\r\n😀');
    expect(bash(`cat ${join(folder, 'in')} | $RUN echo`).stdout).toBe('a\r\n😀');
    expect(bash('$RUN echo < /dev/null').stdout).toBe('');
  });

  test.each([
    ['a folder', '$RUN read < /', 'usage: stdin cannot be read: it is a folder'],
    ['without end', '$RUN read < /dev/zero', 'usage: stdin holds more than 64 MiB'],
  ])('stdin is refused: %s', (_name, line, message) => {
    expect(JSON.parse(bash(line).stderr)).toBe(message);
  });

  test.each([['pipe'], ['fifo']])('and let go: a silent %s does not keep the process alive', async (kind) => {
    const args = ['late'];
    const child =
      kind === 'pipe'
        ? start(args)
        : spawn('bash', ['--norc', '-c', `${process.execPath} ${entry} late < <(exec 2>&-; read)`], {
            stdio: 'pipe',
            env,
          });
    expect(await textOf(child.stderr)).toBe('"usage: nothing came on stdin for 0.05 s"\n');
    child.stdin?.end();
  });

  test('and let go: a reader that stops early does not keep the process alive', async () => {
    const child = start(['first']);
    child.stdin?.write('one');
    expect(await textOf(child.stderr)).toBe('"one"\n');
    child.stdin?.destroy();
  });
});

describe.skipIf(!posix)('stdout', () => {
  test('delivers everything to a slow pipe before the process ends', () => {
    const { stdout } = bash('$RUN write 5000000 | { read -r -N 1 first; wc -c; }');
    expect(Number(stdout)).toBe(4_999_999);
  });

  test('holds the writer back without a reader', async () => {
    const child = start(['endless']);
    child.stdout?.once('readable', () => child.stdout?.destroy());
    expect(JSON.parse(await textOf(child.stderr))).toBe('closed: stdout was closed by its reader');
  });

  test('says closed when its reader goes', () => {
    const { stdout, stderr } = bash('$RUN endless | head -c 3');
    expect(stdout).toBe('xxx');
    expect(JSON.parse(stderr)).toBe('closed: stdout was closed by its reader');
  });

  test.skipIf(!existsSync('/dev/full'))('says not-written on a full disk, each time', () => {
    const message = 'not-written: stdout cannot be written: the disk is full';
    expect(JSON.parse(bash('$RUN twice 10 > /dev/full').stderr)).toEqual([message, message]);
  });

  test('a disk that takes a part only is not-written, which Node itself calls a success', () => {
    const { stderr } = bash('ulimit -f 1; $RUN write 100000 > $OUT');
    expect(JSON.parse(stderr)).toBe('not-written: stdout cannot be written: the file would be larger than allowed');
    expect(statSync(join(folder, 'out')).size).toBeLessThan(100_000);
  });

  test('writes files whole, and appends to them', () => {
    bash('printf ab > $OUT; $RUN twice 100000 >> $OUT');
    expect(readFileSync(join(folder, 'out'), 'utf8')).toBe(`ab${'x'.repeat(100_000)}y`);
  });
});

describe.skipIf(!posix)('stderr', () => {
  test.each([
    ['was closed by its reader', '$RUN stderr 2> >(true)'],
    ['is full', '$RUN stderr 2> /dev/full'],
  ])('is given up quietly when it %s', (_name, line) => {
    const { stdout, status } = bash(line);
    expect([stdout, status]).toEqual(['done', 0]);
  });

  test('is given up quietly when its reader is a parent that left', async () => {
    const child = start(['stderr']);
    child.stderr?.destroy();
    expect(await textOf(child.stdout)).toBe('done');
  });
});

describe.skipIf(!hasScript)('the spinner', () => {
  const spin = (size: string) => bash(`script -qec "stty ${size}; timeout 20 $RUN spin" /dev/null < /dev/null`).stdout;

  test('wipes itself and never hides the cursor, so no death can leave it hidden', () => {
    const shown = spin('cols 80 rows 24');
    expect(shown).toContain('waiting');
    expect(shown).not.toContain('\u001b[?25l');
    expect(shown.slice(shown.lastIndexOf('waiting'))).toContain('\u001b[0K');
    expect(shown.endsWith('done\r\n')).toBe(true);
  });

  test('stays away from a terminal without a size', () => {
    expect(spin('cols 0 rows 0')).toBe('done\r\n');
  });
});
