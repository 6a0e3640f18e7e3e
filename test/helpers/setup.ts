// @ts-expect-error undici publishes no types of its internals.
import undiciTimers from 'undici/lib/util/timers.js';
import { afterAll, vi } from 'vitest';
import { removeScratchFolders, scratchFolder } from './scratch.ts';

// What is kept of models, replies and conversations: never in the folders of whoever runs the tests, whose files a run would read.
process.env['XDG_CACHE_HOME'] = scratchFolder();
process.env['XDG_STATE_HOME'] = scratchFolder();

afterAll(() => {
  // Vitest does so before each test, but the next file is read before its first one.
  vi.unstubAllEnvs();
  // undici keeps its first timer: one that a test made while it held the time would never fire in the next file.
  (undiciTimers as { reset(): void }).reset();
  removeScratchFolders();
});
