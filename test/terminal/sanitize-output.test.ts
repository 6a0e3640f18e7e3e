import { expect, test } from 'vitest';
import { sanitizeOutput } from '../../src/terminal/output.ts';

const hostile = '::error::x\nа ##[set-output name=a]\u001b]52;c;x\u0007\u009b2J\u202e\u001b[31mred\u001b[0m';

function place(isTTY: boolean, env: Record<string, string>, isFile = false) {
  const written: (string | Uint8Array)[] = [];
  const output = { isTTY, isFile, columns: 42, write: async (chunk: string | Uint8Array) => void written.push(chunk) };
  return { output: sanitizeOutput(output, env), written };
}

test('on a terminal text keeps its colours, and nothing else is obeyed', async () => {
  const { output, written } = place(true, {});
  await output.write(hostile);
  const shown = '::error::x\nа ##[set-output name=a]^[]52;c;x^GM-^[2J<U+202E>\u001b[31mred\u001b[0m';
  expect([written, output.columns, output.isTTY]).toEqual([[shown], 42, true]);
});

test('where the runner reads along, text holds no command, also over several writes', async () => {
  const { output, written } = place(false, { GITHUB_ACTIONS: 'true' });
  await output.write(hostile);
  await output.write('\n ');
  await output.write('::x');
  expect(written.join('')).toBe(`${hostile.replace('::', '\u200b::').replace('##[', '##\u200b[')}\n \u200b::x`);
});

test('in a pipe and a file text is exact, and bytes are exact everywhere', async () => {
  for (const { output, written } of [place(false, {}), place(false, { GITHUB_ACTIONS: 'true' }, true)]) {
    await output.write(hostile);
    expect(written).toEqual([hostile]);
  }
  const bytes = Buffer.from(hostile);
  const both = place(true, { GITHUB_ACTIONS: 'true' });
  await both.output.write(bytes);
  expect(both.written).toEqual([bytes]);
});
