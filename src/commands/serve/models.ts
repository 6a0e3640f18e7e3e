import { resolve } from 'node:path';
import {
  saveVariables,
  savedVariables,
  type ModelsByUse,
  modelVariableNames,
  recordedModelsByUse,
} from '../../recordings/models.ts';
import { writeReason } from '../../files/file-reason.ts';
import { usageError } from '../../errors.ts';
import { type Use, useNames } from '../../services.ts';
import { useDefaults } from '../../settings/resolve.ts';
import type { Context } from '../../cli/context.ts';

type Variables = Record<string, string>;

/** The variables under which commands look for their models; those of chat and edit only where they have their own. */
export function modelVariables({ text, chat, image, edit }: ModelsByUse): Variables {
  return present({
    GATEWAY_MODEL: text,
    GATEWAY_CHAT_MODEL: chat === text ? undefined : chat,
    GATEWAY_IMAGE_MODEL: image,
    GATEWAY_EDIT_MODEL: edit === image ? undefined : edit,
  });
}

/** Those of the offline models, for these uses. */
export function localModels(uses: readonly Use[] = useNames): Variables {
  return modelVariables(Object.fromEntries(uses.map((use) => [use, useDefaults[use].local])));
}

/**
 * What a served command finds: the variables over the environment, without a model of chat or edit alone, which would win over
 * the model that is served.
 */
export function servedEnvironment(env: Context['io']['env'], variables: Variables): Record<string, string | undefined> {
  const served: Record<string, string | undefined> = { ...env, ...variables };
  if (variables['GATEWAY_MODEL'] && !variables['GATEWAY_CHAT_MODEL']) delete served['GATEWAY_CHAT_MODEL'];
  if (variables['GATEWAY_IMAGE_MODEL'] && !variables['GATEWAY_EDIT_MODEL']) delete served['GATEWAY_EDIT_MODEL'];
  return served;
}

/** Writes the model variables of the command to the recordings, for the replay. Throws GatewayError usage. */
export async function keepModels(record: string, models: Variables, { io }: Context): Promise<void> {
  const variables = modelsIn(servedEnvironment(io.env, models));
  if (Object.keys(variables).length === 0) return;
  try {
    await saveVariables(resolve(io.cwd, record), variables);
  } catch (error) {
    throw usageError(`--record '${record}': ${writeReason(error)}`, 'name a folder that can be written', error);
  }
}

/** The models of a replay: those of the recording, else the environment's, else those that the recordings hold. */
export async function replayedModels(replay: string, { io }: Context): Promise<Variables> {
  const folder = resolve(io.cwd, replay);
  const kept = await savedVariables(folder);
  if (kept !== undefined) return kept;
  const variables = modelsIn(io.env);
  return Object.keys(variables).length > 0 ? variables : modelVariables(await recordedModelsByUse(folder));
}

function modelsIn(env: Context['io']['env']): Variables {
  return present(Object.fromEntries(modelVariableNames.map((name) => [name, env[name]])));
}

function present(variables: Record<string, string | undefined>): Variables {
  return Object.fromEntries(Object.entries(variables).filter((entry): entry is [string, string] => !!entry[1]));
}
