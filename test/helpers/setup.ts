import { afterAll, vi } from 'vitest';
import { removeScratchFolders } from './scratch.ts';

afterAll(() => {
  // Vitest does so before each test, but the next file is read before its first one.
  vi.unstubAllEnvs();
  removeScratchFolders();
});
