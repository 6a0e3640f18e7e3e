import type { Command } from 'commander';
import {
  formatCount,
  listOpenProviderBatches,
  listAtService,
  notFoundHint,
  type ProviderBatch,
  requireOrigin,
} from '../../../batch/index.ts';
import {
  chooseAuthUse,
  endSignals,
  GatewayError,
  loadBatchFormat,
  openBatchApi,
  startDeadline,
  withoutCost,
} from '../../../library/index.ts';
import { addFlags, setExamples } from '../../flags/flag.ts';
import { connectionFlags } from '../../flags/shared.ts';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { openClient } from '../../run/client.ts';
import { type ConnectionFlags, readSettingsInput } from '../../run/settings.ts';
import { resolveEveryUse } from '../../settings/resolve.ts';
import { toTypedFolder, recallConnection } from './kept-command.ts';
import { collectCommand, type TypedFolder } from './next-command.ts';
import { readBatchFolder } from './outdir.ts';

const unused = new Set(['model', 'record', 'replay', 'maxAge']);
const cancelFlags = Object.fromEntries(Object.entries(connectionFlags).filter(([name]) => !unused.has(name)));

/** `batch cancel <outdir>`: ends the batches that go on at the service. Nothing is written: the next run collects their results so far. */
export function batchCancelCommand(command: Command): Action {
  command.argument('<outdir>', 'folder of a batch').usage('<outdir> [flags]');
  setExamples(command, ['gateway-cli batch cancel out']);
  addFlags(command, 'Connection', cancelFlags);
  return (context, words, flags) => runCancel(words[0] as string, flags as ConnectionFlags, context);
}

async function runCancel(outdir: string, flags: ConnectionFlags, context: Context): Promise<CommandEnd> {
  const { ui, io, root } = context;
  const recalled = await recallConnection(outdir, flags, context);
  const asker = { ...context, root: recalled.root };
  const { state } = await readBatchFolder(outdir, context);
  const folder = toTypedFolder(outdir, state.manifest.header?.command?.flags);
  const cancelled: { batch: string; jobs: number }[] = [];
  let failure: GatewayError | undefined;
  const open = listOpenProviderBatches(state).filter((providerBatch) => listAtService(providerBatch, state).length > 0);
  for (const providerBatch of open) {
    const jobs = listAtService(providerBatch, state).length;
    if (providerBatch.batch === undefined) {
      const unanswered = unansweredCreation(jobs, folder);
      if (failure) await ui.warn(unanswered.message);
      failure ??= unanswered;
      continue;
    }
    const failed = await findFailure(cancelProviderBatch(providerBatch, recalled.flags, asker));
    failure ??= failed;
    if (failed) await ui.warn(`${providerBatch.batch}: ${failed.message}`);
    else cancelled.push({ batch: providerBatch.batch, jobs });
  }
  const document = { schema: 'gateway-cli/batch-cancel@1', cancelled };
  if (open.length === 0) await ui.note(`no jobs of ${outdir} are at the service`);
  if (!root.json)
    for (const { batch, jobs } of cancelled)
      await io.stdout.write(`${batch}: ${formatCount(jobs, 'job')}, cancelled as far as they are not done\n`);
  if (failure) return { document, error: failure };
  if (open.length > 0) await ui.note(`what was done before is billed, and collected by ${collectCommand(folder)}`);
  return { document };
}

/** The error for a creation that is not answered: without an id at the service nothing can be cancelled. */
function unansweredCreation(jobs: number, folder: TypedFolder): GatewayError {
  return new GatewayError('no-reply', `${formatCount(jobs, 'job')}: the creation of the batch is not answered yet`, {
    hint: `to look for it, before you cancel it: ${collectCommand(folder)}`,
    sent: 'yes',
  });
}

/** The failure of a cancelling, as a value: it does not keep the other batches running; a signal ends all. */
async function findFailure(cancelling: Promise<void>): Promise<GatewayError | undefined> {
  try {
    await cancelling;
    return undefined;
  } catch (error) {
    const failure = withoutCost(error, 'run the same command again');
    if (!(failure instanceof GatewayError) || endSignals.has(failure.class)) throw error;
    return failure.details.status === 404 ? failure.withDetails({ hint: notFoundHint }) : failure;
  }
}

async function cancelProviderBatch(
  { plan, batch = '' }: ProviderBatch,
  flags: ConnectionFlags,
  context: Context,
): Promise<void> {
  const { profile, origin, format: name, use } = plan;
  const input = await readSettingsInput(flags, context);
  const ownFlags = { ...input.flags, ...(profile !== '' && { jobProfile: profile }) };
  const surveys = resolveEveryUse({ ...input, flags: ownFlags });
  const sameKey = Object.values(surveys).find((one) => chooseAuthUse(one.format, one.use) === use);
  const settings = sameKey ?? surveys.text;
  const { baseUrl, offline } = settings;
  requireOrigin(offline ? 'offline' : baseUrl && new URL(baseUrl).origin, origin);
  const client = await openClient(settings, flags, context, { forms: { [use]: settings.auth } });
  const deadline = startDeadline(settings.timeoutMs, context.signal);
  try {
    await openBatchApi(await loadBatchFormat(name), client.send, use).cancel(batch, deadline);
  } finally {
    deadline.end();
    await client.close();
  }
}
