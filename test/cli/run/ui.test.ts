import { expect, test as plain } from 'vitest';
import type { RootOptions } from '../../../src/cli/context.ts';
import { createUi } from '../../../src/cli/output/log.ts';
import { Secret } from '../../../src/cli/settings/redact.ts';
import { sanitizeOutput } from '../../../src/cli/terminal/output.ts';
import type { Io } from '../../../src/cli/terminal/io.ts';
import { canaryKey, eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';

/** A Ui whose secret is `canary-7f3a9c51`, and what it printed. */
function place(root: Partial<RootOptions> = {}, env: Record<string, string> = {}) {
  const written: string[] = [];
  const bare = { isTTY: false, columns: 80, write: async (chunk: unknown) => void written.push(String(chunk)) };
  const stderr = sanitizeOutput(bare, env);
  const ui = createUi({ stderr, env } as unknown as Io, { color: true, ...root } as RootOptions);
  ui.hide([new Secret('canary-7f3a9c51')]);
  return { ui, written };
}

const text = 'a canary-7f3a9c51 \u001b[31m\nb';

plain('every way to stderr is redacted, and escaped', async () => {
  const { ui, written } = place({ verbose: true });
  await ui.note(text);
  await ui.warn(text);
  await ui.detail(text);
  await ui.think(text);
  expect(written).toEqual([
    'a (redacted) ^[[31m b\n',
    'gateway-cli: warning: a (redacted) ^[[31m b\n',
    'a (redacted) ^[[31m b\n',
    'a (redacted) ^[[31m\nb',
  ]);
  // What is kept of a warning may go into a file.
  expect(ui.warnings).toEqual(['a (redacted) \u001b[31m\nb']);
});

plain('--quiet says nothing but keeps the warnings, and details need --verbose', async () => {
  const { ui, written } = place({ quiet: true });
  await ui.note('a');
  await ui.warn('b');
  await ui.detail('c');
  expect([written, ui.warnings]).toEqual([[], ['b']]);
});

plain('what the model thinks gives a CI no commands', async () => {
  const { ui, written } = place({}, { GITHUB_ACTIONS: 'true' });
  await ui.think('::error');
  await ui.think('::x\n');
  await ui.think('::y');
  expect(written).toEqual(['\u200b::error', '::x\n', '\u200b::y']);
});

const echoed = { type: 'error', error: { type: 'invalid_request_error', message: `bad key ${canaryKey}` } };

test.for([
  [['text', 'x'], { 'x-vendor-a-api-key': canaryKey }],
  [['chat', 'x'], { 'x-api-key': canaryKey }],
] as const)('%s: a gateway that echoes the key brings it into no output', async ([argv], { server, cli }) => {
  for (const more of [[], ['--json'], ['--debug'], ['-v']]) {
    server.reply({ status: 400, headers: { 'x-echo': canaryKey }, body: echoed });
    const env = { GITHUB_ACTIONS: 'true' };
    const ran = await cli([...argv, ...more], { env });
    expect(ran.code).toBe(4);
    expect(ran.stderr + ran.stdout).toContain('bad key (redacted)');
    expect(ran.stderr).toContain('::error title=gateway-cli rejected::');
    expect(ran.stderr + ran.stdout).not.toContain(canaryKey);
  }
});

test('a key that the thinking repeats is not shown', async ({ server, cli }) => {
  const [start, , ...rest] = messageEvents('ok');
  const thinking = [
    { type: 'content_block_start', index: 1, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'thinking_delta', thinking: `it is ${canaryKey}` } },
    { type: 'content_block_stop', index: 1 },
  ];
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
  server.reply({ body: eventStream(start as object, ...thinking, block, ...rest) });
  const ran = await cli(['chat', 'x', '--thinking']);
  expect(ran).toMatchObject({ code: 0, stdout: 'ok\n' });
  expect(ran.stderr).toContain('it is (redacted)');
});

test('--verbose says that a gateway on this machine is reached without the proxy', async ({ server, cli }) => {
  server.reply({ body: textReply('h') });
  const ran = await cli(['text', 'x', '-v', '--proxy', 'http://127.0.0.1:1']);
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('the gateway is on this machine: the proxy of flag --proxy is not used\n');
});
