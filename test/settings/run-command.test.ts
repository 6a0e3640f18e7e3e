import { expect, test } from 'vitest';
import { runCommand } from '../../src/settings/key.ts';

const node = process.execPath;
const long = 60_000;

test('gives what the command printed', async () => {
  const script = 'console.log("key"); console.error("note")';
  expect(await runCommand([node, '-e', script], long)).toEqual({ status: 0, stdout: 'key\n', stderr: 'note\n' });
});

test('gives its exit code', async () => {
  expect(await runCommand([node, '-e', 'process.exitCode = 7'], long)).toMatchObject({ status: 7 });
});

test.skipIf(process.platform === 'win32')('gives the signal that ended it', async () => {
  expect(await runCommand([node, '-e', 'process.kill(process.pid, "SIGTERM")'], long)).toMatchObject({
    status: 'ended by SIGTERM',
  });
});

test('hands arguments over without a shell', async () => {
  const { stdout } = await runCommand([node, '-p', 'process.argv[1]', '$HOME; echo *'], long);
  expect(stdout).toBe('$HOME; echo *\n');
});

test('keeps stdin from it: the prompt may be there', async () => {
  const { stdout } = await runCommand([node, '-p', 'require("fs").readFileSync(0, "utf8").length'], long);
  expect(stdout).toBe('0\n');
});

test('rejects for a program that is not there', async () => {
  await expect(runCommand(['gateway-cli-no-such-program', 'sk-canary'], long)).rejects.toThrow('ENOENT');
  await expect(runCommand(['gateway-cli-no-such-program', 'sk-canary'], long)).rejects.not.toThrow('canary');
});

test('rejects for one that prints without end', async () => {
  await expect(runCommand([node, '-e', 'for (;;) require("fs").writeSync(1, "x".repeat(9999))'], long)).rejects.toThrow(
    'maxBuffer',
  );
});

test('kills one that takes too long, also when its child holds the pipes', async () => {
  // The grandchild lives until nobody reads what it writes.
  const talker = 'setInterval(() => process.stdout.write("x"), 50)';
  const script = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(talker)}], { stdio: "inherit" }); setInterval(() => {}, 1000)`;
  await expect(runCommand([node, '-e', script], 300)).rejects.toThrow('no key after 300ms');
});
