// Runs the tests, and meanwhile checks types and style, which leave processors idle. What these find is printed last.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const root = new URL('..', import.meta.url);

// The compiler, a Go program, ends before it has filled the memory that it would collect: that took it a third of its time.
const env = { GOGC: 'off', ...process.env };
// Each Node reads them when it starts, which takes as long as the start. Nobody here asks a host that they vouch for.
delete env.NODE_EXTRA_CA_CERTS;

/** Runs one script of package.json, and prints what it says only if it fails. */
async function check(script) {
  const child = spawn(`npm run ${script}`, { cwd: root, env, shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const [[code], said] = await Promise.all([once(child, 'close'), text(child.stdout)]);
  return { passed: code === 0, said };
}

// `npm test -- transport/sse` runs the files whose path holds these words.
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--project', 'test'];
const tests = spawn(process.execPath, [...vitest, ...process.argv.slice(2)], { cwd: root, env, stdio: 'inherit' });
const tested = once(tests, 'close');
const failed = [await check('types'), await check('lint')].filter(({ passed }) => !passed);
const [code] = await tested;
for (const { said } of failed) process.stdout.write(said);
process.exitCode = code === 0 && failed.length === 0 ? 0 : 1;
