import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Row, recordedRun, wholeMessage } from './helpers/recorded-run.ts';
import {
  blocked,
  call,
  calls,
  ends,
  events,
  badRequest,
  markdownPicture,
  open,
  parts,
  piece,
  pieces,
  png,
  refusal,
  refusals,
  rest,
  several,
  start,
  tail,
  thought,
  toolUse,
} from './helpers/replies.ts';
import { cut } from './helpers/scripted-server.ts';
import { eventStream, imageReply, messageEvents, textReply } from './helpers/with-server.ts';

/** The same reply through several lines. */
function each(about: string, reply: object | string, ...lines: readonly (string | Row)[]): Row[] {
  return lines.map((line) => ({ about, replies: [reply], ...(typeof line === 'string' ? { line } : line) }));
}

const jobFile = `${JSON.stringify({ prompt: 'hi' })}\n${JSON.stringify({ id: 'pic', command: 'image gen', prompt: 'a dot' })}\n${JSON.stringify({ id: 'talk', command: 'chat', prompt: 'hi' })}\n${JSON.stringify({ id: 'bad', prompt: 'no' })}\n`;
const batch = 'batch jobs.jsonl -o out --concurrency 1';
const batchReplies = [textReply('Hello'), imageReply(png), wholeMessage(), badRequest];
const prices = '{"m":{"input":"1","output":"2","currency":"USD"}}';

const badBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '****' } };
/** Replies of both formats, whole and streamed, with a picture that is not Base64: which error counts where they break off? */
const breaking: readonly (readonly [string, string, string])[] = [
  [
    'text hi --json',
    'application/json',
    JSON.stringify(parts([{ text: 'See' }, { inlineData: { ...png, data: '****' } }])),
  ],
  ['image gen hi --json', 'application/json', JSON.stringify(imageReply({ ...png, data: '****' }, png))],
  [
    'text hi --stream --json',
    'text/event-stream',
    `data: ${JSON.stringify(piece('See'))}\n\ndata: ${JSON.stringify(imageReply({ ...png, data: '****' }))}\n\n`,
  ],
  [
    'chat hi --no-stream --json',
    'application/json',
    JSON.stringify(wholeMessage({ content: [{ type: 'text', text: 'See' }, badBlock] })),
  ],
  [
    'chat hi --json',
    'text/event-stream',
    eventStream(
      start,
      open,
      ...tail.slice(0, 3),
      { type: 'content_block_start', index: 1, content_block: badBlock },
      { type: 'content_block_stop', index: 1 },
      ...ends('end_turn'),
    ),
  ],
];

const cuts: readonly Row[] = breaking.flatMap(([line, type, body]) =>
  [0, 0.1, 0.5, 0.9, 1].map((share) => {
    const at = Math.floor(body.length * share);
    const chunks = [body.slice(0, at), cut].slice(at === 0 ? 1 : 0, share === 1 ? 1 : 2);
    return { about: `${at} of ${body.length} bytes`, line, replies: [{ headers: { 'content-type': type }, chunks }] };
  }),
);

const tables: Readonly<Record<string, readonly (string | Row)[]>> = {
  text: [
    ...each(
      'ordinary',
      textReply('Hello'),
      'text hi',
      'text hi --json',
      'text hi --field usage.totalTokens',
      'text hi --field usage.none',
      'text hi --raw',
      'text hi -q',
      `text hi --json --prices '${prices}'`,
    ),
    ...each('ends with a line break', textReply('Hello\n'), 'text hi'),
    ...each(
      'code',
      textReply('See:\n```sh\nls -l\n```\nand\n```js\n1\n```\n'),
      'text hi --code',
      'text hi --code -o code.txt',
      'text hi',
    ),
    ...each(
      'streamed',
      pieces(piece('Hel'), piece('lo', { finishReason: 'STOP' })),
      'text hi --stream',
      'text hi --stream --jsonl',
      'text hi --stream --json',
      'text hi',
    ),
    ...each(
      'stream without a reason',
      pieces(piece('Hel'), piece('lo')),
      'text hi --stream',
      'text hi --stream --jsonl',
      'text hi --stream --json',
    ),
    ...each(
      'stream with an error in the middle',
      pieces(piece('Hel'), { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } }),
      'text hi --stream',
      'text hi --stream --json',
    ),
    ...each('whole reply to --stream', textReply('Hello'), 'text hi --stream --jsonl'),
    ...each('list of pieces', [piece('Hel'), piece('lo', { finishReason: 'STOP' })], 'text hi', 'text hi --json'),
    ...each('three candidates, one stopped', several, 'text hi --candidates 3', 'text hi --candidates 3 --json'),
    ...each('safety block', blocked, 'text hi', 'text hi --json'),
    ...each(
      'cut by the limit',
      parts([{ text: 'Hel' }], { finishReason: 'MAX_TOKENS' }),
      'text hi',
      'text hi --require-complete',
      'text hi --json',
    ),
    ...each('unknown reason', parts([{ text: 'Hel' }], { finishReason: 'NEW_REASON' }), 'text hi'),
    ...each('thoughts', parts([{ text: 'Hm.', thought: true }, { text: 'Hello' }]), 'text hi', 'text hi --json'),
    ...each('a call', parts([call]), 'text hi', 'text hi --json'),
    ...each(
      'a picture beside text',
      parts([{ text: 'See' }, { inlineData: png }]),
      'text hi',
      'text hi --json',
      'text hi -o pic.png',
    ),
    ...each('a picture in Markdown', textReply(markdownPicture), 'text hi', 'text hi --json'),
    ...each(
      'a streamed picture in Markdown',
      pieces(piece(markdownPicture.slice(0, 40)), piece(markdownPicture.slice(40), { finishReason: 'STOP' })),
      'text hi --stream',
      'text hi --stream --jsonl',
    ),
    ...each('empty', textReply(''), 'text hi', 'text hi --json'),
    ...each('not JSON', 'Hello', 'text hi', 'text hi --json'),
    ...each('cut JSON', '{"candidates":[{"content":{"parts":[{"text":"Hel', 'text hi', 'text hi --json'),
    ...each(
      'an answer that fits a schema',
      textReply('{"a":1}'),
      { line: 'text hi --schema s.json --json', files: { 's.json': '{"type":"object","required":["a"]}' } },
      { line: 'text hi --schema s.json', files: { 's.json': '{"type":"object","required":["b"]}' } },
    ),
  ],
  image: [
    ...each(
      'a picture',
      imageReply(png),
      'image gen "a dot"',
      'image gen "a dot" --json',
      'image gen "a dot" -o {slug}-{n}.{ext} --sidecar',
      'image gen "a dot" -o -',
      'image gen "a dot" --aspect 16:9',
      'image gen "a dot" --aspect 16:9 --strict',
      'image gen "a dot" -o dot.jpg',
    ),
    ...each(
      'two pictures of another type',
      imageReply({ ...png, mimeType: 'image/jpeg' }, png),
      'image gen "a dot"',
      'image gen "a dot" --max-images 1 --json',
    ),
    ...each('a draft before it', imageReply({ ...png, thought: true }, png), 'image gen "a dot" --json'),
    ...each(
      'bad Base64',
      imageReply({ mimeType: 'image/png', data: '****' }),
      'image gen "a dot"',
      'image gen "a dot" --json',
    ),
    ...each('words', textReply('I can not draw.'), 'image gen "a dot"', 'image gen "a dot" --json'),
    ...each('Markdown', textReply(markdownPicture), 'image gen "a dot" --json'),
    {
      about: 'one of two fails',
      line: 'image gen "a dot" -n 2 --concurrency 1 --json',
      replies: [imageReply(png), badRequest],
    },
  ],
  chat: [
    ...each(
      'ordinary',
      events(start, open, ...tail),
      'chat hi',
      'chat hi --json',
      'chat hi --jsonl',
      'chat hi --field responseId',
      'chat hi --raw',
    ),
    ...each('whole', wholeMessage(), 'chat hi --no-stream', 'chat hi --no-stream --json', 'chat hi --jsonl'),
    ...each(
      'thinking and a call',
      events(start, ...thought, ...toolUse, ...ends('tool_use')),
      'chat hi',
      'chat hi --thinking',
      'chat hi --json',
      'chat hi --jsonl',
    ),
    ...each(
      'cut by the limit',
      events(start, ...rest.slice(0, 4), ...ends('max_tokens')),
      'chat hi',
      'chat hi --require-complete',
    ),
    ...each('without its end', events(start, open, ...tail.slice(0, 1)), 'chat hi', 'chat hi --json'),
    ...each(
      'an error event',
      events(start, open, ...tail.slice(0, 1), {
        type: 'error',
        error: { type: 'overloaded_error', message: 'Overloaded' },
      }),
      'chat hi',
      'chat hi --json',
      'chat hi --jsonl',
    ),
    ...each('refusal', refusal, 'chat hi --no-stream', 'chat hi --no-stream --json'),
    ...each(
      'a picture in Markdown',
      wholeMessage({ content: [{ type: 'text', text: markdownPicture }] }),
      'chat hi --no-stream',
      'chat hi --no-stream --json',
    ),
    ...each(
      'a streamed picture in Markdown',
      events(...messageEvents(markdownPicture.slice(0, 40), markdownPicture.slice(40))),
      'chat hi',
      'chat hi --jsonl',
    ),
    {
      about: 'tool loop',
      line: 'chat hi --no-stream --tools tools.json --tool-exec "look=sh look.sh" --json',
      replies: [calls],
      files: {
        'tools.json': '[{"name":"look","input_schema":{"type":"object"}}]',
        'look.sh': 'cat >/dev/null; echo rain\n',
      },
      env: { PATH: '/usr/bin:/bin' },
    },
    {
      about: 'session',
      line: ['chat "my name is Al" --session ./s.jsonl', 'chat "who am I?" --session ./s.jsonl --json'],
    },
    { about: 'conversation', line: 'chat', typed: ['hello', '/help', '/usage'] },
  ],
  cuts,
  errors: refusals.flatMap(([command, reply]) =>
    each('refused', reply, `${command} hi --retries 0`, `${command} hi --retries 0 --json`),
  ),
  batch: [
    { about: 'each command, one refused', line: batch, files: { 'jobs.jsonl': jobFile }, replies: batchReplies },
    {
      about: 'again, and reports',
      line: [
        batch,
        `${batch} --retry failed`,
        'batch status out',
        'batch status out --json',
        'batch export out --format jsonl',
        'batch export out --format md',
        'batch export out --format junit',
      ],
      files: { 'jobs.jsonl': jobFile },
      replies: batchReplies,
    },
    { line: 'batch jobs.jsonl -o out --dry-run', files: { 'jobs.jsonl': jobFile } },
  ],
  settings: [
    'doctor --live',
    'doctor --live --json',
    'models',
    'models --json',
    'config list',
    'config list --json',
    'text hi --dry-run',
    'text hi --dry-run --json',
    'chat hi --curl',
  ],
};

for (const [name, rows] of Object.entries(tables)) {
  test(`${name}: outputs are those of test/fixtures/outputs/${name}.txt`, async () => {
    const recorded: string[] = [];
    for (const row of rows) recorded.push((await recordedRun(typeof row === 'string' ? { line: row } : row)).output);
    await expect(recorded.join('')).toMatchFileSnapshot(join(import.meta.dirname, `fixtures/outputs/${name}.txt`));
  });
}
