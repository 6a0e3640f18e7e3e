import { expect } from 'vitest';
import { test } from '../../helpers/with-server.ts';

const prompt = 'word '.repeat(4000);

test.for([
  ['is all of the window', 'ollama', prompt, 4096, true],
  ['leaves most of the text out', 'ollama', prompt, 40, true],
  ['fits the text', 'ollama', prompt, 4013, false],
  ['is small, as is the text', 'ollama', '='.repeat(4000), 40, false],
  ['is of a service that refuses what is too long', 'vllm', prompt, 4096, false],
] as const)(
  'a count of tokens that %s says that a prompt was cut, or nothing',
  async ([, service, text, tokens, isTold], { server, cli }) => {
    const usage = { prompt_tokens: tokens, completion_tokens: 1, total_tokens: tokens + 1 };
    server.reply({ body: { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage } });
    const argv = ['text', '--service', service, '--base-url', server.url, '-m', 'm'];
    const { code, stdout, stderr } = await cli(argv, { stdin: text });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hi\n' });
    const told = `the prompt may be cut: Ollama took ${tokens} tokens of 20000 characters, and cuts what its window does not hold; for a larger window: OLLAMA_CONTEXT_LENGTH=16384 ollama serve`;
    expect(stderr).toBe(isTold ? `gateway-cli: warning: ${told}\n` : '');
  },
);
