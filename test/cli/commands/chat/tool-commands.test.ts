import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { GatewayError } from '../../../../src/library/errors.ts';
import { shellWord } from '../../../../src/library/shell-word.ts';
import type { ReceivedRequest } from '../../../helpers/request-reader.ts';
import type { RunOptions } from '../../../helpers/run.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { eventStream, messageEvents, test as base } from '../../../helpers/with-server.ts';

const cwd = scratchFolder();
writeFileSync(join(cwd, 'tools.json'), '[{"name":"f","input_schema":{"type":"object"}}]');
const chat = ['chat', 'hi', '--tools', 'tools.json', '--format', 'messages', '--quiet'];
const node = (script: string): string => `${shellWord(process.execPath)} -e ${shellWord(script)}`;
const echo = "process.stdin.on('data', (d) => process.stdout.write(d))";

const callOf = (input: object): object => {
  const content = [{ type: 'tool_use', id: 't1', name: 'f', input }];
  return { id: 'x', role: 'assistant', content, stop_reason: 'tool_use' };
};

/** `resultOf` runs a chat whose model calls a tool once, and returns what the model gets back. */
const test = base.extend<{
  resultOf: (command: string, input?: object, flags?: readonly string[], options?: RunOptions) => Promise<unknown>;
}>({
  resultOf: async ({ server, cli }, use) => {
    await use(async (command, input = {}, flags = [], options = {}) => {
      server.reply({ body: callOf(input) });
      server.reply({ body: eventStream(...messageEvents('Done.')) });
      const ran = await cli([...chat, ...flags, '--tool-exec', `f=${command}`], { cwd, ...options });
      expect(ran).toMatchObject({ code: 0, stdout: 'Done.\n' });
      const last = server.requests.at(-1) as ReceivedRequest;
      const { messages } = last.json() as { messages: { content: unknown[] }[] };
      return messages.at(-1)?.content[0];
    });
  },
});

const result = (content: string): object => ({ type: 'tool_result', tool_use_id: 't1', content });
const error = (content: string): object => ({ ...result(content), is_error: true });

test.for([
  ['its stdout is the result', "console.log('rain')", result('rain\n')],
  [
    'another exit status than 0 is an error with stderr',
    "console.log('half'); console.error('no such city'); process.exitCode = 3",
    error('exit status 3\nno such city\nhalf'),
  ],
  ['the end by a signal is an error', "process.kill(process.pid, 'SIGKILL')", error('ended by SIGKILL')],
  [
    'more than 1 MiB of output is an error, not a request that is too large',
    "const go = () => process.stdout.write('x'.repeat(65536), go); go()",
    error('the output is larger than 1048576 bytes'),
  ],
] as const)('%s', async ([, script, expected], { resultOf }) => {
  expect(await resultOf(node(script))).toEqual(expected);
});

test('passes the input as JSON on stdin', async ({ resultOf }) => {
  const input = { city: 'Pa"ris\n', '; rm -rf /': ['$(x)'] };
  expect(await resultOf(node(echo), input)).toEqual(result(JSON.stringify(input)));
});

test('a command that does not read a large input still returns its result', async ({ resultOf }) => {
  expect(await resultOf(node("console.log('done')"), { text: 'x'.repeat(4_000_000) })).toEqual(result('done\n'));
});

test.for(['gemini', 'openai'] as const)(
  'with %s, the keys of no service are in the environment of a tool',
  async (service, { server, resultOf }) => {
    const keys = ['OPENAI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENROUTER_API_KEY'];
    const files = { GATEWAY_API_KEY_FILE: '/none', ANTHROPIC_API_KEY_FILE: '/none' };
    const env = { ...Object.fromEntries(keys.map((name) => [name, 'k'])), ...files, OWN: 'mine' };
    const shown = node('console.log(Object.keys(process.env).filter((name) => /KEY|OWN/.test(name)).sort().join())');
    const flags = ['--service', service, '--base-url', server.url];
    expect(await resultOf(shown, {}, flags, { env })).toEqual(result('OWN\n'));
  },
);

test('a signal kills the command', async ({ server, cli }) => {
  server.reply({ body: callOf({}) });
  const stop = new AbortController();
  const endless = node("require('fs').writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000)");
  const running = cli([...chat, '--tool-exec', `f=${endless}`], { cwd, signal: stop.signal });
  let pid = 0;
  await vi.waitFor(() => expect((pid = Number(readFileSync(join(cwd, 'pid'), 'utf8')))).toBeGreaterThan(0), 20_000);
  stop.abort(new GatewayError('interrupted', 'stopped'));
  expect(await running).toMatchObject({ code: 130, stdout: '' });
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
});

test('a missing program is an error before anything is sent', async ({ cli, resultOf }) => {
  const env = { PATH: cwd };
  const refused = async (command: string): Promise<string> => {
    const ran = await cli([...chat, '--tool-exec', `f=${command}`], { cwd, env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    return ran.stderr;
  };
  expect(await refused('no-such')).toContain('f: "no-such" is not a program in PATH');
  expect(await refused('./no-such')).toContain('f: "./no-such": there is no such file');
  writeFileSync(join(cwd, 'there'), '#!/bin/sh\n');
  expect(await refused('./there')).toContain('chmod +x');
  chmodSync(join(cwd, 'there'), 0o755);
  for (const command of ['./there', 'there'])
    expect(await resultOf(command, {}, [], { env })).toEqual({ type: 'tool_result', tool_use_id: 't1' });
});

test('a program that was removed is an error of the call', async ({ resultOf }) => {
  writeFileSync(join(cwd, 'gone'), '#!/no-such-shell\n', { mode: 0o755 });
  expect(await resultOf('./gone')).toEqual(error('the command cannot run: there is no such command'));
});

test.skipIf(process.platform !== 'linux')(
  'a program without a descriptor left is an error of the call',
  async ({ server, cli, onTestFinished }) => {
    const limit = 'prlimit --pid=$PPID --nofile';
    const limiter = spawn('sh', [
      '-c',
      `read go; was=$(ulimit -Sn); ${limit}=3: && echo low && read go; ${limit}=$was:`,
    ]);
    // The worker of the test gets its limit back, whatever fails.
    onTestFinished(() => void limiter.stdin.end());
    server.reply(async () => {
      limiter.stdin.write('go\n');
      await once(limiter.stdout, 'data');
      return { body: callOf({}) };
    });
    server.reply(async () => {
      limiter.stdin.end('go\n');
      await once(limiter, 'close');
      return { body: eventStream(...messageEvents('Done.')) };
    });
    expect(await cli([...chat, '--tool-exec', `f=${node('')}`], { cwd })).toMatchObject({ code: 0 });
    expect(server.requests[1]?.json()).toMatchObject({
      messages: [{}, {}, { content: [error('the command cannot run: too many files are open')] }],
    });
  },
);
