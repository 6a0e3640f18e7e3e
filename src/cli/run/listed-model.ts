import { openFacts } from '../settings/memory.ts';
import type { PartialSettings } from '../settings/types.ts';
import { chooseDefault, GatewayError, kindOf, servesUse, services, usageError } from '../../library/index.ts';
import type { Context } from '../context.ts';
import { openClient } from './client.ts';
import { setForGoodHint } from './model-notices.ts';
import type { TypedSettings } from './settings.ts';

/**
 * Finds a model for a local server if the user named none: by the rule, in its list of models. The list is kept for a day, and a
 * request that is only shown uses the kept list. Undefined if the rule finds none. Throws GatewayError.
 */
export async function findListedModel(
  settings: PartialSettings,
  flags: TypedSettings,
  context: Context,
): Promise<string | undefined> {
  const { service, format, use } = settings;
  const { io, ui } = context;
  const { title, listQuery: query, loadedPath: path } = services[service];
  const kind = kindOf(use);
  const choice = `choice default ${kind}`;
  const facts = await openFacts(settings, io.now);
  const kept = facts.getText(choice);
  if (kept !== undefined) {
    await ui.notice(`using ${kept}, by the list of ${title}`);
    return kept;
  }
  if (flags.dryRun || flags.curl) return undefined;

  // The list of loaded models has a path beside `/v1`, which is cut from the end of the address.
  const { baseUrl: base } = settings;
  const baseUrl = path ? base?.replace(/\/v1\/*$/, '') : base;
  const client = await openClient({ ...settings, baseUrl }, flags, context);
  const readLoaded = async (): Promise<ReadonlySet<string>> => {
    // Without the list of loaded models, the newest model is chosen: the list is asked for once, and holds up nothing for long.
    const once = { policy: { retries: 0 }, timeoutMs: 2000 };
    const found = path && (await client.listModels(format, { path, ...once }).catch(ignoreFailure));
    return new Set(found ? found.models.map(({ id }) => id) : []);
  };
  const [list, loaded] = await Promise.all([client.listModels(format, { query }), readLoaded()]).finally(() =>
    client.close(),
  );
  const models = list.models.map((one) => (loaded.has(one.id) ? { ...one, isLoaded: true } : one));
  if (!models.some((one) => servesUse(one, use))) {
    const hint = service === 'ollama' ? 'get one: ollama pull <model>' : 'load one there, or name it: -m <model>';
    const makes = kind === 'image' ? 'makes images' : 'answers';
    throw usageError(`no model is set, and ${title} lists none that ${makes}`, hint);
  }
  const model = chooseDefault({ service, use }, models, io.now());
  if (model === undefined) return undefined;
  const which = loaded.has(model) ? 'which is in memory' : 'the newest of its list';
  await ui.note(`${title} answers with ${model}, ${which}; ${setForGoodHint(model, settings, context)}`);
  if (ui.redact(model) === model) await facts.set(choice, model).catch(() => undefined);
  return model;
}

function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof GatewayError)) throw error;
  return undefined;
}
