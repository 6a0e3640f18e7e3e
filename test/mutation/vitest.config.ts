import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// The tests of the rooms that are mutated, and those of replies, which run through all of them; nothing that starts programs.
const rooms = '{formats,transport,client,images,files,scan,recovery,replies}';

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: [`test/${rooms}/**/*.test.ts`],
    exclude: ['**/*.{e2e,full}.test.ts', '**/node_modules/**'],
    unstubEnvs: true,
    setupFiles: ['test/helpers/setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
