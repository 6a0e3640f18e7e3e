import { type BatchPlan, gatewayKey, type PreparedJob } from '../../../batch/index.ts';
import { openClients } from '../../run/client.ts';
import type { BatchFlags } from './flags.ts';
import { ownSettings } from './own-settings.ts';
import { requireOwnKeys } from './plan.ts';
import type { AnswerContext, CommandEnd, Context } from '../../context.ts';
import { emptyOutcome } from '../../output/outcome.ts';
import type { Connection, GatewayClient } from '../../../library/index.ts';
import type { Settings } from '../../settings/types.ts';

/** Runs a batch, and notes the number of requests that it sent, even if it fails. */
export async function countRequests(
  context: Context,
  run: (context: AnswerContext) => Promise<CommandEnd | void>,
): Promise<CommandEnd> {
  const sent = { attempts: 0 };
  const ended = await Promise.resolve(run({ ...context, sent })).catch((error: unknown) => ({ error }));
  return { ...ended, outcome: { ...emptyOutcome, attempts: sent.attempts } };
}

/** Opens the clients of the gateways of a batch, by `gatewayKey`. */
export async function openBatchClients(
  gateways: BatchPlan['gateways'],
  flags: BatchFlags,
  context: AnswerContext,
  connection?: Connection,
): Promise<ReadonlyMap<string, GatewayClient>> {
  const asked = [...gateways.values()].map((gateway) => ({ ...gateway, settings: ownSettings(gateway) }));
  const { clients, close } = await openClients(asked, flags, context, {
    counter: context.sent,
    connection,
  });
  context.atEnd(close);
  return new Map([...gateways.keys()].map((key, at) => [key, clients[at] as GatewayClient]));
}

/**
 * Finds the clients of jobs whose gateways are not known before the jobs come: each client is opened when the first job needs it.
 * Throws GatewayError usage if a key would go to several hosts.
 */
export function openClientsLate(
  flags: BatchFlags,
  context: AnswerContext,
): (job: PreparedJob) => Promise<GatewayClient> {
  const opened = new Map<string, Promise<GatewayClient>>();
  const used: Settings[] = [];
  return (job) => {
    const { use } = job.request.post;
    const settings = ownSettings(job);
    const key = `${use} ${gatewayKey(settings)}`;
    const known = opened.get(key);
    if (known) return known;
    requireOwnKeys([...used, settings]);
    used.push(settings);
    const gateways = new Map([[key, { settings, forms: { [use]: settings.auth } }]]);
    const client = openBatchClients(gateways, flags, context).then((clients) => clients.get(key) as GatewayClient);
    opened.set(key, client);
    return client;
  };
}
