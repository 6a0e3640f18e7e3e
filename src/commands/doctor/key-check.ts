import { readModelList } from '../../client/model-list.ts';
import { GatewayError } from '../../errors.ts';
import { services } from '../../services.ts';
import type { Secret } from '../../settings/secret.ts';
import type { Use } from '../../settings/types.ts';
import type { Context } from '../../cli/context.ts';
import { openConnection } from '../../cli/run/connection.ts';
import type { ConnectionFlags } from '../../cli/run/settings.ts';
import { failedCheck, type Surveyed } from './settings.ts';
import type { Check } from './types.ts';
import { withSecret } from './live.ts';

interface KeyExamination {
  surveyed: Surveyed;
  uses: readonly Use[];
  key: Secret;
  flags: ConnectionFlags;
  context: Context;
}

const lists = [
  { format: 'content', use: 'text' },
  { format: 'messages', use: 'chat' },
] as const;
const once = { policy: { retries: 0, maxWaitMs: 0, safeOnly: true } };

/** Asks for the lists of models, which cost nothing: where one comes, the key is taken. A gateway need not have any. */
export async function checkKeyByLists({ surveyed, uses, key, flags, context }: KeyExamination): Promise<Check> {
  const failures: GatewayError[] = [];
  for (const { format, use } of lists) {
    const survey = surveyed.of[use];
    if (!uses.includes(use) || !services[survey.service.value].uses.includes(use)) continue;
    const connection = await openConnection({ ...survey, key: withSecret(survey.key, key) }, flags, context);
    try {
      const { models } = await readModelList((get) => connection.send(get, once), format);
      return { name: 'key taken', state: 'ok', text: `the list of ${models.length} models came with it` };
    } catch (error) {
      if (!(error instanceof GatewayError) || error.details.status === undefined)
        return failedCheck('key taken', error);
      failures.push(error);
    } finally {
      await connection.close();
    }
  }
  const refused = failures.find((error) => error.class === 'auth');
  // A list that does not exist says nothing of the key, and the gateway may lack the format of the other.
  if (refused !== undefined && failures.every((error) => error.class === 'auth'))
    return failedCheck('key taken', refused);
  const text = 'the gateway has no list of models, by which the key could be tried; --live sends requests';
  return { name: 'key taken', state: 'skipped', text };
}
