import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { isFull } from '../helpers/full.ts';
import type { ReceivedRequest } from '../helpers/request-reader.ts';
import { cut, type ScriptedReply } from '../helpers/scripted-server.ts';
import { eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import { ask, bash, folder, serve } from './program.ts';

/** Its URL-encoded and Base64 forms differ from itself, and none of them occurs by chance. */
const key = 'canary+9f/3a=7c51&secret';
const forms = [
  key,
  encodeURIComponent(key),
  ...[0, 1, 2].map((lead) =>
    Buffer.from(`${' '.repeat(lead)}${key}`)
      .toString('base64')
      .slice(lead === 0 ? 0 : 4, -6),
  ),
];

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = imageReply({ mimeType: 'image/png', data: dot });
const [start = {}] = messageEvents();
const call = { type: 'tool_use', id: 't1', name: 'show', input: {} };
const stream = eventStream(...messageEvents('Hello'));
const text = { body: textReply('Hello') };
const calls = {
  body: eventStream(
    start,
    { type: 'content_block_start', index: 0, content_block: call },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    { type: 'message_stop' },
  ),
};
const chat = { headers: { 'content-type': 'text/event-stream' }, body: stream };

/** A failure in which the gateway gives back all that it got: header, body, request id, address. */
function echo(status: number, more: Record<string, string> = {}) {
  return ({ headers }: ReceivedRequest): ScriptedReply => {
    const sent = headers['x-vendor-a-api-key'] ?? headers['x-api-key'] ?? headers['authorization'] ?? '';
    const value = sent.replace(/^Bearer /, '');
    const error = { message: `no: ${value} ${encodeURIComponent(value)} ${Buffer.from(value).toString('base64')}` };
    return { status, headers: { 'request-id': value, 'x-echo': sent, ...more }, body: { error } };
  };
}

type Answer = ScriptedReply | ReturnType<typeof echo>;
const failing = { status: 503, headers: { 'retry-after': '0' }, body: {} };
const cases: [string, Answer[]][] = [
  ['$CLI text x', [text]],
  ['$CLI text x -v --debug', [text]],
  ['$CLI text x --json', [text]],
  ['$CLI text x --raw', [text]],
  ['$CLI text x -v', [failing, text]],
  ['$CLI text x --dry-run; $CLI text x --dry-run --json; $CLI text x --curl; $CLI chat x --curl', []],
  ['$CLI chat x -v --session talk; $CLI sessions show talk; $CLI sessions export talk', [chat]],
  ['$CLI chat x --jsonl', [chat]],
  [
    `echo '[{"name":"show","input_schema":{"type":"object"}}]' > tools.json; $CLI chat x -v --tools tools.json --tool-exec show=env`,
    [calls, chat],
  ],
  ['$CLI image gen x -v --sidecar', [{ body: picture }]],
  ['$CLI image gen x --auth api-key -v', [{ body: picture }]],
  [`printf %s '${dot}' | base64 -d > in.png; $CLI image edit x -i in.png -v --sidecar`, [{ body: picture }]],
  ['$CLI text x > /dev/full', [text]],
  ['$CLI text x --record tape -v; $CLI text x --replay tape -v', [text]],
  ['$CLI chat x --record tape', [chat]],
  ...(isFull ? [400, 401, 403, 404, 429, 500] : [401]).flatMap((status): [string, Answer[]][] => [
    [`$CLI text x -v --debug --json --retries 0`, [echo(status)]],
    [`$CLI chat x -v --debug --retries 0`, [echo(status)]],
    [`$CLI image gen x --record tape --retries 0`, [echo(status)]],
  ]),
  ['$CLI text x -v --json', [echo(302, { location: 'http://127.0.0.1:1/?key=x' })]],
  ['GITHUB_ACTIONS=true $CLI text x --json', [echo(400)]],
  ['$CLI text x --debug', [{ body: '<html>' }]],
  ['$CLI text x --debug', [{ raw: [cut] }]],
  ['$CLI text x --debug --timeout 1s', [{ raw: [new Promise(() => undefined)] }]],
  ['$CLI chat x --debug', [{ chunks: [stream.slice(0, 300), cut] }]],
  ['$CLI text x --debug -v --retries 0 --base-url http://127.0.0.1:1', []],
  ['$CLI text x --debug -v --base-url http://nope.invalid', []],
  ['$CLI text x --debug -v --model=; $CLI text --debug; $CLI text x --nope=y; $CLI nope', []],
  ['$CLI config list; $CLI config list --json; $CLI config get apiKey; $CLI doctor --offline; $CLI doctor --json', []],
  ['$CLI config set apiKey - <<< "$GATEWAY_API_KEY" ; rm -rf "$HOME/.config"; $CLI config list', []],
  [
    `echo '{"id":"a","command":"text","prompt":"x"}' > jobs.jsonl; $CLI batch jobs.jsonl -o out -v --json; $CLI batch status out`,
    [text],
  ],
  [
    `echo '{"id":"a","command":"text","prompt":"x"}' > jobs.jsonl; $CLI batch jobs.jsonl -o out --retries 0`,
    [echo(400)],
  ],
  [
    '$CLI chat x -v > log & until grep -qs Hello log; do :; done; kill -9 $!',
    [{ chunks: [stream.slice(0, stream.indexOf('event: content_block_stop')), new Promise(() => undefined)] }],
  ],
];

/** A script of plain commands runs in this process, but for the full run. */
const plainCommands = /^\$CLI [\w ./:=-]+(?:; \$CLI [\w ./:=-]+)*$/;

describe('key in --verbose, dumps, crashes, recordings, recovery files, sessions, User-Agent, URL', () => {
  test.each(cases)('%s', async (script, replies) => {
    const server = await serve();
    for (const reply of replies) server.reply(reply);
    server.always({ status: 400, headers: { 'x-should-retry': 'false' }, body: { error: { message: 'not now' } } });
    const cwd = folder();
    const env = { GATEWAY_API_KEY: key, TMPDIR: cwd, XDG_STATE_HOME: join(cwd, 'state') };
    // Within this process the program asks the process itself for the user's folders.
    for (const name of ['CONFIG', 'STATE', 'CACHE']) vi.stubEnv(`XDG_${name}_HOME`, join(cwd, 'state'));
    const plain = isFull ? undefined : plainCommands.exec(script)?.[0];
    const ran: { stdout: string; stderr: string }[] = [];
    if (plain === undefined) ran.push(await bash(script, server, { cwd, env }));
    else for (const line of plain.split('; ')) ran.push(await ask(line.replace('$CLI ', ''), server, { cwd, env }));
    const printed = ran.flatMap(({ stdout, stderr }) => [['stdout', stdout] as const, ['stderr', stderr] as const]);
    for (const [place, content] of [...printed, ...filesIn(cwd)])
      expect([place, forms.filter((form) => content.includes(form))]).toEqual([place, []]);
    for (const request of server.requests) {
      expect(request.path + request.text() + (request.headers['user-agent'] ?? '')).not.toContain('canary');
    }
  });

  test('credentials unknown to the program are hidden by the names of their headers', async () => {
    const server = await serve();
    server.reply({ headers: { 'set-cookie': 'session=unknown-secret', 'x-goog-api-key': 'other-secret' }, ...text });
    const { stderr } = await ask('text x -v', server);
    expect(stderr).toMatch(/< set-cookie: \(redacted\)/);
    expect(stderr).not.toMatch(/unknown-secret|other-secret/);
  });

  test('the search finds a key that is there', () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'leak'), Buffer.from(`{"Authorization":"Bearer ${key}"}`).toString('base64'));
    const [[, content = ''] = []] = filesIn(cwd);
    expect(forms.filter((form) => content.includes(form)).length).toBeGreaterThan(0);
  });
});

function filesIn(path: string): [string, string][] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((name) => statSync(name).isFile())
    .map((name) => [name, readFileSync(name, 'latin1')]);
}
