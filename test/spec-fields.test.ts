import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { replies } from './cli/request/answers.ts';
import { expect, test as plain } from 'vitest';
import { code, tableRows } from './helpers/readme.ts';
import { eventStream, imageReply, messageEvents, test, textReply } from './helpers/with-server.ts';
import { scratchFolder } from './helpers/scratch.ts';

const dotPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const files: Record<string, string | Buffer> = {
  'dot.png': Buffer.from(dotPng, 'base64'),
  'turns.json': '[{"role":"user","parts":[{"text":"earlier"}]},{"role":"model","parts":[{"text":"yes"}]}]',
  'tools.json': '[{"type":"f_1"}]',
  'plain-tools.json': '[{"name":"f","schema":{"type":"object"}}]',
  'tool-config.json': '{"functionCallingConfig":{"mode":"ANY"}}',
  'schema.json': '{"type":"object"}',
};

const rows = tableRows('Field');

plain.each([
  // The content format.
  'model',
  'contents',
  'contents[].role',
  'contents[].parts[].text',
  'contents[].parts[].inlineData',
  'inlineData.mimeType',
  'inlineData.data',
  'systemInstruction',
  'generationConfig',
  'generationConfig.imageConfig.aspectRatio',
  'safetySettings',
  'tools',
  'toolConfig',
  'cachedContent',
  // The messages format.
  'messages',
  'max_tokens',
  'system',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tool_choice',
  'metadata',
  // The completions format.
  'modalities',
  'image_config',
  'response_format',
  'n',
  // The responses format.
  'input',
  'instructions',
  'text.format',
  'store',
])('the topic of fields names the field %s', (field) => {
  expect(rows.map(([name = '']) => code(name))).toContain(field);
});

test.for(rows)('%s', async ([, , example = '', sends = ''], { server, cli }) => {
  const argv = code(example).split(' ');
  const [path = '', expected = ''] = [...sends.matchAll(/`([^`]*)`/g)].map((match) => match[1]);
  const cwd = scratchFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);

  server.reply({ body: replyTo(argv) });
  const ran = await cli(argv, { cwd });
  // The scripted picture is one pixel, whatever shape was asked for, and one model answers for all.
  const odd = /^.*( is 1×1, not |another model answered: ).*\n/gm;
  expect(ran.stderr.replaceAll(odd, '')).toBe('');
  expect(ran.code).toBe(0);

  const [request] = server.requests;
  if (path === 'path' || path === '') {
    expect(sends).toContain(request?.path);
    return;
  }
  expect(at(request?.json(), path)).toEqual(JSON.parse(expected.replace('DOT_PNG', dotPng)));
});

const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${dotPng}` } };

/** A reply of the completions format. */
function completion(answer: object): unknown {
  const message = { role: 'assistant', content: '{}', ...answer };
  return { model: 'm-001', choices: [{ index: 0, message, finish_reason: 'stop' }] };
}

function replyTo(argv: readonly string[]): unknown {
  const [command] = argv;
  if (argv.includes('completions')) return completion(command === 'image' ? { images: [image] } : {});
  if (argv.includes('responses')) return replies.responses;
  if (command === 'chat') return eventStream(...messageEvents('ok'));
  if (command === 'image') return imageReply({ mimeType: 'image/png', data: dotPng });
  return textReply('{}');
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
}
