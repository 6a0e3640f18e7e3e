import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import { bash, folder, serve } from './program.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const warning =
  'gateway-cli: warning: stdout is closed or discarded, so the answer is kept nowhere; > <file> keeps it\n';
const stream = { headers: { 'content-type': 'text/event-stream' }, body: eventStream(...messageEvents('Hello')) };
const text = { body: textReply('Hello') };
const picture = { body: imageReply({ mimeType: 'image/png', data: dot }) };

describe('a stdout that is closed', () => {
  const closed: [argv: string, reply: object][] = [
    ['text x', text],
    ['text x --json', text],
    ['text x --raw', text],
    ['text x <&-', text],
    ['chat x', stream],
    ['image gen x -o -', picture],
  ];

  test.each(closed)('%s >&- says that nothing keeps the answer', async (argv, reply) => {
    const server = await serve();
    server.reply(reply);
    expect(await bash(`$CLI ${argv} >&-`, server)).toMatchObject({ code: 0, stdout: '', stderr: warning });
  });

  test('an answer that the shell discards needs no warning', async () => {
    const server = await serve();
    server.reply(text);
    server.reply(stream);
    expect(await bash('$CLI text x > /dev/null && $CLI chat x > /dev/null', server)).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  test('an answer that goes to a file needs no stdout', async () => {
    const server = await serve();
    server.reply(text);
    expect(await bash('$CLI text x -q -o answer.txt >&- && cat answer.txt', server)).toMatchObject({
      code: 0,
      stdout: 'Hello\n',
      stderr: '',
    });
  });

  test('an answer that a session keeps needs no stdout', async () => {
    const server = await serve();
    server.reply(stream);
    expect(await bash('$CLI chat x --session ./talk.jsonl >&- && grep -c Hello talk.jsonl', server)).toMatchObject({
      code: 0,
      stdout: '1\n',
    });
  });

  test('a picture needs no stdout', async () => {
    const server = await serve();
    server.reply(picture);
    const cwd = folder();
    expect(await bash('$CLI image gen x >&-', server, { cwd })).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(cwd)).toContain('image-1.png');
  });

  test('pictures that are left when a reader closes it are kept for gateway-cli recover', async () => {
    const server = await serve();
    const image = { mimeType: 'image/png', data: dot };
    server.reply({ body: imageReply(image, image, image) });
    const cwd = folder();
    const script =
      '($CLI image gen x -o q/; echo $? > code) | true; cat code; $CLI recover "$HOME"/.local/state/gateway-cli/recovered/* -o rest/ -q';
    const ran = await bash(script, server, { cwd });
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^12\n/) });
    expect([...readdirSync(join(cwd, 'q')), ...readdirSync(join(cwd, 'rest'))]).toHaveLength(3);
  });
});

/** Bash that runs `$CLI "$@"` by Python, with these streams. */
function python(streams: string): string {
  return `python3 -c 'import os, subprocess, sys
null = subprocess.DEVNULL
sys.exit(subprocess.run(os.environ["CLI"].split() + sys.argv[1:], ${streams}).returncode)' "$@"`;
}

/** Bash that runs `$CLI "$@"` by Node, with these streams. */
function node(stdio: string): string {
  return `node -e 'const [program, ...argv] = process.env.CLI.split(" ").concat(process.argv.slice(1));
process.exit(require("node:child_process").spawnSync(program, argv, { stdio: ${stdio} }).status)' -- "$@"`;
}

const bare =
  'env -i HOME="$HOME" GATEWAY_BASE_URL="$GATEWAY_BASE_URL" GATEWAY_API_KEY=k GATEWAY_MODEL=m GATEWAY_IMAGE_MODEL=m';

/** Who keeps an answer nowhere but can be told so. */
const told: [name: string, body: string][] = [
  ['Python', python('stdin=null, stdout=null')],
  ['Node', node('["ignore", "ignore", "inherit"]')],
  ['a shell that opens /dev/null for reading and writing', '$CLI "$@" 0<>/dev/null 1<>/dev/null'],
];

const silent: [name: string, body: string][] = [
  ['Python', python('stdin=null, stdout=null, stderr=null')],
  ['Node', node('"ignore"')],
  ['nohup', 'nohup $CLI "$@" > /dev/null 2> /dev/null'],
  ['cron, with a bare environment', `${bare} $CLI "$@" < /dev/null > /dev/null 2>&1`],
  ['a service of systemd', '$CLI "$@" 0</dev/null 1<>/dev/null 2<>/dev/null'],
  ['a shell that closes all three', '$CLI "$@" <&- >&- 2>&-'],
];

describe('a program that discards its output can be', () => {
  test.each(told)('%s, and is told that nothing keeps the answer', async (_, body) => {
    const server = await serve();
    server.reply(text);
    server.reply(stream);
    server.reply(text);
    const script = `run() { ${body}; }; run text hi && run chat hi --no-save && run text hi -q -o x.txt && cat x.txt`;
    expect(await bash(script, server)).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: warning + warning });
  });

  test.each(silent)('%s, for stdin and stderr, too', async (_, body) => {
    const server = await serve();
    server.reply(text);
    server.reply(picture);
    expect(await bash(`run() { ${body}; }; run text hi && run image gen x -o x.png && ls`, server)).toMatchObject({
      code: 0,
      stdout: 'x.png\n',
      stderr: '',
    });
  });
});
