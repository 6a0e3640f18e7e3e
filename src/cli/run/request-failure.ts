import { closest } from '../../closest.ts';
import { GatewayError } from '../../errors.ts';
import type { PostOrGet } from '../../formats/format.ts';
import { keptModels } from '../../settings/kept-models.ts';
import type { SettingsSurvey } from '../../settings/types.ts';
import type { Context } from '../context.ts';

/** An error of a request, with what the settings and the kept list of models add to its hint. */
export async function explainFailure(
  error: unknown,
  post: PostOrGet,
  { settings, context }: { settings: SettingsSurvey; context: Context },
): Promise<unknown> {
  if (!(error instanceof GatewayError)) return error;
  return withNearestModel(withSource(error, settings), post, { settings, context });
}

/** The hint says which key was refused, and which flags lead to the same gateway. */
function withSource(error: GatewayError, { key, typedFlags }: SettingsSurvey): GatewayError {
  const withFlags = error.but({ flags: typedFlags });
  return error.class === 'auth' && 'from' in key ? withFlags.but({ source: key.from }) : withFlags;
}

/** Where the service did not find a model that its kept list lacks, the error names the nearest that the list has. */
async function withNearestModel(
  error: GatewayError,
  post: PostOrGet,
  { settings, context }: { settings: SettingsSurvey; context: Context },
): Promise<GatewayError> {
  const { reason, status } = error.details;
  const isPath = status === 404 && (reason === 'no-such-path' || reason === 'no-stream');
  if (reason !== 'model' && !isPath) return error;
  const model = post.body?.['model'] ?? decodeURIComponent(/\/models\/([^/:]+):/.exec(post.path)?.[1] ?? '');
  if (typeof model !== 'string' || model === '') return error;
  const kept = await keptModels(settings, context.io.now());
  // Ollama has a tag behind each name, and takes a name without it.
  const names = kept.map((name) => name.replace(/:latest$/, ''));
  if ([...kept, ...names].includes(model)) return error;
  const nearest = kept.find((name) => name.endsWith(`/${model}`)) ?? closest(model, names);
  if (nearest === undefined) return error;
  return error.but({ reason: 'nearest-model', value: nearest });
}
