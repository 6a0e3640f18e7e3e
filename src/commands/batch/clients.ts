import type { BatchPlan } from '../../batch/index.ts';
import { openClients } from '../../cli/run/client.ts';
import type { BatchFlags } from './flags.ts';
import type { AnswerContext } from '../../cli/context.ts';
import type { Client } from '../../client/index.ts';
import type { Connection } from '../../transport/types.ts';

/** Opens a client of each gateway of a batch, by `gatewayKey`. */
export async function openBatchClients(
  { gateways }: BatchPlan,
  flags: BatchFlags,
  context: AnswerContext,
  connection?: Connection,
): Promise<ReadonlyMap<string, Client>> {
  const { clients, close } = await openClients([...gateways.values()], flags, context, {
    report: context.report,
    looksUpModels: true,
    connection,
  });
  context.atEnd(close);
  return new Map([...gateways.keys()].map((key, at) => [key, clients[at] as Client]));
}
