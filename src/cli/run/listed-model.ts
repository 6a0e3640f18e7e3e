import { keepModelChoice, readModelChoice } from '../../settings/model-cache.ts';
import type { PartialSettings, SourcedValue } from '../../settings/types.ts';
import { chooseDefault } from '../../vendors/model-rules.ts';
import { services } from '../../vendors/services.ts';
import type { Context } from '../context.ts';
import { openClient } from './client.ts';
import { setForGood } from './model-notices.ts';
import type { TypedSettings } from './settings.ts';

/** The name under which the choice is kept. */
const unnamed = 'default';

/**
 * The model that is asked at a server of one's own if none is named: by the rule, from its list. It is kept for a day, and a request
 * that is only shown has what is kept. Undefined if the rule finds none. Throws GatewayError.
 */
export async function findListedModel(
  settings: PartialSettings,
  flags: TypedSettings,
  context: Context,
): Promise<SourcedValue<string> | undefined> {
  const { service, format, use } = settings;
  const { io, ui } = context;
  const { title, listQuery: query } = services[service.value];
  const from = `the list of ${title}`;
  const kept = await readModelChoice(settings, unnamed, io.now());
  if (kept !== undefined) {
    await ui.notice(`using ${kept}, by ${from}`);
    return { value: kept, from, origin: { kind: 'service' } };
  }
  if (flags.dryRun || flags.curl) return undefined;

  const client = await openClient(settings, flags, context);
  const list = await client.listModels(format.value, { query }).finally(() => client.close());
  const model = chooseDefault({ service: service.value, use }, list.models, io.now());
  if (model === undefined) return undefined;
  await ui.note(`${title} answers with ${model}, the newest of its list; ${setForGood(model, settings, context)}`);
  await keepModelChoice(settings, unnamed, model, io.now()).catch(() => undefined);
  return { value: model, from, origin: { kind: 'service' } };
}
