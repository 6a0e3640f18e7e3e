import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { canaryKey, eventStream, imageReply, messageEvents, test } from '../../helpers/with-server.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Names and contents of all files below a folder. */
function allIn(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return [...names, ...files.map((name) => readFileSync(join(folder, name), 'utf8'))].join('\n');
}

test('a gateway that echoes the key brings it into no sidecar and no name of a picture', async ({ server, cli }) => {
  const echo = { responseId: canaryKey, modelVersion: `m ${canaryKey}`, usageMetadata: { note: canaryKey } };
  server.reply({ body: { ...imageReply({ mimeType: 'image/png', data: dot }), ...echo } });
  const ran = await cli(['image', 'gen', 'x', '--sidecar', '-o', 'a-{id}-{n}.{ext}']);
  expect(ran.code).toBe(0);
  const names = readdirSync(ran.cwd).toSorted();
  expect(names).toEqual(['a-redacted-1.png', 'a-redacted-1.png.json']);
  const sidecar = JSON.parse(readFileSync(join(ran.cwd, 'a-redacted-1.png.json'), 'utf8')) as object;
  expect(sidecar).toMatchObject({ responseId: '(redacted)', modelVersion: 'm (redacted)', prompt: 'x' });
  expect(allIn(ran.cwd) + ran.stdout + ran.stderr).not.toContain(canaryKey);
});

test('a sidecar names its picture as it is called, also where the name holds the key', async ({ server, cli }) => {
  server.reply({ body: imageReply({ mimeType: 'image/png', data: dot }) });
  const ran = await cli(['image', 'gen', 'x', '--sidecar', '-o', `${canaryKey}.png`]);
  expect(ran.code).toBe(0);
  const sidecar = JSON.parse(readFileSync(join(ran.cwd, `${canaryKey}.png.json`), 'utf8')) as object;
  expect(sidecar).toMatchObject({ image: { path: `${canaryKey}.png` } });
});

test('a picture that holds the bytes of the key stays whole in a session', async ({ server, cli }) => {
  const cwd = scratchFolder();
  const bytes = Buffer.concat([Buffer.from(dot, 'base64'), Buffer.from(canaryKey)]);
  writeFileSync(join(cwd, 'dot.png'), bytes);
  server.reply({ body: eventStream(...messageEvents('a dot')) });
  const argv = ['chat', 'what is it?', '-i', 'dot.png', '--session', './talk.jsonl'];
  expect((await cli(argv, { cwd })).code).toBe(0);
  const kept = readFileSync(join(cwd, 'talk.jsonl'), 'utf8');
  expect(kept).toContain(JSON.stringify(bytes.toString('base64')));
});

test('a gateway that echoes the key brings it into no session, and into no later request', async ({ server, cli }) => {
  const cwd = scratchFolder();
  for (const answer of [`the key is ${canaryKey}.`, 'fine']) {
    server.reply({ body: eventStream(...messageEvents(answer)) });
    expect((await cli(['chat', 'what is it?', '--session', './talk.jsonl'], { cwd })).code).toBe(0);
  }
  expect(allIn(cwd)).not.toContain(canaryKey);
  const [, second] = server.requests;
  expect(second?.json()).toMatchObject({
    messages: [
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'the key is (redacted).' }] },
      { role: 'user' },
    ],
  });
});
