import { expect, test } from 'vitest';
import { runKeyCommand } from '../../../src/cli/settings/key.ts';

const node = process.execPath;
const from = 'somewhere';
const posix = process.platform !== 'win32';

test('gives what the command printed on stdout', async () => {
  const script = 'console.log("key"); console.error("note")';
  expect(await runKeyCommand([node, '-e', script], from)).toBe('key\n');
});

test('hands arguments over without a shell', async () => {
  const printed = await runKeyCommand([node, '-p', 'process.argv[1]', '$HOME; echo *'], from);
  expect(printed).toBe('$HOME; echo *\n');
});

test('a key command gets no stdin: the prompt may be there', async () => {
  expect(await runKeyCommand([node, '-p', 'require("fs").readFileSync(0, "utf8").length'], from)).toBe('0\n');
});

test('reports the exit code and the first line of stderr, without what may be secret', async () => {
  const script = `console.log("sk-printed"); console.error("\\nno " + process.argv[1] + ", sk-printed\\nmore"); process.exitCode = 7`;
  await expect(runKeyCommand([node, '-e', script, 'sk-canary'], from)).rejects.toMatchObject({
    class: 'auth',
    message: 'the key command failed (somewhere): exit code 7: no (redacted), (redacted)',
    details: { sent: 'no', hint: `try it by hand: ${node} …` },
  });
});

test('the error of a key command shows no word of its stdout, which may hold the key', async () => {
  const script = `console.log("logged in\\nsk-printed"); console.error("sk-printed is expired"); process.exitCode = 1`;
  await expect(runKeyCommand([node, '-e', script], from)).rejects.toMatchObject({
    message: 'the key command failed (somewhere): exit code 1: (redacted) is expired',
  });
});

test('of a long line of stderr the error shows the first 200 characters, and of none nothing', async () => {
  const printing = (text: string) =>
    runKeyCommand([node, '-e', `console.error(${JSON.stringify(text)}); process.exitCode = 1`], from);
  const failed = 'the key command failed (somewhere): exit code 1';
  await expect(printing('x'.repeat(500))).rejects.toMatchObject({ message: `${failed}: ${'x'.repeat(200)}` });
  await expect(printing('')).rejects.toMatchObject({ message: failed });
});

test.runIf(posix)('the signal that ended a key command is reported', async () => {
  await expect(runKeyCommand([node, '-e', 'process.kill(process.pid, "SIGTERM")'], from)).rejects.toMatchObject({
    class: 'auth',
    message: 'the key command failed (somewhere): ended by SIGTERM',
  });
});

test('refuses a program that is not there', async () => {
  const running = runKeyCommand(['gateway-cli-no-such-program', 'sk-canary'], from);
  await expect(running).rejects.toMatchObject({ class: 'auth', details: { sent: 'no' } });
  await expect(running).rejects.toThrow(/^the key command did not run \(somewhere\): there is no such command/);
  await expect(running).rejects.not.toThrow('canary');
});

test('a key command that prints without end is refused', async () => {
  const script = 'for (;;) require("fs").writeSync(1, "x".repeat(9999))';
  await expect(runKeyCommand([node, '-e', script], from)).rejects.toThrow('it printed too much');
});

test('a key command that takes too long is killed, also when its child holds the pipes', async () => {
  // The grandchild lives until its output has no reader.
  const talker = 'setInterval(() => process.stdout.write("x"), 50)';
  const script = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(talker)}], { stdio: "inherit" }); setInterval(() => {}, 1000)`;
  await expect(runKeyCommand([node, '-e', script], from, { timeoutMs: 300 })).rejects.toThrow('no key after 300ms');
});
