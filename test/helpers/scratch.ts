import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** A new folder that is gone when the test file is over. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-cli-test-'));
  folders.push(folder);
  return folder;
}
