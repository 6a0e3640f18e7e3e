import { expect } from 'vitest';
import { run } from '../../helpers/run.ts';
import { canaryKey, test } from '../../helpers/with-server.ts';

/** Nothing of this is ever sent: the server of each test fails on an unexpected request. */
test.each([
  ['no prompt', ['text'], 'there is no prompt', 'gateway-cli text "'],
  ['an empty prompt', ['text', ''], 'the prompt is empty', 'gateway-cli text "'],
  ['two prompts', ['text', 'a', '-p', 'b'], 'the prompt is given twice', 'words'],
  ['an unknown flag', ['text', 'hi', '--zoom', '1:1'], 'unknown flag --zoom', 'see: gateway-cli text --help'],
  ['a short flag with more behind it', ['text', 'hi', '-zsecret'], 'unknown flag -z', 'see: gateway-cli text --help'],
  ['a flag without its value', ['text', 'hi', '--seed'], "option '--seed <n>' needs a value", 'text --help'],
  [
    'a flag of a group’s command',
    ['sessions', 'list', '--zoom'],
    'unknown flag --zoom',
    'see: gateway-cli sessions list --help',
  ],
  [
    'one of another group',
    ['config', 'get', 'x', '--zoom'],
    'unknown flag --zoom',
    'see: gateway-cli config get --help',
  ],
  ['a flag nearly right', ['image', 'gen', 'x', '--aspct', '1:1'], 'unknown flag --aspct', 'did you mean: --aspect'],
  ['an unknown command', ['txt', 'hi'], "unknown command 'txt'", 'did you mean: gateway-cli text'],
  ['a prompt for a command', ['three cats'], "unknown command 'three cats'", 'see: gateway-cli --help'],
  ['a file that is not there', ['text', 'x', '--schema', 'no/s.json'], 'there is no such file', 'ls '],
  ['a secret behind =', ['text', 'hi', `--apikey=${canaryKey}`], 'unknown flag --apikey', '--api-key'],
  [
    'most tokens in camel case',
    ['text', 'x', '--maxTokens', '5'],
    'unknown flag --maxTokens',
    'did you mean: --max-tokens',
  ],
  ['with _', ['chat', 'x', '--max_tokens=5'], 'unknown flag --max_tokens', 'did you mean: --max-tokens'],
  ['without s', ['image', 'gen', 'x', '--max-token', '5'], 'unknown flag --max-token', 'did you mean: --max-tokens'],
  ['tokens alone', ['text', 'x', `--tokens=${canaryKey}`], 'unknown flag --tokens', 'did you mean: --max-tokens'],
  [
    'most tokens where none are made',
    ['doctor', '--maxTokens', '5'],
    'unknown flag --maxTokens',
    'see: gateway-cli doctor',
  ],
  ['of a batch', ['batch', '--maxTokensTotal', '5'], 'flag --maxTokensTotal', 'did you mean: --max-tokens-total'],
  ['a token', ['text', 'x', '--token', canaryKey], 'unknown flag --token', 'a key is set by GATEWAY_API_KEY'],
  ['a switch with a value', ['text', 'x', '--json=1'], '--json takes no value', 'write --json, or leave it out'],
  ['a switch that is no', ['text', 'x', `--no-stdin=${canaryKey}`], '--no-stdin takes no value', 'write --no-stdin'],
  ['--offline=1', ['chat', 'x', '--offline=1'], '--offline takes no value', 'write --offline'],
  ['--force=yes', ['image', 'gen', 'x', '--force=yes'], '--force takes no value', 'write --force'],
  ['--help=1', ['text', '--help=1'], '--help takes no value', 'write --help'],
  ['a switch of the program', ['--json=1', 'text', 'x'], '--json takes no value', 'write --json'],
  ['a switch of a group', ['sessions', '--quiet=', 'list'], '--quiet takes no value', 'write --quiet'],
  [
    'a switch of what a group runs',
    ['batch', 'jobs.jsonl', '--dry-run=1'],
    '--dry-run takes no value',
    'write --dry-run',
  ],
  ['a prompt like a list', ['text', '- item one'], "begins with '-'", "gateway-cli text -- '- item one'"],
  [
    'a bad aspect',
    ['image', 'gen', 'x', '--aspect', '16x9'],
    "--aspect takes width:height, not '16x9'",
    '--aspect 16:9',
  ],
  ['a small k', ['image', 'gen', 'x', '--size', '2k'], '--size takes', '--size 2K'],
  ['a flag for a value', ['text', 'x', '-m', '--quiet'], '--model needs a value', '--model=./--quiet'],
  ['a short flag for a value', ['image', 'gen', 'x', '-o', '-f'], '--output needs a value, and -f is', '--output=./-f'],
  [
    'a flag for a file of prompts',
    ['batch', '--prompts', '-o', 'out'],
    '--prompts needs a value, and -o is a flag',
    'for example: gateway-cli batch --prompts prompts.txt -o out',
  ],
  ['a stop sequence that is empty', ['text', 'x', '--stop', ''], '--stop is empty', 'for example: --stop END'],
  ['a folder that is missing', ['batch', 'status'], 'argument <outdir>', 'for example: gateway-cli batch status out\n'],
  ['its help', ['batch', 'status'], 'missing', 'see: gateway-cli batch status --help'],
  ['a name that is missing', ['sessions', 'show'], 'missing', 'for example: gateway-cli sessions show trip\n'],
  ['a shell that is missing', ['completion'], 'missing', 'for example: eval "$(gateway-cli completion bash)"'],
  [
    'a bad number',
    ['text', 'x', '--max-tokens', 'many'],
    "--max-tokens takes a whole number from 1, not 'many'",
    '--max-tokens 1',
  ],
  ['a bad duration', ['text', 'x', '--timeout', '0'], 'timeout', ''],
  [
    'a word for it',
    ['text', 'x', '--retry-max-time', '5x'],
    '--retry-max-time is not a duration: "5x"',
    'write 90 (sec',
  ],
  ['none for it', ['text', 'x', '--stdin-timeout', '0'], '--stdin-timeout must be more than 0', 'write 90 (seconds)'],
  ['a proxy password in argv', ['text', 'x', '--proxy', `http://u:${canaryKey}@p:1`], 'would show the', 'HTTPS_PROXY'],
  [
    'a SOCKS proxy',
    ['text', 'x', '--proxy', 'socks5://p:1'],
    'flag --proxy names a socks5:// proxy',
    'http://host:port',
  ],
  ['a key in argv', ['text', 'x', '--api-key', canaryKey], '--api-key would show the key', 'GATEWAY_API_KEY'],
  ['a credential header', ['text', 'x', '--header', `Authorization: ${canaryKey}`], '--header authorization', '@file'],
  ['two owners of stdout', ['text', 'x', '--raw', '--curl'], '--curl and --raw both write to stdout', 'keep one'],
  [
    'a file that is not there',
    ['text', '--prompt-file', 'nope.txt'],
    "--prompt-file 'nope.txt': there is no such file",
    'see what is there: ls /',
  ],
  [
    'tools that are no JSON',
    ['text', 'x', '--tools', '-'],
    '--tools - is not JSON: a value is expected at line 1, column 1',
    '',
  ],
  ['a file with a blank', ['image', 'edit', 'x', '-i', 'no pe/x.png'], 'there is no such file', "/no pe'"],
  [
    'half of a JSON Schema',
    ['text', 'x', '--schema', '{"type":"object"'],
    'a file is needed, not JSON',
    `--schema <(echo '{"type":"object"')`,
  ],
  ['an input of image gen', ['image', 'gen', 'x', '-i', 'a.png'], 'unknown flag -i', 'image edit -i photo.jpg'],
  [
    'a file of image gen',
    ['image', 'gen', 'x', '--attach', 'a.png'],
    'unknown flag --attach',
    'image edit -i photo.jpg',
  ],
  ['a mask of image gen', ['image', 'gen', 'x', '--mask', 'm.png'], 'unknown flag --mask', 'image edit -i photo.jpg'],
  [
    'a prompt for rows',
    ['batch', '--data', 'a.csv', '--prompt', '{{x}}', '-o', 'o'],
    'unknown flag --prompt',
    '--template',
  ],
  ['a table of jobs', ['batch', 'rows.csv', '-o', 'out'], '"rows.csv" is a table', '--data rows.csv --template'],
  [
    'a size that is none',
    ['image', 'gen', 'x', '--size', 'big'],
    '--size takes 512, 1K, 2K, 4K, another number of pixels or, at OpenAI, WxH',
    '--size 2K',
  ],
  ['a path to remove', ['sessions', 'rm', './s 1.jsonl'], 'not a path', "rm './s 1.jsonl'"],
  ['--set of the model', ['text', 'x', '--set', 'model=y'], '--set cannot change model', '--model'],
  ['no image to edit', ['image', 'edit', 'x'], 'there is no image to edit', '-i photo.jpg'],
  ['an image that is none', ['image', 'edit', 'x', '-i', '-'], 'not an image', ''],
  ['an unreadable image', ['image', 'edit', 'x', '-i', 'nope.png'], "'nope.png'", ''],
  ['a missing folder', ['image', 'gen', 'x', '-o', 'no/such/a.png'], 'no/such', 'mkdir -p'],
  ['an unknown profile', ['text', 'x', '--profile', 'work'], 'work', ''],
])('%s is exit 2, with a word on what to type', async (_, argv, message, hint) => {
  const env = {
    GATEWAY_BASE_URL: 'http://127.0.0.1:1',
    GATEWAY_API_KEY: canaryKey,
    GATEWAY_MODEL: 'm',
    GATEWAY_IMAGE_MODEL: 'm',
  };
  const ran = await run(argv, { env, stdin: 'plain words', ...(argv.length === 1 && { kind: 'terminal' as const }) });
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 2, stdout: '' });
  expect(ran.stderr).toMatch(/^gateway-cli: usage: /);
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
  expect(ran.stderr).not.toContain(canaryKey);
});

test.each([
  ['no base URL', {}, 2, ['GATEWAY_BASE_URL', '--offline']],
  ['no model', { GATEWAY_BASE_URL: 'http://127.0.0.1:1' }, 2, ['GATEWAY_MODEL', '--offline']],
  ['no key', { GATEWAY_BASE_URL: 'http://127.0.0.1:1', GATEWAY_MODEL: 'm' }, 3, ['GATEWAY_API_KEY', '--api-key-file']],
  [
    'plain http with a key',
    { GATEWAY_BASE_URL: 'http://example.test', GATEWAY_MODEL: 'm', GATEWAY_API_KEY: canaryKey },
    2,
    ['--allow-http'],
  ],
  [
    'a base URL with a query',
    { GATEWAY_BASE_URL: 'https://example.test/?a=1', GATEWAY_MODEL: 'm', GATEWAY_API_KEY: canaryKey },
    2,
    ['query'],
  ],
])('%s is found before anything is sent', async (_, env, code, words) => {
  const ran = await run(['text', 'hi'], { env });
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: '' });
  for (const word of words) expect(ran.stderr).toContain(word);
});

test('with --json a mistake in argv gives the document too', async () => {
  const ran = await run(['text', '--json', '--nonsense']);
  expect(ran.code).toBe(2);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    schema: 'gateway-cli/result@1',
    ok: false,
    exitCode: 2,
    error: { class: 'usage', message: 'unknown flag --nonsense', sent: 'no', billed: 'no', retryable: false },
  });
});

test('no arguments: help on stdout, 0; a group without its command: help on stderr, 2', async () => {
  expect(await run([])).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Examples:') as string });
  const group = await run(['image']);
  expect(group).toMatchObject({ code: 2, stdout: '' });
  expect(group.stderr).toContain('gen');
});

test.each([[['text']], [['image', 'gen']], [['image', 'edit']], [['chat']]])(
  'an unknown flag of %s is exit 2',
  async (words) => {
    expect(await run([...words, 'x', '--nonsense'])).toMatchObject({ code: 2, stdout: '' });
  },
);

test.each([[['text']], [['image', 'gen']], [['image', 'edit']], [['chat']]])(
  'the help of %s begins with examples and fits 45 lines',
  async (words) => {
    const { code, stdout, stderr } = await run([...words, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').length).toBeLessThanOrEqual(46);
    expect(stdout.indexOf('Examples:')).toBeLessThan(stdout.indexOf('Usage:'));
    expect(stdout.indexOf('Flags:')).toBeLessThan(stdout.indexOf('Connection:'));
  },
);
