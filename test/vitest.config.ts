import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const anyTest = 'test/**/*.test.ts';
const endToEnd = 'test/**/*.e2e.test.ts';
const demanding = 'test/**/*.full.test.ts';
const installed = '**/node_modules/**';

const full = {
  extends: true as const,
  test: {
    name: 'full',
    include: [demanding],
    exclude: [installed],
    globalSetup: ['test/helpers/install-packages.ts'],
  },
};

// Tests make, sync and remove thousands of small files: in memory, where there is much of it, that takes a quarter of the time.
const scratch = mkdtempSync(join(isRoomy('/dev/shm') ? '/dev/shm' : tmpdir(), 'gw-'));
// Open to every user, as the system's own: some tests run the program as another one.
chmodSync(scratch, 0o1777);
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

/** Whether a folder in memory takes files, also programs, and as many as the tests make. */
function isRoomy(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    return bavail * bsize > 2 ** 31 && !mounts.some((line) => line.includes(` ${folder} `) && /\bnoexec\b/.test(line));
  } catch {
    return false;
  }
}

// test/README.md says what belongs to which suite.
// The fake servers of the vendors have their hosts. To name their authority in each run took 35 ms: it is read with all of Node's.
const env = { NODE_EXTRA_CA_CERTS: join(import.meta.dirname, 'fixtures/tls/vendors.pem') };

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '..'),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Most tests wait for programs that they start, so no processor is left for vitest alone.
    maxWorkers: '100%',
    unstubEnvs: true,
    // What a service taught is kept there for a day: not beside the user's own.
    env: { TMPDIR: scratch, XDG_CACHE_HOME: join(scratch, 'cache') },
    setupFiles: ['test/helpers/setup.ts'],
    projects: [
      {
        extends: true,
        // Files share what they import: loading it again for each took longer than the tests.
        test: { name: 'quick', isolate: false, env, include: [anyTest], exclude: [endToEnd, demanding, installed] },
      },
      { extends: true, test: { name: 'e2e', isolate: false, env, include: [endToEnd], exclude: [installed] } },
      // Both of them, in processes that load the sources once.
      {
        extends: true,
        test: { name: 'test', isolate: false, env, include: [anyTest], exclude: [demanding, installed] },
      },
      // Campaigns of minutes: only where they are asked for, not with the folder that they are in.
      ...(process.env['GATEWAY_CLI_TEST_FULL'] ? [full] : []),
    ],
  },
});
