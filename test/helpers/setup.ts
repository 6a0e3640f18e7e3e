import { afterAll } from 'vitest';
import { removeScratchFolders } from './scratch.ts';

afterAll(removeScratchFolders);
