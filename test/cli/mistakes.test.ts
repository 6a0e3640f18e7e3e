import { expect, test } from 'vitest';
import { run } from '../helpers/run.ts';
import { canaryKey } from '../helpers/with-server.ts';

/** Nothing of this is ever sent: no port is listened to. */
test.each([
  ['its way', ['three cats'], 'unknown command', "to send it as a prompt: gateway-cli text 'three cats'"],
  ['a prompt without quotes', ['three', 'cats'], "unknown command 'three'", 'gateway-cli text three cats'],
  ['a prompt before a flag', ['three cats', '--offline'], "command 'three cats'", "gateway-cli text 'three cats'"],
  ['a prompt behind a flag', ['--offline', 'three cats'], '--offline before the command', 'gateway-cli text --offline'],
  ['a prompt in a group', ['image', 'a cat'], "unknown command 'a cat'", "gateway-cli image gen 'a cat'"],
  ['a longer name', ['image', 'generate', 'x'], "unknown command 'generate'", 'did you mean: gateway-cli image gen\n'],
  ['a shorter name', ['img', 'gen', 'x'], "unknown command 'img'", 'did you mean: gateway-cli image\n'],
  ['names in one word', ['image-gen', 'x'], "unknown command 'image-gen'", 'did you mean: gateway-cli image gen\n'],
  ['a name without its group', ['edit', 'x'], "unknown command 'edit'", 'did you mean: gateway-cli image edit\n'],
  ['a word of other programs', ['sessions', 'delete', 'x'], "command 'delete'", 'gateway-cli sessions rm\n'],
  ['one at the top', ['generate', 'x'], 'unknown', 'did you mean: gateway-cli text, or gateway-cli image gen\n'],
  [
    'a key before the command',
    ['--api-key', canaryKey, 'text', 'x'],
    '--api-key would show the key',
    'GATEWAY_API_KEY',
  ],
  ['one in =', [`--api-key=${canaryKey}`, 'text', 'x'], '--api-key would show the key', '--api-key-file <path>'],
  ['one in a group', ['image', '--api-key', canaryKey, 'gen', 'x'], '--api-key would show the key', 'GATEWAY_API_KEY'],
  ['one where none is used', ['sessions', 'list', '--api-key', canaryKey], 'would show the key', 'GATEWAY_API_KEY'],
  ['a word behind -h', ['text', '-hello'], "begins with '-' is read as a flag", "gateway-cli text -- '-h…'"],
  ['behind a switch', ['chat', '-vhello'], "begins with '-' is read as a flag", "gateway-cli chat -- '-v…'"],
  [
    'a command without a prompt',
    ['sessions', 'list', '-hx'],
    'as a flag',
    'for the help: gateway-cli sessions list --h',
  ],
  ['a short flag with a prompt in it', ['text', '-zsecret'], 'unknown flag -z', "gateway-cli text -- '-z…'"],
  [
    'a field that has no flag',
    ['text', 'x', '--presence-penalty', '1'],
    'unknown flag --presence-penalty',
    ': --set generationConfig.presencePenalty=…',
  ],
  ['in camel case', ['image', 'gen', '--frequencyPenalty=1', 'x'], '--frequencyPenalty', 'frequencyPenalty=…'],
  ['a field inside another', ['text', '--thinking-budget', '0', 'x'], 'flag', '.thinkingConfig.thinkingBudget=…'],
  ['one of a chat', ['chat', 'x', '--service-tier', 'auto'], 'flag --service-tier', ': --set service_tier=…'],
  ['two of a chat', ['chat', '--thinking-budget=1', 'x'], 'flag', '--set thinking.type=enabled --set thinking.budget'],
  [
    'a field before the command',
    ['--logprobs', '1', 'text', 'x'],
    'flag --logprobs',
    '--set generationConfig.logprobs',
  ],
  [
    'a field by its own name',
    ['image', 'gen', 'x', '--aspect-ratio', '1:1'],
    '--aspect-ratio',
    'did you mean: --aspect\n',
  ],
  [
    'one of another format',
    ['chat', 'x', '--presence-penalty', '1'],
    '--presence-penalty',
    'see: gateway-cli chat --help',
  ],
  [
    'a URL for a picture that is not https',
    ['image', 'edit', 'x', '-i', 'http://h/a.png?t=secret'],
    "-i 'http://h/a.png': only https:// is fetched",
    'use https://, or save the file, and name that\n',
  ],
  [
    'one with a password',
    ['chat', 'x', '--attach', 'https://me:secret@h/a.png?t=secret'],
    "--attach 'https://h/a.png': the URL holds a user name or password",
    'save the file, and name that\n',
  ],
  [
    'one that is none',
    ['chat', 'x', '-i', 'https://h:x/?t=secret'],
    '-i: the URL is not valid',
    'https://host/photo.jpg',
  ],
  [
    'one for a prompt',
    ['text', '--prompt-file', 'http://h/p'],
    '--prompt-file takes a file',
    'curl -fsSLO http://h/p\n',
  ],
  ['one for jobs', ['batch', 'https://h/j.jsonl', '-o', 'out'], 'jobs takes a file', 'curl -fsSLO https://h/j.jsonl'],
  [
    'one of a bucket',
    ['chat', 'x', '-i', 's3://b/a.png'],
    "-i takes a file, and 's3://b/a.png' is a URL",
    'fetch it first\n',
  ],
  ['a session in no folder', ['chat', 'x', '--session', 'a b/c/d'], 'there is no folder "a b/c"', "mkdir -p 'a b/c'"],
  [
    'a session that is a folder',
    ['chat', 'x', '--session', '../'],
    'cannot be read: it is a folder',
    'look at it: ls -ld /',
  ],
  ['a folder as image', ['chat', 'x', '-i', '/'], "-i '/': it is a folder", 'name a file in it: ls /\n'],
  ['a folder as text', ['chat', '--prompt-file', '/'], "'/': it is a folder", 'name a file in it: ls /\n'],
  [
    'JSON in single quotes',
    ['chat', 'x', '--metadata', "{'a':1}"],
    '--metadata is not JSON: a key in double quotes is expected at line 1, column 2',
    'double quotes',
  ],
])('%s is exit 2, with what was meant', async (_, argv, message, hint) => {
  const env = {
    GATEWAY_BASE_URL: 'http://127.0.0.1:1',
    GATEWAY_API_KEY: canaryKey,
    GATEWAY_MODEL: 'm',
    GATEWAY_IMAGE_MODEL: 'm',
  };
  const ran = await run(argv, { env });
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 2, stdout: '' });
  expect(ran.stderr).toMatch(/^gateway-cli: usage: /);
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
  expect(ran.stderr).not.toMatch(/secret/);
});
