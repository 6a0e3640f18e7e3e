import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import { bash, folder, serve } from './program.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('a stdout that is closed', () => {
  test.each([
    ['text x'],
    ['text x --json'],
    ['text x --raw'],
    ['chat x'],
    ['image gen x -o -'],
    ['image gen x --json'],
  ])('%s >&- is an error before anything is sent', async (argv) => {
    const server = await serve();
    const ran = await bash(`$CLI ${argv} >&-`, server);
    expect(ran.stderr).toBe(
      'gateway-cli: usage: stdout is closed, so the answer would be lost\n  leave >&- out; to discard it: > /dev/null\n',
    );
    expect([ran.code, server.connections]).toEqual([2, 0]);
  });

  test('stdin and stdout closed are the same', async () => {
    const server = await serve();
    expect((await bash('$CLI text x <&- >&-', server)).code).toBe(2);
    expect(server.connections).toBe(0);
  });

  test('an answer that the shell discards is not an error', async () => {
    const server = await serve();
    server.reply({ body: textReply('Hello') });
    server.reply({ headers: { 'content-type': 'text/event-stream' }, body: eventStream(...messageEvents('Hello')) });
    expect(await bash('$CLI text x > /dev/null && $CLI chat x > /dev/null', server)).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  test('an answer that a session keeps needs no stdout', async () => {
    const server = await serve();
    server.reply({ headers: { 'content-type': 'text/event-stream' }, body: eventStream(...messageEvents('Hello')) });
    expect(await bash('$CLI chat x --session ./talk.jsonl >&- && grep -c Hello talk.jsonl', server)).toMatchObject({
      code: 0,
      stdout: '1\n',
    });
  });

  test('a picture needs no stdout', async () => {
    const server = await serve();
    server.reply({ body: imageReply({ mimeType: 'image/png', data: dot }) });
    const cwd = folder();
    expect(await bash('$CLI image gen x >&-', server, { cwd })).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(cwd)).toContain('image-1.png');
  });
});
