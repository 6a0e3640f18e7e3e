import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, vi } from 'vitest';
import { type Ran, run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { test, textReply } from '../helpers/with-server.ts';

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

describe('-o', () => {
  const cut = textReply('half an ans', {
    candidates: [{ content: { role: 'model', parts: [{ text: 'half an ans' }] }, finishReason: 'MAX_TOKENS' }],
  });

  /** The recovery file of an answer that was cut, and what stderr said. */
  async function keepCut(cli: (argv: string[]) => Promise<Ran>): Promise<{ file: string; stderr: string }> {
    const { code, stderr } = await cli(['text', 'hi', '--require-complete', '-o', 'an answer.txt']);
    expect(code).toBe(11);
    const [, file = ''] = /gateway-cli recover (\S+)/.exec(stderr) ?? [];
    return { file, stderr };
  }

  test.for([[], ['--json']])('names the file of the text, with %j', async (json, { server, cli }) => {
    server.reply({ body: cut });
    const { file, stderr } = await keepCut(cli);
    expect(stderr).toContain(`gateway-cli recover ${file} -o 'an answer.txt'\n`);
    const ran = await cli(['recover', file, '-o', 'answer.txt', ...json]);
    expect(ran.code).toBe(0);
    expect(readdirSync(ran.cwd)).toEqual(['answer.txt']);
    expect(readFileSync(join(ran.cwd, 'answer.txt'), 'utf8')).toBe('half an ans\n');
    if (json.length === 0) expect(ran.stdout).toBe('');
    else expect(JSON.parse(ran.stdout)).toMatchObject({ ok: true, complete: false, text: 'half an ans' });
  });

  test('overwrites a file only with --force', async ({ server, cli }) => {
    server.reply({ body: cut });
    const { file } = await keepCut(cli);
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'answer.txt'), 'mine');
    expect(await cli(['recover', file, '-o', 'answer.txt'], { cwd })).toMatchObject({ code: 2, stdout: '' });
    expect(readFileSync(join(cwd, 'answer.txt'), 'utf8')).toBe('mine');
    expect(await cli(['recover', file, '-o', 'answer.txt', '-f'], { cwd })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, 'answer.txt'), 'utf8')).toBe('half an ans\n');
  });

  test('is the place of images alone if it names one, and the text goes to stdout', async ({ server, cli }) => {
    server.reply({ body: cut });
    const { file } = await keepCut(cli);
    const ran = await cli(['recover', file, '-o', 'dot.png']);
    expect(ran).toMatchObject({ code: 0, stdout: 'half an ans\n' });
    expect(ran.stderr).toContain('no image came; text goes to stdout: > dot.png');
  });

  test('names the file of an unchanged body', async ({ cli }) => {
    const cwd = scratchFolder();
    const body = Buffer.from('{"paid": true}');
    const document = [JSON.stringify({ schema: 'gateway-cli/result@1' })];
    const kept = {
      schema: 'gateway-cli/recovery@1',
      savedAt: '',
      command: 'text',
      printsText: false,
      document,
      images: [],
    };
    writeFileSync(join(cwd, 'kept.json'), JSON.stringify({ ...kept, body: body.toString('base64') }));
    expect(await cli(['recover', 'kept.json', '-o', 'body.json'], { cwd })).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(cwd, 'body.json'))).toEqual(body);
  });
});

test('recover warns that an answer is cut', async ({ server, cli }) => {
  const content = { role: 'model', parts: [{ text: 'half' }] };
  server.reply({ body: textReply('', { candidates: [{ content, finishReason: 'MAX_TOKENS' }] }) });
  const { stderr } = await cli(['text', 'hi', '--require-complete', '-o', 'answer.txt']);
  const [, file = ''] = /gateway-cli recover (\S+)/.exec(stderr) ?? [];
  const { stdout } = await cli(['recover', file, '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, warnings: ['cut by the token limit (MAX_TOKENS)'] });
});

test('the document of a paid answer that went into a recovery file names the file, and does not invite to pay again', async ({
  server,
  cli,
}) => {
  server.reply({ body: textReply('no JSON') });
  const ran = await cli(['text', 'hi', '--schema', '{"type":"object"}', '-o', 'answer.json', '--json']);
  const { error } = JSON.parse(ran.stdout) as { error: { recovery: string } };
  expect(error).toMatchObject({ class: 'incomplete', retryable: false, billed: 'yes' });
  expect(error.recovery.startsWith(folder)).toBe(true);
  expect(await cli(['recover', error.recovery])).toMatchObject({ code: 0, stdout: 'no JSON\n' });
});
