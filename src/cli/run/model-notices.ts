import type { ModelMemory, ModelNotice, ModelRules, PreparedRequest } from '../../client/index.ts';
import { type ApiRequest, replaceModel } from '../../formats/format.ts';
import { keepModels, isFirstOfDay, keepModelChoice, readKeptEnd, readModelChoice } from '../../settings/memory.ts';
import type { PartialSettings } from '../../settings/types.ts';
import { shellWord } from '../../shell-word.ts';
import { describeEnd, mayBeLine } from '../../vendors/model-rules.ts';
import { services } from '../../vendors/services.ts';
import type { Context } from '../context.ts';

/** What a client remembers of a gateway's models, and the notices for the user. */
export function modelRules(settings: PartialSettings, context: Context): Pick<ModelRules, 'memory' | 'onNotice'> {
  const said = new Set<string>();
  return {
    memory: openModelMemory(settings, context),
    async onNotice(notice) {
      // Each notice is told once: many requests of a batch have the same model.
      const about = 'from' in notice ? [notice.from, notice.to] : 'end' in notice ? notice.end.model : notice.model;
      const key = JSON.stringify([notice.type, about]);
      if (said.has(key)) return;
      said.add(key);
      await tellModel(notice, settings, context);
    },
  };
}

/** Keeps facts of models in the cache folder. If a fact cannot be written, it is not remembered. */
function openModelMemory(settings: PartialSettings, { io, ui }: Context): ModelMemory {
  const tellUnkept = (error: Error): Promise<void> => ui.detail(`the models are not kept: ${error.message}`);
  const ends = new Map<string, ReturnType<typeof readKeptEnd>>();
  return {
    findChoice: (name) => readModelChoice(settings, name, io.now()),
    async keepChoice(name, model) {
      if (ui.redact(model) === model) await keepModelChoice(settings, name, model, io.now()).catch(tellUnkept);
    },
    keepList: ({ models, cut }) =>
      cut === undefined ? keepModels(settings, ui.clean(models), io.now()).catch(tellUnkept) : Promise.resolve(),
    findEnd(model) {
      const end = ends.get(model) ?? readKeptEnd(settings, model, io.now());
      ends.set(model, end);
      return end;
    },
  };
}

/** A request in the form that would be sent: to the model that was chosen within a day in place of its own. */
export async function withKeptChoice(
  { post, model, defaultFor }: Pick<PreparedRequest, 'post' | 'model' | 'defaultFor'>,
  settings: PartialSettings,
  context: Context,
): Promise<ApiRequest> {
  const isLine = mayBeLine(settings.service, model);
  if (defaultFor === undefined && !isLine) return post;
  const to = await readModelChoice(settings, model, context.io.now());
  if (to === undefined) return post;
  await tellModel({ type: isLine ? 'line' : 'kept', from: model, to }, settings, context);
  return replaceModel(post, to);
}

/** The command that makes a model the default. */
export function setForGoodHint(
  model: string,
  { use }: Pick<PartialSettings, 'use'>,
  { root }: Pick<Context, 'root'>,
): string {
  const profile = root.profile === undefined ? '' : ` --profile ${shellWord(root.profile)}`;
  return `to set it for good: gateway-cli config set models.${use} ${shellWord(model)}${profile}`;
}

async function tellModel(notice: ModelNotice, settings: PartialSettings, { io, ui, root }: Context): Promise<void> {
  switch (notice.type) {
    case 'replaced': {
      const { from, to, because, error } = notice;
      if (because === 'fallback')
        return ui.warn(
          `${to} is asked in place of ${from} (${settings.origins.fallback?.from ?? '--fallback'}): ${error.message}`,
        );
      const { title } = services[settings.service];
      const forGood = setForGoodHint(to, settings, { root });
      const why = because === 'gone' ? `does not have ${from} any more` : `refuses ${from} (${error.message})`;
      return ui.warn(`${title} ${why}, so ${to} is asked; ${forGood}`);
    }
    case 'kept':
      return ui.notice(`${notice.to} is asked in place of ${notice.from}, which was refused`);
    case 'line':
      return ui.note(`${notice.from} is ${notice.to}`);
    case 'ends': {
      const { end, isLookedUp } = notice;
      const isTold = !isLookedUp && !(await isFirstOfDay(settings, end.model, io.now()).catch(() => true));
      return isTold ? undefined : ui.warn(describeEnd(end, io.now()));
    }
    case 'unknown':
      return ui.note(`how long ${notice.model} lives is not known: ${notice.why}`);
  }
}
