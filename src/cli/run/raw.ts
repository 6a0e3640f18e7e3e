import { tmpdir } from 'node:os';
import {
  type CallEvent,
  type GatewayClient,
  type Deadline,
  type PaidEnd,
  type PaidRequest,
  type PreparedRequest,
  sendPaid,
} from '../../client/index.ts';
import { BlockWriter } from '../../files/block-writer.ts';
import { createCiByteGuard, isReadByCi } from '../../terminal/ci-guard.ts';
import type { AnswerContext, CommandOutcome, UnsavedReply } from '../context.ts';
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
): Promise<CommandOutcome> {
  const { stdout, env } = context.io;
  const guard = isReadByCi(env, stdout) ? createCiByteGuard() : undefined;
  const writeRaw = (bytes: Uint8Array) => stdout.write(guard === undefined ? bytes : guard(bytes));
  if (stdout.isTTY) await context.ui.warn('--raw escapes nothing: control characters of the reply reach the terminal');
  let failedBody: Uint8Array | undefined;
  let attempts = 0;
  let body: UnsavedReply['body'];
  // With `--raw`, nothing reads the cost of the reply.
  let end: PaidEnd = {};
  const paid: PaidRequest = { request, payment: undefined };
  try {
    const onEvent = (event: CallEvent) => {
      if (event.type === 'refused') failedBody = event.body;
      return client.onEvent?.(event);
    };
    const answered = await sendPaid(paid, client, { deadline, onEvent });
    // The failed body came from an earlier attempt.
    failedBody = undefined;
    attempts = answered.attempts;
    if (stdout.isFile) body = await writeAndKeep(answered.reply.body, new BlockWriter({ folder: tmpdir() }), context);
    else for await (const chunk of answered.reply.body) await writeRaw(chunk);
  } catch (error) {
    end = { error };
  } finally {
    await paid.payment?.end(end, deadline.signal);
    if (failedBody !== undefined) await writeRaw(failedBody);
  }
  if (attempts === 0) attempts = getAttempts(end.error);
  const unsaved = { ...emptyOutcome.unsaved, body };
  return { outcome: { ...emptyOutcome, attempts, unsaved }, error: end.error };
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
