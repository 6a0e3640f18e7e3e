import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, type RunOptions } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

/** A folder with a config file, if there is a content for it, and the program with that file; `config` leaves out the schema's link. */
export function place(content?: object) {
  const cwd = scratchFolder();
  const file = join(cwd, 'config.json');
  if (content) writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
  return {
    file,
    config: () => {
      const { $schema: _, ...content } = JSON.parse(readFileSync(file, 'utf8')) as { $schema?: string };
      return content as unknown;
    },
    cli: (argv: readonly string[], options: RunOptions = {}) =>
      run(argv, { cwd, ...options, env: { GATEWAY_CONFIG: file, ...options.env } }),
  };
}
