import type { Deadline } from '../../client/deadline.ts';
import type { Post } from '../../client/target.ts';
import { usageError } from '../../errors.ts';
import type { Settings } from '../../settings/types.ts';
import type { Context } from '../context.ts';
import { checkShownOutput, type ImageOutput, type ImagePlan, planImages } from '../output/pictures.ts';
import { openConnection, readTarget, type Connection } from './connection.ts';
import type { ConnectionFlags } from './settings.ts';
import { isPrintedAtEnd } from '../output/select.ts';
import type { StdoutFlags } from '../flags/stdout-owner.ts';

interface ConnectOptions {
  flags: ConnectionFlags & StdoutFlags;
  context: Context;
  settings: Settings;
  /** A session keeps the answer, whoever reads stdout. */
  isKept?: boolean;
  /** The command's time, which may have begun. */
  deadline: () => Deadline;
}

/** What a command needs to send its request and to publish the pictures of the reply. */
interface Connected {
  images: ImageOutput;
  connection: Connection;
}

/**
 * Between a command's request and its sending: the output is checked, then the key read and the connections opened.
 * Undefined where nothing is left to do: the request was shown (`--dry-run`, `--curl`), or its reply handed on (`--raw`).
 */
export async function checkAndConnect(
  post: Post,
  plan: ImagePlan,
  { flags, context, settings, deadline, isKept = false }: ConnectOptions,
): Promise<Connected | undefined> {
  const target = await readTarget(settings, context);
  await checkShownOutput(plan, context);
  if (flags.curl || flags.dryRun) {
    const { showRequest } = await import('../output/show-request.ts');
    await showRequest(post, target, { flags, context, settings });
    return undefined;
  }
  if ((plan.besideText && !isKept) || plan.output === '-' || flags.raw || isPrintedAtEnd(context))
    requireStdout(context);
  const images = await planImages(plan, context);
  if (Object.keys(settings.prices).length > 0) {
    const { openMeter } = await import('./costs.ts');
    context.report.meter = await openMeter(settings, context.ui);
  }
  const connection = await openConnection(settings, flags, context, { deadline });
  context.atEnd(() => connection.close());
  if (!flags.raw) return { images, connection };
  const { sendRaw } = await import('./raw.ts');
  await sendRaw(connection, post, context);
  return undefined;
}

/** Throws GatewayError usage where the answer would be paid for and lost. */
function requireStdout({ io }: Context): void {
  if (io.stdout.isClosed)
    throw usageError('stdout is closed, so the answer would be lost', 'leave >&- out; to discard it: > /dev/null');
}
