import type { Command } from 'commander';
import { openBatchApi } from '../../client/batch-api.ts';
import { addFlags, setExamples } from '../../cli/flags/flag.ts';
import { connectionFlags } from '../../cli/flags/shared.ts';
import type { Action, Context } from '../../cli/context.ts';
import { openConnection } from '../../cli/run/connection.ts';
import { type ConnectionFlags, readSettingsInput } from '../../cli/run/settings.ts';
import { startDeadline } from '../../client/deadline.ts';
import { GatewayError } from '../../errors.ts';
import { loadBatchFormat } from '../../formats/format.ts';
import { surveySettings } from '../../settings/resolve.ts';
import type { SettingsSurvey } from '../../settings/types.ts';
import { readBatchFolder } from '../folder/read.ts';
import { countOf } from '../report/summary.ts';
import { openParts } from './parts.ts';
import type { Part, PartPlan } from './types.ts';

const unused = new Set(['model', 'record', 'replay', 'maxAge']);
const cancelFlags = Object.fromEntries(Object.entries(connectionFlags).filter(([name]) => !unused.has(name)));

/** `batch cancel <outdir>`: ends what goes on at the service. Nothing is written: the next run collects what was done. */
export function batchCancelCommand(command: Command): Action {
  command.argument('<outdir>', 'folder of a batch').usage('<outdir> [flags]');
  setExamples(command, ['gateway-cli batch cancel out']);
  addFlags(command, 'Connection', cancelFlags);
  return (context, words, flags) => runCancel(words[0] as string, flags as ConnectionFlags, context);
}

async function runCancel(outdir: string, flags: ConnectionFlags, context: Context): Promise<void> {
  const { state } = await readBatchFolder(outdir, context);
  const cancelled: { batch: string; jobs: number }[] = [];
  for (const part of openParts(state)) {
    const jobs = part.rows.length;
    if (part.batch === undefined) {
      await context.ui.warn(
        `${countOf(jobs, 'job')}: the creation of the batch is not answered yet; run the batch again`,
      );
      continue;
    }
    await cancelPart(part, flags, context);
    cancelled.push({ batch: part.batch, jobs });
  }
  context.report.own = { schema: 'gateway-cli/batch-cancel@1', ok: true, cancelled };
  if (cancelled.length === 0) return context.ui.note(`no jobs of ${outdir} are at the service`);
  if (!context.root.json)
    for (const { batch, jobs } of cancelled)
      await context.io.stdout.write(`${batch}: ${countOf(jobs, 'job')}, cancelled as far as they are not done\n`);
  await context.ui.note('what was done before is billed: the same batch command collects it');
}

async function cancelPart({ plan, batch = '' }: Part, flags: ConnectionFlags, context: Context): Promise<void> {
  const { profile, origin, format: name, use } = plan as PartPlan;
  const input = await readSettingsInput(flags, context);
  const asked = { ...input.flags, ...(profile !== '' && { jobProfile: profile }) };
  const settings = surveySettings({ ...input, flags: asked, use: use === 'messages' ? 'chat' : 'text' });
  requireOrigin(settings, origin);
  const connection = await openConnection(settings, flags, context, { forms: { [use]: settings.auth.value } });
  const deadline = startDeadline(settings.timeoutMs.value, context.signal);
  try {
    const send: Parameters<typeof openBatchApi>[1] = (post, options) => connection.send(post, options);
    await openBatchApi(await loadBatchFormat(name), send, use).cancel(batch, deadline);
  } finally {
    deadline.end();
    await connection.close();
  }
}

/** Throws GatewayError batch-locked where the settings lead to another service. */
function requireOrigin({ baseUrl, offline }: SettingsSurvey, origin: string): void {
  const now = offline.value ? 'offline' : baseUrl && new URL(baseUrl.value).origin;
  if (now === origin) return;
  throw new GatewayError('batch-locked', `the jobs went to ${origin}, not to ${now ?? 'any service that is set'}`, {
    hint: 'give the connection flags with which they were submitted',
    sent: 'no',
  });
}
