import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { vendorsWith } from '../../helpers/vendors-with.ts';
import { test } from '../../helpers/with-server.ts';

const withTier = vendorsWith(({ isKeyless, formats }) => !isKeyless && formats.text !== 'messages');
const withMetadata = vendorsWith(({ isKeyless, formats }) => !isKeyless && formats.chat !== 'content');

test.for([
  ['messages', 'text hi --seed 1', '--seed', 'the content format and the completions format have it'],
  ['messages', 'text hi --candidates 2', '--candidates', 'the content format and the completions format have it'],
  [
    'messages',
    'text hi --response-mime text/plain',
    '--response-mime',
    'the content format, the completions format and the responses',
  ],
  ['messages', 'text hi --safety HARASSMENT=BLOCK_NONE', '--safety', 'the content format has it'],
  ['messages', 'text hi --cached-content c', '--cached-content', 'the content format has it'],
  ['messages', 'text hi --tool-config none.json', '--tool-config', 'the content format has it'],
  ['messages', 'text hi --contents none.json', '--contents', 'use --messages of chat'],
  ['messages', 'image gen hi --aspect 16:9', '--aspect', 'the content format and the completions format have it'],
  ['completions', 'text hi --safety HARASSMENT=BLOCK_NONE', '--safety', 'the content format has it'],
  ['completions', 'text hi --top-k 3', '--top-k', 'the content format and the messages format have it'],
  ['completions', 'text hi --contents none.json', '--contents', 'use --messages of chat'],
  [
    'content',
    'chat hi --metadata user_id=42',
    '--metadata',
    'the messages format, the completions format and the responses format have it',
  ],
] as const)(
  'in the %s format, %s is exit 2 before anything is read or sent',
  async ([format, line, flag, hint], { server, cli }) => {
    const ran = await cli(line.split(' '), { cwd: scratchFolder(), env: { GATEWAY_FORMAT: format } });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`${flag}: the ${format} format does not have this field`);
    expect(ran.stderr).toContain(hint);
    expect(server.requests).toEqual([]);
  },
);

test.for([
  ['gemini', 'image edit hi -i none.png --mask none.png', '--service openai has it'],
  ['gemini', 'chat hi --metadata user_id=42', `--service ${withMetadata} have it`],
  ['anthropic', 'text hi --lane flex', `--service ${withTier} have it`],
  ['openrouter', 'text hi --top-k 3', '--service gemini and anthropic have it'],
  ['ollama', 'text hi -m m --cached-content c', '--service gemini has it'],
] as const)('at %s, %s names the services that have it', async ([service, line, hint], { server, cli }) => {
  const ran = await cli(line.split(' '), { cwd: scratchFolder(), env: { GATEWAY_SERVICE: service } });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`does not have this field\n  `);
  expect(ran.stderr).toContain(`; ${hint}\n`);
  expect(server.requests).toEqual([]);
});

test.for(['text hi -m m --lane flex', 'chat hi -m m --lane flex --format completions'])(
  'Ollama ignores the tier, and would answer at full price: %s is exit 2 before anything is sent',
  async (line, { server, cli }) => {
    const ran = await cli(line.split(' '), { env: { GATEWAY_SERVICE: 'ollama' } });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('--lane flex (flag --lane): Ollama does not have this lane\n');
    expect(ran.stderr).toContain(`use --lane live; --service ${withTier} have it\n`);
    expect(server.requests).toEqual([]);
  },
);
