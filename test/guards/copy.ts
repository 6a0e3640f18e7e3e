import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Guard } from './guard.ts';

const root = join(import.meta.dirname, '../..');
const left = new Set(['.git', 'node_modules', 'dist', 'coverage']);

/** A copy of the project in which guards are taken out, one at a time. */
export interface Copy {
  /** Runs a guard's test, with the guard (`whole`) or without it; how many of its tests passed and failed. */
  run(guard: Guard, whole: boolean): Promise<{ passed: number; failed: number; output: string }>;
  remove(): void;
}

/** Copies the project's own files; packages are linked. */
export function copyProject(): Copy {
  const parent = mkdtempSync(join(tmpdir(), 'gateway-cli-guards-'));
  const folder = join(parent, 'main');
  cpSync(root, folder, { recursive: true, filter: (path) => dirname(path) !== root || !left.has(basename(path)) });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const shared = join(root, '../shared');
  if (existsSync(shared)) symlinkSync(shared, join(parent, 'shared'));
  return {
    run: (guard, whole) => runIn(folder, guard, whole),
    remove: () => rmSync(parent, { recursive: true, force: true }),
  };
}

async function runIn(folder: string, guard: Guard, whole: boolean) {
  const path = join(folder, guard.file);
  const source = readFileSync(path, 'utf8');
  if (!whole)
    writeFileSync(
      path,
      source.replace(guard.find, () => guard.replace),
    );
  try {
    const built = await node(folder, ['.scripts/build.js']);
    if (built.code !== 0) throw new Error(`without its guard the program cannot be built:\n${built.output}`);
    return await test(folder, guard);
  } finally {
    writeFileSync(path, source);
  }
}

async function test(folder: string, { test, title }: Guard) {
  const report = join(folder, 'guard-report.json');
  rmSync(report, { force: true });
  const named = title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const times = ['--testTimeout=60000', '--hookTimeout=60000'];
  const reporters = ['--reporter=json', `--outputFile=${report}`];
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs');
  const { output } = await node(folder, [vitest, 'run', test, '-t', named, ...times, ...reporters]);
  if (!existsSync(report)) throw new Error(`${test} did not run:\n${output}`);
  const counts = JSON.parse(readFileSync(report, 'utf8')) as { numPassedTests: number; numFailedTests: number };
  return { passed: counts.numPassedTests, failed: counts.numFailedTests, output: readFileSync(report, 'utf8') };
}

function node(cwd: string, argv: readonly string[]): Promise<{ code: number; output: string }> {
  // Of the test runner around it the copy knows nothing.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV|TEST$)/.test(name)),
  );
  return new Promise((resolve) => {
    execFile(process.execPath, argv, { cwd, env, maxBuffer: 2 ** 28 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, output: stdout + stderr }),
    );
  });
}
