import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { skill, topicTexts } from './helpers/readme.ts';
import { scratchFolder } from './helpers/scratch.ts';
import type { ReceivedRequest } from './helpers/request-reader.ts';
import { type ScriptedReply, startScriptedServer } from './helpers/scripted-server.ts';
import { bin, shell } from './helpers/spawn.ts';
import { eventStream, imageReply, messageEvents, textReply } from './helpers/with-server.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Every block of shell commands in the topics and the skill that is complete: `…` is for the reader to fill in. */
const blocks = [...topicTexts, ['SKILL.md', skill] as const].flatMap(([topic, text]) =>
  [...text.matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, block = '']) => [topic, block.trimEnd()] as const)
    .filter(([, block]) => !block.includes('…')),
);

/** Answers as a gateway would, with a picture where a model of pictures is asked. */
function answer({ path }: ReceivedRequest): ScriptedReply {
  if (path === '/v1/messages') {
    return { headers: { 'content-type': 'text/event-stream' }, body: eventStream(...messageEvents('an answer')) };
  }
  return { body: path.includes('image') ? imageReply({ mimeType: 'image/png', data: dot }) : textReply('an answer') };
}

/** A folder with what the examples name, and `gateway-cli` on the path. */
function place(url: string): { cwd: string; env: Record<string, string> } {
  const cwd = scratchFolder();
  for (const folder of ['bin', 'in']) mkdirSync(join(cwd, folder));
  const program = (name: string, text: string): void => {
    writeFileSync(join(cwd, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(cwd, name), 0o755);
  };
  program('bin/gateway-cli', `exec node ${bin} "$@"`);
  program('bin/npm', 'exec gateway-cli text hi');
  program('weather.sh', 'echo sunny');
  for (const name of ['photo.jpg', 'in/7.png'])
    copyFileSync(join(import.meta.dirname, 'fixtures/dusk.png'), join(cwd, name));
  writeFileSync(join(cwd, 'sdk-script.mjs'), '');
  const price = { litellm_provider: 'openai', input_cost_per_token: 1e-7, output_cost_per_token: 4e-7 };
  writeFileSync(join(cwd, 'model_prices_and_context_window.json'), JSON.stringify({ 'some-model': price }));
  writeFileSync(join(cwd, 'tools.json'), '[{"name":"get_weather","input_schema":{"type":"object"}}]');
  const profiles = {
    work: { baseUrl: url, apiKey: 'work-key' },
    gemini: { service: 'gemini' },
    anthropic: { service: 'anthropic' },
  };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ profile: 'work', profiles }), { mode: 0o600 });
  const env = {
    PATH: `${join(cwd, 'bin')}:${process.env['PATH']}`,
    GATEWAY_CONFIG: join(cwd, 'config.json'),
    GATEWAY_BASE_URL: url,
    GATEWAY_API_KEY: 'own-key',
    GATEWAY_MODEL: 'some-model',
    GATEWAY_IMAGE_MODEL: 'some-image-model',
  };
  return { cwd, env };
}

test.each(blocks)('an example of %s works: %s', async (_topic, block) => {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.always(answer);
  const { cwd, env } = place(server.url);
  // A gateway that serves until Ctrl-C is tested elsewhere.
  const lines = block.split('\n').filter((line) => !/^gateway-cli serve( +#.*)?$/.test(line));
  const ran = await shell(`set -e\ngit init -q\n${lines.join('\n')}`, { cwd, env });
  expect({ code: ran.code, stderr: ran.stderr }).toMatchObject({ code: 0 });
});

test('the topics have examples', () => {
  expect(new Set(blocks.map(([topic]) => topic)).size).toBeGreaterThan(5);
});
