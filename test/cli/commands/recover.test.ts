import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, vi } from 'vitest';
import { localTime } from '../../../src/library/clock.ts';
import { type Ran, run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test, textReply } from '../../helpers/with-server.ts';

const sha256Of = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

let folder: string;
let temp: string;
beforeEach(() => {
  const state = scratchFolder();
  temp = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
  vi.stubEnv('TMPDIR', temp);
  folder = join(state, 'gateway-cli', 'recovered');
});

test('without a file, recover lists the saved replies, the newest first', async () => {
  mkdirSync(folder, { recursive: true });
  const names = [1, 2, 3].map((day) => `gateway-cli-2026110${day}T120000-0000000${day}.json`);
  for (const name of names) writeFileSync(join(folder, name), '{}');
  const first = { savedAt: '2026-11-01T12:00:00.000Z', command: 'image gen', job: 'a "b" ö' };
  const saved = { schema: 'gateway-cli/recovery@1', ...first, printsText: false, document: [], images: [] };
  writeFileSync(join(folder, names[0] as string), JSON.stringify(saved));
  writeFileSync(join(folder, 'mine.json'), '{}');
  const other = join(temp, 'gateway-cli-20261103T235959-00000000.json');
  writeFileSync(other, '{}');
  const ran = await run(['recover', '--json']);
  expect(JSON.parse(ran.stdout)).toEqual({
    schema: 'gateway-cli/recovery-files@1',
    ok: true,
    exitCode: 0,
    warnings: [],
    files: [
      { path: other, savedAt: '2026-11-03T23:59:59.000Z' },
      { path: join(folder, names[2] as string), savedAt: '2026-11-03T12:00:00.000Z' },
      { path: join(folder, names[1] as string), savedAt: '2026-11-02T12:00:00.000Z' },
      { path: join(folder, names[0] as string), ...first },
    ],
  });
  const { code, stdout } = await run(['recover']);
  expect({ code, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
    code: 0,
    last: `${localTime(Date.parse(first.savedAt))}  image gen a "b" ö  ${join(folder, names[0] as string)}`,
  });
});

test.skipIf(process.platform === 'win32')(
  'what only has the name of a saved reply does not break the list',
  async () => {
    writeFileSync(join(temp, 'gateway-cli-99999999T999999-00000000.json'), '');
    const odd = join(temp, 'gateway-cli-20261103T235959-00000000.json');
    writeFileSync(odd, '{"schema":"gateway-cli/recovery@1","savedAt":"x","command":5}');
    execFileSync('mkfifo', [join(temp, 'gateway-cli-20261103T235959-00000001.json')]);
    const ran = await run(['recover', '--json']);
    const files = [{ path: odd, savedAt: '2026-11-03T23:59:59.000Z', command: '' }];
    expect([ran.code, JSON.parse(ran.stdout)]).toEqual([0, expect.objectContaining({ files })]);
  },
);

test('without a saved reply, the list is empty', async () => {
  const ran = await run(['recover'], { tty: { stderr: true } });
  expect(ran).toMatchObject({ code: 0, stdout: '', stderr: 'there is no recovery file\n' });
  expect(JSON.parse((await run(['recover', '--json'])).stdout)).toMatchObject({ files: [] });
});

test('-o without a file is a mistake that says how to list the files', async () => {
  const ran = await run(['recover', '-o', 'a.txt']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('to list the recovery files: gateway-cli recover\n');
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

test('the document has every key of the reply again', async () => {
  const reply = {
    requestedModel: 'm',
    model: 'm-1',
    modelVersion: 'm-1',
    insteadOf: { model: 'm', why: 'it is gone' },
    modelEnds: { model: 'm-1', endsOn: '2026-12-11' },
    responseId: 'r',
    role: 'model',
    text: 'one',
    answer: 1,
    candidates: [{ index: 0, text: 'one', finishReason: 'STOP' }],
    toolCalls: [{ id: 'c', name: 'f', input: {} }],
    turns: [{ text: 'one', stopReason: 'STOP', toolCalls: [] }],
    sources: [{ url: 'https://a.test/', kind: 'web', cited: false }],
    stopReason: 'STOP',
    stopSequence: 'END',
    promptFeedback: { blockReason: 'OTHER' },
    serviceTier: 'flex',
    usage: { totalTokens: 2 },
    requests: 2,
    tags: { team: 'docs' },
    complete: true,
  };
  // What the document says of its own run; pictures and files are written again.
  const ofTheRun = ['schema', 'command', 'ok', 'exitCode', 'warnings', 'attempts', 'durationMs', 'error', 'cost'];
  const schema = JSON.parse(readFileSync(join(import.meta.dirname, '../../../dist/result.schema.json'), 'utf8')) as {
    properties: object;
  };
  const keys = Object.keys(schema.properties).filter((key) => ![...ofTheRun, 'images', 'files'].includes(key));
  expect(Object.keys(reply).toSorted()).toEqual(keys.toSorted());
  const file = join(scratchFolder(), 'kept.json');
  const saved = { schema: 'gateway-cli/recovery@1', command: 'text', printsText: true, images: [] };
  writeFileSync(file, JSON.stringify({ ...saved, document: [JSON.stringify(reply)] }));
  expect(JSON.parse((await run(['recover', file, '--json'])).stdout)).toMatchObject(reply);
});

test('a recovery file that is not there is not named as the place of a reply', async () => {
  const ran = await run(['recover', 'gone.json', '--json'], { cwd: scratchFolder() });
  const { error } = JSON.parse(ran.stdout) as { error: object };
  expect(ran.code).toBe(2);
  expect(error).toMatchObject({ class: 'usage', message: expect.stringContaining('gone.json') });
  expect(error).not.toHaveProperty('recovery');
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
    else
      expect(JSON.parse(ran.stdout)).toMatchObject({
        ok: true,
        complete: false,
        text: 'half an ans',
        files: [
          { path: 'answer.txt', mimeType: 'text/plain', bytes: 12, sha256: sha256Of('half an ans\n'), candidate: 0 },
        ],
      });
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

  test('recover -o with the name of an image is the place of the images alone, and the text goes to stdout', async ({
    server,
    cli,
  }) => {
    server.reply({ body: cut });
    const { file } = await keepCut(cli);
    const ran = await cli(['recover', file, '-o', 'dot.png']);
    expect(ran).toMatchObject({ code: 0, stdout: 'half an ans\n' });
    expect(ran.stderr).toContain('no image came; text goes to stdout: > dot.png');
  });

  test('is the place of images without a text, as at `image gen`', async ({ cli }) => {
    const cwd = scratchFolder();
    const header = '89504e470d0a1a0a0000000d494844520000001000000010080600000000000000';
    const blob = Buffer.from(`${header}0000000049454e44ae426082`, 'hex');
    const sha256 = sha256Of(blob);
    const image = { candidate: 0, bytes: blob.length, sha256, b64_json: blob.toString('base64') };
    const kept = { schema: 'gateway-cli/recovery@1', command: 'image gen', printsText: false, document: ['{}'] };
    writeFileSync(join(cwd, 'kept.json'), JSON.stringify({ ...kept, images: [image] }));
    const recover = (name: string) => cli(['recover', 'kept.json', '-o', name], { cwd });
    const renamed = 'gateway-cli: warning: cat.txt would hold png data, so the file is ';
    expect(await recover('cat.txt')).toMatchObject({ code: 0, stdout: 'cat.png\n', stderr: `${renamed}cat.png\n` });
    expect(await recover('cat.txt')).toMatchObject({ code: 0, stdout: 'cat-2.png\n', stderr: `${renamed}cat-2.png\n` });
    expect(await recover('cat.png')).toMatchObject({ code: 2, stdout: '' });
    writeFileSync(join(cwd, 'cat.txt'), 'mine');
    expect(await recover('cat.txt')).toMatchObject({ code: 2, stdout: '' });
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
    writeFileSync(join(cwd, 'kept.json'), JSON.stringify({ ...kept, body: { b64_json: body.toString('base64') } }));
    expect(await cli(['recover', 'kept.json', '-o', 'body.json'], { cwd })).toMatchObject({ code: 0, stdout: '' });
    const both = await cli(['recover', 'kept.json', '--json'], { cwd });
    expect([both.code, JSON.parse(both.stdout)]).toMatchObject([2, { ok: false, error: { class: 'usage' } }]);
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
