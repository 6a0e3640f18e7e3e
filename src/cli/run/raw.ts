import { tmpdir } from 'node:os';
import type { PaidEnd } from '../../client/payment.ts';
import type { Operation } from '../../client/send.ts';
import { BlockWriter } from '../../files/block-writer.ts';
import { createCiByteGuard, isReadByCi } from '../../terminal/output.ts';
import type { Context } from '../context.ts';
import type { Connection } from './connection.ts';

/**
 * `--raw`: the reply body of any status as it came, and no file written. The exit code still depends on the status. Where GitHub's
 * runner reads along, the body cannot give it commands.
 */
export async function sendRaw(
  connection: Connection,
  { post, model }: Pick<Operation, 'post' | 'model'>,
  context: Context,
): Promise<void> {
  const { stdout, env } = context.io;
  const guard = isReadByCi(env, stdout) ? createCiByteGuard() : undefined;
  const print = (bytes: Uint8Array) => stdout.write(guard === undefined ? bytes : guard(bytes));
  if (stdout.isTTY) await context.ui.warn('--raw escapes nothing: control characters of the reply reach the terminal');
  let failedBody: Uint8Array | undefined;
  // Nothing reads what a reply cost.
  let end: PaidEnd = {};
  const payment = connection.pay?.({ post, model });
  try {
    const { reply } = await connection.send(post, { payment, onFailedBody: (body) => (failedBody = body) });
    // That body came from an earlier attempt, which failed.
    failedBody = undefined;
    if (stdout.isFile) await writeAndKeep(reply.body, context);
    else for await (const chunk of reply.body) await print(chunk);
  } catch (error) {
    end = { error };
    throw error;
  } finally {
    await payment?.end(end);
    if (failedBody !== undefined) await print(failedBody);
  }
}

/** The disk behind a file may be full: a copy goes along, and is thrown away when all was written. */
async function writeAndKeep(body: AsyncIterable<Uint8Array>, { io, report, atEnd }: Context): Promise<void> {
  const copy = new BlockWriter({ folder: tmpdir() });
  atEnd(() => copy.discard());
  for await (const chunk of body) {
    await copy.write(chunk);
    await io.stdout.write(chunk);
  }
  await copy.end();
  if (io.stdout.failure === undefined || copy.path === undefined) return;
  report.lost.body = { content: { file: copy.path } };
}
