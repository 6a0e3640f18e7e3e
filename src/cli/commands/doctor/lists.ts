import {
  deadlineOnce,
  describeEnd,
  GatewayError,
  isEnding,
  type ListedModel,
  services,
  shellWord,
} from '../../../library/index.ts';
import { openClient } from '../../run/client.ts';
import type { Secret } from '../../settings/redact.ts';
import type { PartialSettings } from '../../settings/types.ts';
import { attempt, type Check, configCommand, type Gateway, listServedUses, once, withKey } from './checks.ts';

/**
 * Asks for the lists of models, which are free: a list means that the key is accepted, and says which models in use end. A gateway
 * need not have any.
 */
export async function examineLists(gateway: Gateway, key: Secret | undefined): Promise<Check[]> {
  const name = 'key taken';
  const found = await attempt(name, () => requestList(gateway, key), gateway.context.signal);
  if ('failed' in found) return [found.failed];
  if (found.value === undefined) {
    const text = 'the gateway has no list of models, by which the key could be tried; --live sends requests';
    return [{ name, state: 'skipped', text }];
  }
  const { models, service } = found.value;
  const { hasPublicList, title } = services[service];
  const names = models.slice(0, maxNamed).map(({ id }) => id);
  const some = [...names, ...(models.length > maxNamed ? ['…'] : [])].join(', ');
  const list = `list of ${models.length === 1 ? 'one model' : `${models.length} models`}`;
  const how = key === undefined ? 'without one' : 'with it';
  const taken: Check = hasPublicList
    ? { name, state: 'skipped', text: `${title} gives its ${list} to anyone: ${some}; --live tries the key` }
    : { name, state: 'ok', text: `the ${list} came ${how}: ${some}` };
  return [taken, ...listEnds(models, gateway)];
}

const maxNamed = 5;

/** The first list that comes; undefined if the gateway has none. Throws GatewayError. */
async function requestList(
  gateway: Gateway,
  key: Secret | undefined,
): Promise<(Pick<PartialSettings, 'service'> & { models: ListedModel[] }) | undefined> {
  const { flags, context } = gateway;
  const { byUse } = gateway.surveyed;
  const byFormat = new Map(listServedUses(gateway).map((use) => [byUse[use].format, byUse[use]]));
  const failures: GatewayError[] = [];
  for (const [format, settings] of byFormat) {
    const deadline = deadlineOnce(settings.timeoutMs, context.signal);
    const client = await openClient(withKey(settings, key), flags, context, { deadline });
    try {
      const { models } = await client.listModels(format, { ...once, deadline: deadline() });
      return { models, service: settings.service };
    } catch (error) {
      if (!(error instanceof GatewayError) || error.details.status === undefined) throw error;
      failures.push(error);
    } finally {
      await client.close();
    }
  }
  // A list that does not exist says nothing about the key, and the gateway may lack the format of the other list.
  const [first] = failures;
  if (first !== undefined && failures.every((error) => error.class === 'auth')) throw first;
  return undefined;
}

/** The models in use that end: the date, and the replacement. */
function listEnds(models: readonly ListedModel[], { uses, surveyed, context }: Gateway): Check[] {
  const now = context.io.now();
  return models.flatMap((model): Check[] => {
    const use = uses.find((one) => surveyed.byUse[one].model === model.id);
    if (use === undefined || !isEnding(model, now)) return [];
    const { id, endsOn, lifecycle, successor } = model;
    const fix = configCommand(`models.${use} ${successor === undefined ? '<model>' : shellWord(successor)}`, context);
    return [
      { name: 'model', state: 'warning', text: describeEnd({ model: id, endsOn, lifecycle, successor }, now), fix },
    ];
  });
}
