import { expect, test } from 'vitest';
import { run } from '../helpers/run.ts';

test.each([
  ['image gen x --stream', 'a flag of another command: gateway-cli text --stream\n'],
  ['text x --session trip', 'a flag of another command: gateway-cli chat --session\n'],
  ['doctor --session trip', 'see: gateway-cli doctor --help\n'],
  ['chat x -n 2', 'a flag of another command: gateway-cli text --candidates, gateway-cli image gen --c'],
  [
    'chat x --aspect 1:1',
    'a flag of another command: gateway-cli image gen --aspect, gateway-cli image edit --aspect\n',
  ],
  ['text x -n 2', 'did you mean: --candidates\n'],
  ['text x --search', 'did you mean: --tools\n'],
  ['image gen x --output-format png', '--set output_format=… (format completions)\n'],
  ['image gen x --response-format url', '--set response_format=… (format completions)\n'],
  // Commander finds --stop near.
  ['image gen x --steps 20', 'see: gateway-cli image gen --help\n'],
  ['text x --no-stream', 'see: gateway-cli text --help\n'],
])('%s is exit 2 with the command or the flag that was meant', async (line, hint) => {
  const ran = await run(line.split(' '));
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(hint);
});
