import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';

let folder: string;
let temp: string;
beforeEach(() => {
  const state = scratchFolder();
  temp = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
  vi.stubEnv('TMPDIR', temp);
  folder = join(state, 'gateway-cli', 'recovered');
});

/** The commands in the hint of `recover`. */
async function named(): Promise<{ commands: string[]; stderr: string }> {
  const { code, stdout, stderr } = await run(['recover']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  return { commands: [...stderr.matchAll(/^ {2}(gateway-cli recover .*)$/gm)].map(([, line = '']) => line), stderr };
}

test('without a file, recover names the saved replies, the newest first', async () => {
  mkdirSync(folder, { recursive: true });
  const names = [1, 2, 3, 4, 5].map((day) => `gateway-cli-2026110${day}T120000-0000000${day}.json`);
  for (const name of names) writeFileSync(join(folder, name), '{}');
  writeFileSync(join(folder, 'mine.json'), '{}');
  const other = join(temp, 'gateway-cli-20261103T235959-00000000.json');
  writeFileSync(other, '{}');
  const { commands, stderr } = await named();
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = names.map((name) => join(folder, name));
  expect(commands).toEqual([fifth, fourth, other, third, second].map((path) => `gateway-cli recover ${path}`));
  expect(stderr).not.toContain(first);
  expect(stderr).toContain('\n  and 1 more\n');
});

test('without a saved reply, recover says which exit code names one', async () => {
  const { commands, stderr } = await named();
  expect(commands).toEqual([]);
  expect(stderr).toContain(
    'there is no recovery file; with exit code 12, stderr names one: gateway-cli recover <file>',
  );
});

test('the document has the answer that fitted the schema, the calls of tools and the tags again', async () => {
  const turn = {
    text: '',
    stopReason: 'tool_use',
    toolCalls: [{ name: 'f', input: {}, result: 'sunny', isError: false }],
  };
  const kept = { text: '{"born":1815}', answer: { born: 1815 }, turns: [turn], tags: { project: 'cats' } };
  const document = { schema: 'gateway-cli/result@1', command: 'chat', requestedModel: 'm', complete: true, ...kept };
  const file = join(scratchFolder(), 'kept.json');
  const saved = { schema: 'gateway-cli/recovery@1', command: 'chat', printsText: true, images: [] };
  writeFileSync(file, JSON.stringify({ ...saved, document: [JSON.stringify(document)] }));
  const ran = await run(['recover', file, '--json']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ran.stdout)).toMatchObject({ command: 'recover', attempts: 0, ...kept });
  const changed = { ...document, turns: [1, turn, {}], tags: { project: 1 } };
  writeFileSync(file, JSON.stringify({ ...saved, document: [JSON.stringify(changed)] }));
  const other = JSON.parse((await run(['recover', file, '--json'])).stdout) as object;
  expect(other).toMatchObject({ turns: [turn] });
  expect(other).not.toHaveProperty('tags');
});
