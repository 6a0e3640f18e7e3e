import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a job file of so many prompts. @param {string} folder @param {number} count @returns {string} its path */
export function writeJobs(folder, count) {
  const path = join(folder, 'jobs.jsonl');
  const lines = Array.from({ length: count }, (_, index) =>
    JSON.stringify({ id: `job-${index}`, prompt: `number ${index}` }),
  );
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}
