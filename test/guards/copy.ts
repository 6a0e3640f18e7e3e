import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Guard } from './guard.ts';

const root = join(import.meta.dirname, '../..');
const left = new Set(['.git', 'dist', 'coverage']);
const isOurs = (path: string) =>
  basename(path) !== 'node_modules' && (dirname(path) !== root || !left.has(basename(path)));

const noTypes = `import { mkdirSync } from 'node:fs';
export const emitTypes = (root, folder) => mkdirSync(folder, { recursive: true });
`;

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
  cpSync(root, folder, { recursive: true, filter: isOurs });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // Most of the time of a build goes into the types of the library door, where no guard stands.
  writeFileSync(join(folder, '.scripts/types.js'), noTypes);
  const shared = join(root, '../shared');
  if (existsSync(shared)) symlinkSync(shared, join(parent, 'shared'));
  let isBuiltWhole = false;
  return {
    async run(guard, whole) {
      const restore = whole ? () => {} : takeOut(folder, guard);
      try {
        const isBuilt = whole && isBuiltWhole;
        // A build that fails half-way leaves no whole program either.
        isBuiltWhole = false;
        if (!isBuilt) await build(folder);
        isBuiltWhole = whole;
        return await test(folder, guard);
      } finally {
        restore();
      }
    },
    remove: () => rmSync(parent, { recursive: true, force: true }),
  };
}

/** Takes a guard out of the copy, and says how it is put back. */
function takeOut(folder: string, { file, find, replace }: Guard): () => void {
  const path = join(folder, file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    source.replace(find, () => replace),
  );
  return () => writeFileSync(path, source);
}

async function build(folder: string): Promise<void> {
  const built = await node(folder, ['.scripts/build.js']);
  if (built.code !== 0) throw new Error(`without its guard the program cannot be built:\n${built.output}`);
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
