import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test } from '../../helpers/with-server.ts';
import { replies } from './answers.ts';

test.for([
  ['content', { generationConfig: { maxOutputTokens: 9 } }],
  ['messages', { max_tokens: 9 }],
  ['completions', { max_tokens: 9 }],
  ['completions', { max_completion_tokens: 9 }],
] as const)(
  'in the %s format the limit of the body %j comes before that of a profile',
  async ([format, body], { server, cli }) => {
    const GATEWAY_CONFIG = join(scratchFolder(), 'config.json');
    writeFileSync(GATEWAY_CONFIG, '{"profiles":{"default":{"maxTokens":50}}}', { mode: 0o600 });
    server.reply({ body: replies[format] });
    const argv = ['chat', 'hi', '--no-stream', '--format', format, '--body', JSON.stringify(body)];
    expect(await cli(argv, { env: { GATEWAY_CONFIG } })).toMatchObject({ code: 0 });
    expect(server.requests[0]?.json()).toMatchObject(body);
    expect(JSON.stringify(server.requests[0]?.json())).not.toContain('50');
  },
);

test.for([
  ['content', '{"contents":[]}'],
  ['messages', '{"messages":[]}'],
  ['completions', '{"messages":[]}'],
] as const)(
  'in the %s format a body %s with earlier turns is refused beside a session',
  async ([format, body], { cli }) => {
    const argv = ['chat', 'hi', '--session', './s.jsonl', '--format', format, '--body', body];
    const ran = await cli(argv, { cwd: scratchFolder() });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('--body and the session both hold earlier turns');
  },
);
