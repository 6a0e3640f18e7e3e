import type { BatchPlan } from '../../batch/index.ts';
import { openClients } from '../../cli/run/client.ts';
import type { BatchFlags } from './flags.ts';
import type { AnswerContext, CommandOutcome, Context } from '../../cli/context.ts';
import { emptyOutcome } from '../../cli/output/outcome.ts';
import type { Client } from '../../client/index.ts';
import type { Connection } from '../../transport/types.ts';

/** Runs a batch: how many requests it sent is known also where it fails. */
export async function countRequests(
  context: Context,
  run: (context: AnswerContext) => Promise<CommandOutcome | void>,
): Promise<CommandOutcome> {
  const sent = { attempts: 0 };
  const ended = await Promise.resolve(run({ ...context, sent })).catch((error: unknown) => ({ error }));
  return { ...ended, outcome: { ...emptyOutcome, attempts: sent.attempts } };
}

/** Opens a client of each gateway of a batch, by `gatewayKey`. */
export async function openBatchClients(
  { gateways }: BatchPlan,
  flags: BatchFlags,
  context: AnswerContext,
  connection?: Connection,
): Promise<ReadonlyMap<string, Client>> {
  const { clients, close } = await openClients([...gateways.values()], flags, context, {
    sent: context.sent,
    looksUpModels: true,
    connection,
  });
  context.atEnd(close);
  return new Map([...gateways.keys()].map((key, at) => [key, clients[at] as Client]));
}
