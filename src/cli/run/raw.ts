import { tmpdir } from 'node:os';
import {
  BlockWriter,
  type CallEvent,
  type Deadline,
  type GatewayClient,
  type PaidEnd,
  type PaidExchange,
  type PreparedRequest,
} from '../../library/index.ts';
import { createCiByteGuard, isReadByCi } from '../terminal/ci-guard.ts';
import type { AnswerContext, CommandEnd, UnsavedReply } from '../context.ts';
import { emptyOutcome, getAttempts } from '../output/outcome.ts';

/**
 * `--raw`: sends a request and prints the reply body of any status unchanged; no file is written. The exit code still depends on
 * the status. If GitHub's runner reads the output, the body cannot give it commands.
 */
export async function sendRaw(
  client: GatewayClient,
  request: PreparedRequest,
  deadline: Deadline,
  context: AnswerContext,
): Promise<CommandEnd> {
  const { stdout, env } = context.io;
  const guard = isReadByCi(env, stdout) ? createCiByteGuard() : undefined;
  const writeRaw = (bytes: Uint8Array) => stdout.write(guard === undefined ? bytes : guard(bytes));
  if (stdout.isTTY) await context.ui.warn('--raw escapes nothing: control characters of the reply reach the terminal');
  let refused: Uint8Array | undefined;
  const onEvent = (event: CallEvent) => {
    if (event.type === 'refused') refused = event.body;
    return client.onEvent?.(event);
  };
  return client.sendPaid(request, { deadline, onEvent }).then(
    (exchange) => printReply(exchange, writeRaw, deadline, context),
    async (error: unknown) => {
      if (refused !== undefined) await writeRaw(refused);
      return { outcome: { ...emptyOutcome, attempts: getAttempts(error) }, error };
    },
  );
}

async function printReply(
  { reply, attempts, payment }: PaidExchange,
  write: (bytes: Uint8Array) => Promise<void>,
  deadline: Deadline,
  context: AnswerContext,
): Promise<CommandEnd> {
  // With `--raw`, nothing reads the cost of the reply.
  let end: PaidEnd = {};
  const outcome = { ...emptyOutcome, attempts };
  try {
    if (!context.io.stdout.isFile) {
      for await (const chunk of reply.body) await write(chunk);
      return { outcome };
    }
    const body = await writeAndKeep(reply.body, new BlockWriter({ folder: tmpdir() }), context);
    return { outcome: { ...outcome, unsaved: { ...outcome.unsaved, body } } };
  } catch (error) {
    end = { error };
    return { outcome, error };
  } finally {
    await payment?.end(end, deadline.signal);
  }
}

/**
 * Writes a body to stdout and to a copy, since the disk of a file may be full. The copy is removed when everything was written.
 * Returns the copy if something was not.
 */
async function writeAndKeep(
  body: AsyncIterable<Uint8Array>,
  copy: BlockWriter,
  { io, atEnd }: AnswerContext,
): Promise<UnsavedReply['body']> {
  atEnd(() => copy.discard());
  for await (const chunk of body) {
    await copy.write(chunk);
    await io.stdout.write(chunk);
  }
  await copy.end();
  return io.stdout.failure === undefined || copy.path === undefined ? undefined : { content: { file: copy.path } };
}
