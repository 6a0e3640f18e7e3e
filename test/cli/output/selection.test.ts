import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, vi } from 'vitest';
import { eventStream, imageReply, messageEvents, test, textReply } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const cut = (text: string): object => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'MAX_TOKENS', index: 0 }],
});

/** Both commands, with a reply of each holding the text. */
const commands = [
  ['text', (text: string) => textReply(text)],
  ['chat', (text: string) => eventStream(...messageEvents(text))],
] as const;

beforeEach(() => void vi.stubEnv('XDG_STATE_HOME', scratchFolder()));

describe('--field', () => {
  test.for([
    ['text', 'two\nlines\n'],
    ['usage.totalTokens', '5\n'],
    ['usage', '{"inputTokens":3,"outputTokens":2,"totalTokens":5}\n'],
    ['candidates[0].finishReason', 'STOP\n'],
    ['ok', 'true\n'],
  ] as const)('prints only the value at %s', async ([path, line], { server, cli }) => {
    server.reply({ body: textReply('two\nlines') });
    expect(await cli(['text', 'hi', '--field', path])).toMatchObject({ code: 0, stdout: line, stderr: '' });
  });

  test.for(commands)(
    'of %s prints a value of the answer that --schema checked',
    async ([command, reply], { server, cli }) => {
      const cwd = scratchFolder();
      writeFileSync(join(cwd, 's.json'), '{"type":"object"}');
      server.always({ body: reply('{"born":1815,"names":["Ada","Augusta"],"none":null}') });
      const ask = (path: string) => cli([command, 'Ada', '--schema', 's.json', '--field', path], { cwd });
      expect(await ask('answer.born')).toMatchObject({ code: 0, stdout: '1815\n', stderr: '' });
      expect(await ask('answer.names[1]')).toMatchObject({ code: 0, stdout: 'Augusta\n' });
      expect(await ask('answer.none')).toMatchObject({ code: 0, stdout: 'null\n' });
      const absent = await ask('answer.bron');
      expect(absent).toMatchObject({ code: 10, stdout: '' });
      expect(absent.stderr).toContain('answer.bron');
      expect(absent.stderr).toContain('--field answer.born\n');
    },
  );

  test.for([
    ['usage.total', 'inputTokens, outputTokens, totalTokens'],
    ['candidates[2].text', 'the last is candidates[0]'],
    ['text.length', 'text holds nothing further'],
    ['constructor', 'the result has: schema, command'],
    ['answer.born', '--schema'],
  ] as const)(
    'is exit 10 where the document has no %s, and says what there is',
    async ([path, words], { server, cli }) => {
      server.reply({ body: textReply('hi') });
      const ran = await cli(['text', 'hi', '--field', path]);
      expect(ran).toMatchObject({ code: 10, stdout: '' });
      expect(ran.stderr).toContain(words);
      const [, kept = ''] = /gateway-cli recover (\S+)/.exec(ran.stderr) ?? [];
      expect(await cli(['recover', kept])).toMatchObject({ code: 0, stdout: 'hi\n' });
    },
  );

  test('leaves images where they were to go', async ({ server, cli }) => {
    server.reply({ body: imageReply({ mimeType: 'image/png', data: dot }) });
    const ran = await cli(['image', 'gen', 'a dot', '-o', 'dot.png', '--field', 'images[0].width']);
    expect(ran).toMatchObject({ code: 0, stdout: '1\n', stderr: '' });
    expect(existsSync(join(ran.cwd, 'dot.png'))).toBe(true);
  });

  test('keeps the exit code of a failure, whether the value is there or not', async ({ server, cli }) => {
    server.always({ status: 400, body: {} });
    expect(await cli(['text', 'hi', '--field', 'error.class'])).toMatchObject({ code: 4, stdout: 'rejected\n' });
    expect(await cli(['text', 'hi', '--field', 'text'])).toMatchObject({ code: 4, stdout: '' });
  });

  test.for([
    ['text', ['--json']],
    ['text', ['--raw']],
    ['text', ['--stream', '--jsonl']],
    ['text', ['--dry-run']],
    ['text', ['--code']],
    ['image gen', ['-o', '-']],
  ] as const)('of %s beside %j is exit 2', async ([words, flags], { cli }) => {
    const ran = await cli([...words.split(' '), 'hi', '--field', 'text', ...flags]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('both write to stdout');
  });
});

const answer = [
  'Run this:\n\n```bash\necho "a\tb"\n```\n\nThen:\n\n1. another\n\n   ````md\n   ```js\n   x()\n   ```\n   ````\n',
  '\n    indented\n\n`inline`\n\n~~~py\nif a:\n\n    b()\n~~~\n\n``` sh\nlast',
].join('');
const code = 'echo "a\tb"\n\n```js\nx()\n```\n\nif a:\n\n    b()\n\nlast\n';

describe('--code', () => {
  test.for(commands)('of %s prints only the fenced blocks', async ([command, reply], { server, cli }) => {
    server.reply({ body: reply(answer) });
    expect(await cli([command, 'hi', '--code'])).toMatchObject({ code: 0, stdout: code, stderr: '' });
  });

  test('--code of a stream prints the code at its end', async ({ server, cli }) => {
    const events = ['```sh\nec', 'ho hi\n`', '``\nbye'].map((text) => `data: ${JSON.stringify(textReply(text))}\n\n`);
    server.reply({ headers: { 'content-type': 'text/event-stream' }, body: events.join('') });
    const writes: string[] = [];
    const ran = await cli(['text', 'hi', '--stream', '--code'], { onStdout: (text) => void writes.push(text) });
    expect(ran).toMatchObject({ code: 0, stdout: 'echo hi\n', stderr: '' });
    expect(writes).toEqual(['echo hi\n']);
  });

  test('--code prints nothing of an answer that was cut, and keeps the answer', async ({ server, cli }) => {
    server.reply({ body: cut('```sh\nrm -rf /tmp/x') });
    const ran = await cli(['text', 'hi', '--code']);
    expect(ran).toMatchObject({ code: 11, stdout: '' });
    const [, kept = ''] = /gateway-cli recover (\S+)/.exec(ran.stderr) ?? [];
    expect(await cli(['recover', kept])).toMatchObject({ code: 0, stdout: '```sh\nrm -rf /tmp/x\n' });
  });

  test('is exit 10 for an answer without a block', async ({ server, cli }) => {
    server.reply({ body: textReply('no code\n\n    indented\n\n```\n```') });
    const ran = await cli(['text', 'hi', '--code']);
    expect(ran).toMatchObject({ code: 10, stdout: '' });
    expect(ran.stderr).toContain('no fenced code block');
  });

  test('-o writes the code to a file, and takes no name that is in use', async ({ server, cli }) => {
    const cwd = scratchFolder();
    server.reply({ body: textReply(answer) });
    const ran = await cli(['text', 'hi', '--code', '-o', 'a.sh'], { cwd, tty: { stderr: true } });
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: 'code saved: a.sh\n' });
    expect(readFileSync(join(cwd, 'a.sh'), 'utf8')).toBe(code);
    const taken = await cli(['text', 'hi', '--code', '-o', 'a.sh'], { cwd });
    expect(taken).toMatchObject({ code: 2, stdout: '' });
    expect(taken.stderr).toContain('--force');
    mkdirSync(join(cwd, 'sub'));
    expect(await cli(['text', 'hi', '--code', '-o', 'sub'], { cwd })).toMatchObject({ code: 2 });
    server.reply({ body: textReply('```\nnew\n```') });
    expect(await cli(['text', 'hi', '--code', '-o', 'a.sh', '-f', '--json'], { cwd })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, 'a.sh'), 'utf8')).toBe('new\n');
  });
});
