import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { makePng } from '../../../helpers/make-png.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { test, textReply } from '../../../helpers/with-server.ts';

const key = { GATEWAY_API_KEY: 'canary-key-123456' };
const gemini = { ...key, GATEWAY_SERVICE: 'gemini' };
const openrouter = { ...key, GATEWAY_SERVICE: 'openrouter' };
const png = makePng(3, 2);
const data = png.toString('base64');
const signature = Buffer.alloc(3000, 'signed').toString('base64');

const geminiReply = (...parts: object[]): object => ({
  body: textReply('', { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }] }),
});
const drawn = { inlineData: { mimeType: 'image/png', data }, thoughtSignature: signature };
const chatReply = (message: object): object => ({
  body: {
    id: 'r',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
  },
});
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } };
const line = (prompt: string): string[] => ['chat', prompt, '--no-stream', '--session', './s.jsonl'];

describe('a picture of a session', () => {
  test('goes back to Gemini with its signature, and the session holds its path in place of its bytes', async ({
    server,
    cli,
  }) => {
    const cwd = scratchFolder();
    for (const reply of [geminiReply({ text: 'Here it is.' }, drawn), geminiReply({ text: 'Bluer.' })])
      server.reply(reply);
    expect(await cli(line('draw a sea'), { cwd, env: gemini })).toMatchObject({ code: 0, stdout: 'Here it is.\n' });
    const session = readFileSync(join(cwd, 's.jsonl'), 'utf8');
    expect([session.includes(data), session.includes(signature), session.includes('image-1.png')]).toEqual([
      false,
      true,
      true,
    ]);
    expect(await cli(line('bluer'), { cwd, env: gemini })).toMatchObject({ code: 0, stdout: 'Bluer.\n', stderr: '' });
    expect(JSON.parse(String(server.requests[1]?.body))).toMatchObject({
      contents: [
        { role: 'user', parts: [{ text: 'draw a sea' }] },
        { role: 'model', parts: [{ text: 'Here it is.' }, drawn] },
        { role: 'user', parts: [{ text: 'bluer' }] },
      ],
    });
  });

  test('goes back where it came without a text, and without a signature', async ({ server, cli }) => {
    const cwd = scratchFolder();
    for (const reply of [geminiReply({ inlineData: drawn.inlineData }), geminiReply({ text: 'Bluer.' })])
      server.reply(reply);
    await cli(line('draw a sea'), { cwd, env: gemini });
    await cli(line('bluer'), { cwd, env: gemini });
    const { contents } = JSON.parse(String(server.requests[1]?.body)) as { contents: object[] };
    expect(contents[1]).toEqual({ role: 'model', parts: [{ inlineData: drawn.inlineData }] });
  });

  test('goes back to OpenRouter as it came', async ({ server, cli }) => {
    const cwd = scratchFolder();
    for (const reply of [chatReply({ content: 'Here.', images: [picture] }), chatReply({ content: 'Bluer.' })])
      server.reply(reply);
    await cli(line('draw a sea'), { cwd, env: openrouter });
    expect(await cli(line('bluer'), { cwd, env: openrouter })).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(String(server.requests[1]?.body))).toMatchObject({
      messages: [
        { role: 'user', content: 'draw a sea' },
        { role: 'assistant', content: 'Here.', images: [picture] },
        { role: 'user', content: 'bluer' },
      ],
    });
  });

  test.for([
    ['removed', (path: string) => rmSync(path)],
    ['changed', (path: string) => writeFileSync(path, makePng(9, 9))],
  ] as const)('that was %s is told, and its name is sent in its place', async ([, spoil], { server, cli }) => {
    const cwd = scratchFolder();
    for (const reply of [geminiReply(drawn), geminiReply({ text: 'Which?' })]) server.reply(reply);
    await cli(line('draw a sea'), { cwd, env: gemini });
    spoil(join(cwd, 'image-1.png'));
    const ran = await cli(line('bluer'), { cwd, env: gemini });
    expect(ran).toMatchObject({ code: 0, stdout: 'Which?\n' });
    expect(ran.stderr).toBe(
      'gateway-cli: warning: the picture "image-1.png" of an earlier answer is gone or was changed: the model does not see it\n',
    );
    const { contents } = JSON.parse(String(server.requests[1]?.body)) as { contents: object[] };
    expect(contents[1]).toEqual({ role: 'model', parts: [{ text: '[image-1.png]' }] });
  });

  test('is a name for another service, and nothing beside a text', async ({ server, cli }) => {
    const cwd = scratchFolder();
    for (const reply of [geminiReply(drawn), geminiReply({ text: 'Two.' }, drawn), chatReply({ content: 'A sea?' })])
      server.reply(reply);
    await cli(line('draw a sea'), { cwd, env: gemini });
    await cli(line('another'), { cwd, env: gemini });
    expect(await cli(line('what is it?'), { cwd, env: openrouter })).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(String(server.requests[2]?.body))).toMatchObject({
      messages: [
        { content: 'draw a sea' },
        { role: 'assistant', content: '[image-1.png]' },
        { content: 'another' },
        { role: 'assistant', content: 'Two.' },
        { content: 'what is it?' },
      ],
    });
  });

  test('is named where the session is shown, and where it is exported', async ({ server, cli }) => {
    const cwd = scratchFolder();
    server.reply(geminiReply(drawn));
    await cli(line('draw a sea'), { cwd, env: gemini });
    expect((await cli(['sessions', 'show', './s.jsonl'], { cwd })).stdout).toContain('[image image-1.png]');
    const { stdout } = await cli(['sessions', 'export', './s.jsonl', '--json'], { cwd });
    expect((JSON.parse(stdout) as { messages: object[] }).messages[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: '[image-1.png]' }],
    });
  });
});
