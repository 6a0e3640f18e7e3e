// Runs the tests, and checks the types meanwhile: one compiler leaves the other processors idle. Its errors are printed last.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const types = spawn('npm run types', { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
const tests = spawn('vitest run --config test/vitest.config.ts --project quick --project e2e', {
  shell: true,
  stdio: 'inherit',
});
const [[tested], [typed], errors] = await Promise.all([once(tests, 'close'), once(types, 'close'), text(types.stdout)]);
if (typed !== 0) process.stdout.write(errors);
process.exitCode = tested === 0 && typed === 0 ? 0 : 1;
