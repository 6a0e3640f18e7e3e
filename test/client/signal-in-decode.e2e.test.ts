import { kill, pid } from 'node:process';
import { expect, test } from 'vitest';
import type { HttpReply } from '../../src/transport/types.ts';
import { contentOf } from '../replies/reading.ts';

test.skipIf(process.platform === 'win32')(
  'a signal that comes while a reply is parsed and decoded ends the command, however few candidates are read',
  async () => {
    let heard = false;
    process.once('SIGUSR2', () => (heard = true));
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`{"candidates":[${'{},'.repeat(200_000)}{"content":{"parts":[{"text":"a"}]}}`);
      yield Buffer.from(']}');
      kill(pid, 'SIGUSR2');
    }
    const reply: HttpReply = { status: 200, headers: {}, body: body() };
    const endOf = (): undefined => {
      if (heard) throw new Error('interrupted');
    };
    await expect(contentOf(reply, { endOf })).rejects.toThrow('interrupted');
  },
);
