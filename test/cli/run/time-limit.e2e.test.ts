import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bash, serve, start } from '../../faults/program.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** Pipes of which one has a writer that never ends, and a config with a key command that does not either. */
function place(baseUrl: string): string {
  const cwd = scratchFolder();
  execFileSync('mkfifo', ['unused', 'silent'], { cwd });
  const writer = spawn('bash', ['-c', 'exec sleep 60 > silent'], { cwd, stdio: 'ignore' });
  onTestFinished(() => void writer.kill());
  const profiles = { default: { baseUrl, apiKeyCommand: ['sleep', '60'] } };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ profiles }), { mode: 0o600 });
  return cwd;
}

test.for([
  ['an open stdin', ['text'], {}],
  ['a pipe without a writer', ['text', '--prompt-file', 'unused'], {}],
  ['a pipe that does not end', ['chat', '--prompt-file', 'silent'], {}],
  ['a key file that is such a pipe', ['text', 'x', '--api-key-file', 'silent'], {}],
  ['a key command', ['image', 'gen', 'x'], { GATEWAY_API_KEY: '', GATEWAY_CONFIG: 'config.json' }],
] as const)('%s has the time of the command', async ([, argv, env]) => {
  const server = await serve();
  const cwd = place(server.url);
  const { ended } = start([...argv, '--timeout', '300ms'], server, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ran = await ended;
  expect(ran).toMatchObject({ code: 7, stdout: '' });
  expect(ran.stderr).toContain('not sent within 0.3 s');
  expect(server.requests).toEqual([]);
});

test('a pipe is read to its end, however many reads that takes', async () => {
  const server = await serve();
  server.reply({ body: { candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] } });
  const ran = await bash('$CLI text --prompt-file <(head -c 300000 /dev/zero | tr "\\0" a; printf end)', server);
  expect(ran).toMatchObject({ code: 0, stdout: 'ok\n' });
  expect(String(server.requests[0]?.body)).toContain(`${'a'.repeat(300_000)}end`);
});
