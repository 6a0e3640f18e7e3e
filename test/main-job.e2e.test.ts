import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readme } from './helpers/readme.ts';
import { createPause, startScriptedServer } from './helpers/scripted-server.ts';
import { bin, shell } from './helpers/spawn.ts';
import { eventStream, messageEvents, textReply } from './helpers/with-server.ts';

const root = join(import.meta.dirname, '..');

describe('the built program', () => {
  test('does the main job as the README has it: one picture of 1360×768, its path on stdout', async () => {
    const command = /^npm ci && (node bin\/gateway-cli\.js image gen .*)$/m.exec(readme)?.[1] ?? '';
    const ran = await shell(command.replace('bin/gateway-cli.js', bin));
    expect(ran).toMatchObject({ code: 0, stdout: 'image-1.png\n', stderr: '' });
    const png = readFileSync(join(ran.cwd, 'image-1.png'));
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1360, 768]);
  });

  test('prints a version, and help without loading a command', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(await shell('node $BIN --version')).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(await shell('node $BIN --help')).toMatchObject({ code: 0, stderr: '' });
  });

  test.each(['config path', 'sessions list'])('%s takes empty variables for folders as unset', async (words) => {
    const unset = await shell(`unset HOME; node $BIN ${words}`);
    const empty = await shell(`HOME= XDG_CONFIG_HOME= XDG_STATE_HOME= node $BIN ${words}`);
    expect({ ...empty, cwd: '' }).toEqual({ ...unset, cwd: '' });
  });

  test('ends quietly when its reader has enough', async () => {
    const ran = await shell('node $BIN chat --offline --prompt hi | head -c 20; echo "${PIPESTATUS[*]}"');
    expect(ran.stderr).toBe('');
    expect(ran.stdout).toMatch(/^.{20}(141|0) 0\n$/s);
  });

  test('gives one JSON document that jq takes', async () => {
    expect(await shell('node $BIN text --offline hi --json | jq .ok')).toMatchObject({
      code: 0,
      stdout: 'true\n',
      stderr: '',
    });
  });

  test('has the first delta on stdout before the server sends the last', async () => {
    const server = await startScriptedServer();
    const pause = createPause();
    const events = messageEvents('first ', 'last').map((event) => eventStream(event));
    server.reply({ chunks: [events.slice(0, 3).join(''), pause.until, events.slice(3).join('')] });
    const seen: string[] = [];
    const ran = await shell('node $BIN chat hi -m m', {
      env: { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456' },
      onStdout(text) {
        seen.push(text);
        pause.release();
      },
    });
    await server.close();
    expect(ran).toMatchObject({ code: 0, stdout: 'first last\n', stderr: '' });
    expect(seen[0]).toBe('first ');
  });

  test('--curl prints a command that really sends the request, the key from the environment', async () => {
    const server = await startScriptedServer();
    server.always({ body: textReply('Hello') });
    const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456' };
    const script = `node $BIN text "it's \\"quoted\\" \\$HOME" -m m --curl > send.sh && grep -c k-123456 send.sh; bash send.sh | jq -r '.responseId'`;
    expect(await shell(script, { env })).toMatchObject({ code: 0, stdout: '0\nr-1\n', stderr: '' });
    expect((await shell('node $BIN text "it\'s \\"quoted\\" \\$HOME" -m m', { env })).code).toBe(0);
    const [byCurl, byUs] = server.requests;
    expect(byCurl?.json()).toEqual(byUs?.json());
    expect(byCurl?.headers['x-vendor-a-api-key']).toBe('k-123456');
    expect(byCurl?.headers['content-type']).toBe('application/json');
    await server.close();
  });

  test('--curl of an edit streams the image from its file', async () => {
    const server = await startScriptedServer();
    server.always({ body: textReply('no picture') });
    const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'k-123456' };
    const ran = await shell(
      'node $BIN image gen --offline x --size 512 -o in.png && node $BIN image edit -i in.png "gray it" -m m --curl > send.sh; bash send.sh >/dev/null',
      { env },
    );
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const image = readFileSync(join(ran.cwd, 'in.png')).toString('base64');
    expect(server.requests[0]?.json()).toMatchObject({
      contents: [{ parts: [{ text: 'gray it' }, { inlineData: { mimeType: 'image/png', data: image } }] }],
    });
    expect(server.requests[0]?.headers['authorization']).toBe('Bearer k-123456');
    await server.close();
  });

  test('pipes a picture from one command into the next', async () => {
    // Quiet: on a slow machine the second one would report that it waits.
    const ran = await shell(
      'node $BIN image gen "a cat" --size 512 --offline -o - | node $BIN image edit -q --offline -i - "make it gray" -o gray.png',
    );
    expect(ran).toMatchObject({ code: 0, stdout: 'gray.png\n', stderr: '' });
  });
});
