import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLineWriter } from '../../src/cli/output/csv.ts';
import { readFailedReply } from '../../src/library/formats/failure.ts';
import { DataUrlSplitter } from '../../src/library/client/text-files.ts';
import { Secret, createRedactor } from '../../src/cli/settings/redact.ts';
import { escapeForTerminal, escapeLine } from '../../src/cli/terminal/escape.ts';
import { eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import { isFull } from '../helpers/full.ts';
import { run } from '../helpers/run.ts';
import { ask, folder, serve } from './program.ts';

const nowhere = { url: 'http://127.0.0.1:1' };
const ok = { body: textReply('Hello') };

describe('prototype pollution', () => {
  const poison = '{"__proto__":{"polluted":"yes","allowHttp":true},"constructor":{"prototype":{"polluted":"yes"}}}';
  const recovery =
    '{"schema":"gateway-cli/recovery@1","__proto__":{"polluted":1},"document":["{\\"__proto__\\":{\\"polluted\\":1}}"]}';

  /** What every object has since then, which is taken away again: other tests share the process. */
  function takePollution(): unknown {
    const { polluted } = Object.prototype as { polluted?: unknown };
    for (const name of ['polluted', 'allowHttp']) Reflect.deleteProperty(Object.prototype, name);
    return polluted;
  }

  test.each([
    ['a config', 2, ['text', 'x'], `{"profiles":${poison}}`],
    ['a profile', 2, ['text', 'x'], `{"profiles":{"default":${poison}}}`],
    ['--body', 0, ['text', 'x', '--dry-run', '--body', 'file.json'], poison],
    [
      '--set',
      2,
      ['text', 'x', '--dry-run', '--set', '__proto__.polluted=yes', '--set', 'constructor.prototype.polluted=yes'],
      '{}',
    ],
    [
      '--set below JSON',
      2,
      ['text', 'x', '--dry-run', '--set', `a=${poison}`, '--set', 'a.__proto__.polluted=yes'],
      '{}',
    ],
    ['a recovery file', 0, ['recover', 'file.json', '--json'], recovery],
  ])('input cannot change prototypes by %s', async (name, code, argv, file) => {
    const cwd = folder();
    writeFileSync(join(cwd, 'file.json'), file, { mode: 0o600 });
    const env = /^a (?:config|profile)$/.test(name) ? { GATEWAY_CONFIG: 'file.json' } : {};
    const ran = await ask(argv, nowhere, { cwd, env });
    expect([ran.code, takePollution()]).toEqual([code, undefined]);
  });

  test('--set of JSON sends no key of a prototype', async () => {
    const ran = await ask(['text', 'x', '--dry-run', '--json', '--set', `a=${poison}`, '--set', 'a.b=1'], nowhere);
    expect((JSON.parse(ran.stdout) as { body: { a: object } }).body.a).toEqual({ b: 1 });
  });

  test.each(['constructor', 'toString', '__proto__'])('an event of the type %s means nothing', async (type) => {
    const server = await serve();
    const [start = {}, ...others] = messageEvents('Hello');
    server.reply({
      headers: { 'content-type': 'text/event-stream' },
      body: eventStream(start, { type }, ...others),
    });
    expect(await ask('chat x', server)).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
  });

  test('a reply sends no key of a prototype', async () => {
    const server = await serve();
    const body = JSON.stringify(textReply('Hello')).replace(
      '{',
      `{"__proto__":{"polluted":1},"usageMetadata":${poison},`,
    );
    server.reply({ body });
    expect(await ask('text x --json', server)).toMatchObject({ stderr: '' });
    expect(takePollution()).toBe(undefined);
  });
});

/** The splitter that has read a text. */
function splitterOf(text: string): DataUrlSplitter {
  const splitter = new DataUrlSplitter();
  splitter.feed(text);
  return splitter;
}

/** Work per character must not grow with the text: ten times the text may take at most some twenty times as long. */
describe('ReDoS: hostile text costs no more than its length', () => {
  const bodyOf = (body: string) => readFailedReply({ status: 400, headers: {}, body, format: 'content' });
  const targets: [string, (text: string) => unknown][] = [
    ['escapeForTerminal', escapeForTerminal],
    ['escapeLine', escapeLine],
    ['the redactor', createRedactor([new Secret('aaaaaaaaaaaaaaaaab'), new Secret('a.*+b(c')])],
    ['data URLs in text', (text) => splitterOf(text).finish()],
    ['an error body', bodyOf],
    ['an error body in JSON', (text) => bodyOf(JSON.stringify({ error: { message: text } }))],
    ['a cell of a table', (text) => createLineWriter(',', '\n')([text])],
  ];
  const hostile: [string, (length: number) => string][] = [
    ['blanks', (length) => ' '.repeat(length)],
    ['line breaks', (length) => `${'\r\n\t '.repeat(length / 4)}x`],
    ['nearly the key', (length) => 'a'.repeat(length)],
    ['open types', (length) => 'data:image/'.repeat(length / 11)],
    ['open pictures', (length) => '![a](data:image/png;base64,'.repeat(length / 27)],
    ['brackets', (length) => '!['.repeat(length / 2)],
    ['controls', (length) => '\u001b\r'.repeat(length / 2)],
    ['tabs behind a semicolon', (length) => `;${'\t'.repeat(length)}`],
  ];
  const cases = targets.flatMap(([name, act]) => hostile.map(([what, make]) => [name, what, act, make] as const));

  test.each(cases)('%s on %s', (_name, _what, act, make) => {
    const took = (length: number) => {
      const text = make(length);
      const tries = [0, 1, 2].map(() => {
        const from = process.cpuUsage();
        act(text);
        const { user, system } = process.cpuUsage(from);
        return (user + system) / 1000;
      });
      return Math.min(...tries);
    };
    // A text of which each character costs more must not come to the long one: that would take minutes.
    took(10_000);
    expect(took(100_000)).toBeLessThan(took(10_000) * 40 + 200);
    if (isFull) expect(took(1_000_000)).toBeLessThan(took(100_000) * 40 + 200);
  });
});

test.each([
  ['a b', '/v1beta/models/a%20b:generateContent'],
  ['team/m&key=x', '/v1beta/models/team%2Fm%26key%3Dx:generateContent'],
  ['x%2e%2e', '/v1beta/models/x%252e%252e:generateContent'],
  ['%2e%2e', '/v1beta/models/%252e%252e:generateContent'],
  ['m:streamGenerateContent', '/v1beta/models/m%3AstreamGenerateContent:generateContent'],
])('model or path injection: %s is one encoded segment', async (model, path) => {
  const server = await serve();
  server.reply(ok);
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456' };
  expect((await run(['text', 'x', '-m', model], { env })).code).toBe(0);
  expect(server.requests.map((request) => request.path)).toEqual([path]);
});

test.each(['..', '.', '../../x', 'a/../b', '../../x?y', 'm?y', 'm#y', 'a\nb', ''])(
  'model or path injection: %j is exit 2',
  async (model) => {
    const env = { GATEWAY_BASE_URL: nowhere.url, GATEWAY_API_KEY: 'k-123456' };
    expect((await run(['text', 'x', '-m', model], { env })).code).toBe(2);
  },
);

test('a picture named by a hostile model and prompt stays in its folder', async () => {
  const server = await serve();
  server.reply({
    body: imageReply({
      mimeType: 'image/png',
      data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    }),
  });
  const words = ['image', 'gen', '../../../etc/passwd', '-m', 'team/m:1', '-o', '{slug}-{model}.{ext}'];
  const ran = await ask(words, server);
  expect(ran.code).toBe(0);
  expect(ran.stdout).not.toMatch(/^\.|\//);
});
